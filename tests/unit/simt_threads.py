"""One thread after the other: a plain interpreter for programs and for their code, against which passes are checked."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpusim.ir.simt.nodes import (
    Break,
    Continue,
    For,
    Geometry,
    If,
    Imm,
    Load,
    Op,
    Reg,
    Return,
    Stmt,
    Store,
    Value,
    While,
)

LIMIT = 200_000  # statements of one thread


GEOMETRY = Geometry((2, 1, 1), (3, 1, 1))


def wrapped(value: int, dtype: str) -> int:
    bits = int("".join(c for c in dtype if c.isdigit()))
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype[0] == "i" and value >> (bits - 1) else value


def rounded(value: float, dtype: str) -> float:
    try:
        return struct.unpack("f", struct.pack("f", value))[0] if dtype == "float32" else value
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _truncated(x: int, y: int) -> int:
    return int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1)


COMPUTE: dict[str, Callable[..., Any]] = {
    "mov": lambda x: x,
    "neg": lambda x: -x,
    "abs": abs,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "div": _truncated,
    "rem": lambda x, y: x - _truncated(x, y) * y,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y,
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
    "select": lambda c, x, y: x if c else y,
    "cvt": lambda x: x,
    "mul.wide": lambda x, y: x * y,
    "fma": lambda x, y, z: x * y + z,
}


class Left(Exception):
    """A lane leaves what it is in: "break", "continue" or "return"."""


@dataclass
class Thread:
    tid: int
    cta: int
    memory: dict[str, list[Any]]
    registers: dict[int, Any] = field(default_factory=dict)
    done: int = 0
    reads: int = 0

    def value(self, v: Value) -> Any:
        return v.value if isinstance(v, Imm) else self.registers.get(v.id, 0)

    def assign(self, reg: Reg, value: Any) -> None:
        if reg.dtype == "bool":
            value = bool(value)
        elif reg.dtype.startswith("float"):
            value = rounded(float(value), reg.dtype)
        else:
            value = wrapped(int(value), reg.dtype)
        self.registers[reg.id] = value

    def op(self, s: Op) -> None:
        place = {"tid.x": self.tid, "ctaid.x": self.cta, "ntid.x": GEOMETRY.block[0], "nctaid.x": GEOMETRY.grid[0]}
        for arg in s.args:
            assert isinstance(arg, (Reg, Imm))
        if s.op == "not":
            x = self.value(s.args[0])
            self.assign(s.dst, (not x) if s.dst.dtype == "bool" else ~x)
        elif s.op in place:
            self.assign(s.dst, place[s.op])
        else:
            types = {a.dtype for a in (s.args[1:] if s.op == "select" else s.args)}
            assert s.op == "cvt" or len(types) == 1, s
            assert s.op in ("cvt", "mul.wide", "eq", "ne", "lt", "le", "gt", "ge") or types == {s.dst.dtype}, s
            self.assign(s.dst, COMPUTE[s.op](*(self.value(a) for a in s.args)))

    def simple(self, s: Stmt) -> None:
        self.done += 1
        if self.done > LIMIT:
            raise RuntimeError("no end")
        if isinstance(s, Op):
            self.op(s)
        elif isinstance(s, Load):
            data, at = self.memory[s.buffer.name], self.value(s.index)
            assert at % len(s.dst) == 0 and at >= 0
            self.reads += 1
            for j, reg in enumerate(s.dst):
                assert reg.dtype == s.buffer.dtype
                self.assign(reg, data[at + j])
        elif isinstance(s, Store):
            at = self.value(s.index)
            assert at % len(s.values) == 0 and at >= 0
            for j, v in enumerate(s.values):
                assert v.dtype == s.buffer.dtype
                self.memory[s.buffer.name][at + j] = self.value(v)
        else:
            raise AssertionError(f"{type(s)} is not part of these programs")

    def run(self, body: tuple[Stmt, ...]) -> None:
        for s in body:
            if isinstance(s, If):
                self.done += 1
                self.run(s.then if self.value(s.cond) else s.orelse)
            elif isinstance(s, For):
                at, stop, step = (self.value(v) for v in (s.start, s.stop, s.step))
                for i in range(at, stop, step):
                    self.assign(s.var, i)
                    if self.iteration(s.body):
                        break
            elif isinstance(s, While):
                while True:
                    self.run(s.head)
                    if not self.value(s.cond) or self.iteration(s.body):
                        break
            elif isinstance(s, (Break, Continue, Return)):
                raise Left(type(s).__name__)
            else:
                self.simple(s)

    def iteration(self, body: tuple[Stmt, ...]) -> bool:
        self.done += 1
        if self.done > LIMIT:
            raise RuntimeError("no end")
        try:
            self.run(body)
        except Left as left:
            if left.args[0] == "Return":
                raise
            return bool(left.args[0] == "Break")
        return False
