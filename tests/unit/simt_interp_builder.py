"""Programs by hand, for the tests of the interpreter: every call appends a statement on a new line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpusim.interp.simt import Executed, execute
from gpusim.ir.simt import nodes as n
from gpusim.ir.simt.ops import OPS
from gpusim.lower.simt.cfg import build
from gpusim.lower.simt.code import Code


class Kernel:
    def __init__(self, name: str = "kernel") -> None:
        self.name, self.count, self.line = name, 0, 0
        self.args: list[n.Arg] = []
        self.params: list[n.Param] = []
        self.buffers: list[n.Buffer] = []
        self.stack: list[list[Any]] = [[]]
        self.shared_end = 0

    def reg(self, dtype: str = "int32") -> n.Reg:
        self.count += 1
        return n.Reg(self.count - 1, dtype)

    def array(self, name: str, dtype: str = "float32") -> n.Buffer:
        return self._buffer(name, "global", dtype, None, arg=self._arg(n.Arg(name, dtype, 1)))

    def scalar(self, name: str, dtype: str = "int32") -> n.Reg:
        reg = self.reg(dtype)
        self.params.append(n.Param(reg, self._arg(n.Arg(name, dtype)), "value"))
        return reg

    def _arg(self, arg: n.Arg) -> int:
        self.args.append(arg)
        return len(self.args) - 1

    def _buffer(self, name: str, space: str, dtype: str, shape: Any, **more: Any) -> n.Buffer:
        self.buffers.append(n.Buffer(len(self.buffers), name, space, dtype, shape, **more))
        return self.buffers[-1]

    def shared(self, name: str, size: int | None, dtype: str = "float32") -> n.Buffer:
        self.shared_end = -(-self.shared_end // 16) * 16
        buffer = self._buffer(name, "shared", dtype, None if size is None else (size,), offset=self.shared_end)
        self.shared_end += (size or 0) * {"float64": 8, "int64": 8, "float16": 2, "bfloat16": 2, "uint8": 1}.get(dtype, 4)
        return buffer

    def local(self, name: str, size: int, dtype: str = "float32") -> n.Buffer:
        return self._buffer(name, "local", dtype, (size,))

    def const(self, name: str, data: Any, dtype: str = "float32") -> n.Buffer:
        return self._buffer(name, "const", dtype, (len(data),), data=tuple(data))

    def add(self, make: Any, **fields: Any) -> Any:
        self.line += 1
        self.stack[-1].append(make(**fields, line=self.line))
        return self.stack[-1][-1]

    def op(self, op: str, *args: Any, dtype: str | None = None, to: n.Reg | None = None) -> n.Reg:
        values = tuple(a if isinstance(a, (n.Reg, n.Imm)) else self.imm(a, args, dtype) for a in args)
        if dtype is None:
            rule = OPS[op].result
            dtype = "bool" if rule == "bool" else values[-1].dtype if values else "int32"
        dst = to or self.reg(dtype)
        self.add(n.Op, dst=dst, op=op, args=values)
        return dst

    def imm(self, value: Any, others: Any = (), dtype: str | None = None) -> n.Imm:
        known = [o.dtype for o in others if isinstance(o, (n.Reg, n.Imm))]
        return n.Imm(value, known[-1] if known else dtype or ("float32" if isinstance(value, float) else "int32"))

    def val(self, value: Any, dtype: str = "int32") -> Any:
        return value if isinstance(value, (n.Reg, n.Imm)) else n.Imm(value, dtype)

    def load(self, buffer: n.Buffer, index: Any, count: int = 1) -> Any:
        dst = tuple(self.reg(buffer.dtype) for _ in range(count))
        self.add(n.Load, dst=dst, buffer=buffer, index=self.val(index))
        return dst[0] if count == 1 else dst

    def store(self, buffer: n.Buffer, index: Any, *values: Any) -> int:
        self.add(n.Store, buffer=buffer, index=self.val(index), values=tuple(self.val(v, buffer.dtype) for v in values))
        return self.line

    def atomic(self, op: str, buffer: n.Buffer, index: Any, *args: Any, result: bool = True) -> Any:
        dst = self.reg(buffer.dtype) if result else None
        self.add(n.Atomic, dst=dst, op=op, buffer=buffer, index=self.val(index), args=tuple(self.val(a, buffer.dtype) for a in args))
        return dst

    def warp(self, op: str, *args: Any, dtypes: tuple[str, ...] = ("int32",)) -> Any:
        dst = tuple(self.reg(d) for d in dtypes)
        self.add(n.Warp, dst=dst, op=op, args=tuple(self.val(a, "uint32" if i == 0 else "int32") for i, a in enumerate(args)))
        return dst[0] if len(dst) == 1 else dst

    def sync(self, op: str = "", value: Any = None, dtype: str = "int32") -> Any:
        dst = self.reg(dtype) if op else None
        self.add(n.Barrier, kind="cta", op=op, dst=dst, value=value)
        return dst

    @contextmanager
    def block(self, make: Any, part: str = "then", **fields: Any) -> Iterator[None]:
        self.line += 1
        line = self.line
        self.stack.append([])
        yield
        body = tuple(self.stack.pop())
        self.stack[-1].append(make(**fields, **{part: body}, line=line))

    def when(self, cond: Any, predicated: bool = False) -> Any:
        return self.block(n.If, cond=cond, predicated=predicated)

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        last = self.stack[-1].pop()
        self.stack.append([])
        yield
        body = tuple(self.stack.pop())
        self.stack[-1].append(n.If(last.cond, last.then, body, last.line, last.predicated))

    def loop(self, var: n.Reg, stop: Any, start: Any = 0, step: Any = 1) -> Any:
        return self.block(n.For, "body", var=var, start=self.val(start), stop=self.val(stop), step=self.val(step))

    @contextmanager
    def repeat(self) -> Iterator[list[Any]]:
        """while head, cond: body. Put the condition in the list; what stands before is the head: `k.test(cond)`."""
        self.line += 1
        line = self.line
        self.stack.append([])
        holder: list[Any] = []
        yield holder
        body = self.stack.pop()
        cond, cut = holder
        self.stack[-1].append(n.While(tuple(body[:cut]), cond, tuple(body[cut:]), line))

    def test(self, holder: list[Any], cond: Any) -> None:
        holder.extend((cond, len(self.stack[-1])))

    def program(self) -> n.SimtProgram:
        source = tuple(f"source of line {i}" for i in range(1, self.line + 2))
        return n.SimtProgram(
            self.name, tuple(self.args), tuple(self.params), tuple(self.buffers), tuple(self.stack[0]), self.count, file="user.py", source=source
        )

    def code(self) -> Code:
        return build(self.program())

    def run(self, grid: Any, block: Any, *arrays: Any, shared: int = 0, **options: Any) -> Executed:
        return execute(self.code(), n.Geometry(three(grid), three(block), shared), list(arrays), **options)

    def index(self) -> n.Reg:
        """blockIdx.x * blockDim.x + threadIdx.x"""
        return self.op("add", self.op("mul", self.op("ctaid.x"), self.op("ntid.x")), self.op("tid.x"))


def three(size: Any) -> tuple[int, int, int]:
    size = (size,) if isinstance(size, int) else tuple(size)
    return (*size, 1, 1)[:3]  # type: ignore[return-value]


def total(counts: Any) -> int:
    return int(np.sum(counts))
