"""A SIMT program as text: parameters, buffers, and statements under the source lines they come from.

`i%4` is register 4, which holds the user's variable i; `%7` an intermediate result. A definition shows its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpusim.ir.simt import nodes as n
from gpusim.ir.simt.matrix import FORMATS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "shl": "<<", "shr": ">>"}


def show(program: n.SimtProgram) -> str:
    """The text of a program; equal programs give equal text. No addresses, no order that depends on hashing."""
    lines = [f"kernel {program.name}({', '.join(_argument(a) for a in program.args)})"]
    lines += [f"  {_defined(p.reg)} = argument {p.arg} {p.what}" for p in program.params]
    lines += [f"  {_buffer(b)}" for b in program.buffers if b.space != "global"]
    lines += [f"  at most {program.max_registers} registers"] if program.max_registers else []
    lines += [f"  note: {text}" for text in program.notes]
    return "\n".join([*lines, *_Printer(program).block(program.body, 1)]) + "\n"


def _argument(arg: n.Arg) -> str:
    if not arg.ndim:
        return f"{arg.name}: {arg.dtype}"
    last = "::1" if arg.layout == "C" else ":"
    return f"{arg.name}: {arg.dtype}[{', '.join([':'] * (arg.ndim - 1) + [last])}]"


def _buffer(buffer: n.Buffer) -> str:
    extent = "sized at launch" if buffer.shape is None else "x".join(map(str, buffer.shape))
    data = f" = {_short(buffer.data)}" if buffer.data else ""
    return f"{buffer.space} {buffer.name}: {buffer.dtype} {extent} at byte {buffer.offset}{data}"


def _short(data: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, data[:8])) + (f", ... ({len(data)} elements)" if len(data) > 8 else "")


def value(v: n.Value | str | None) -> str:
    """An operand."""
    if isinstance(v, n.Reg):
        return f"{v.name}%{v.id}"
    if isinstance(v, n.Imm):
        return f"{v.value!r}" if v.dtype in ("bool", "int64", "float64") else f"{v.dtype}({v.value!r})"
    return repr(v)


def _values(vs: tuple[Any, ...]) -> str:
    return ", ".join(value(v) for v in vs)


def _defined(reg: n.Reg) -> str:
    return f"{value(reg)}: {reg.dtype}"


def _target(dst: tuple[n.Reg, ...]) -> str:
    return ", ".join(_defined(d) for d in dst) + " = " if dst else ""


def _op(s: n.Op) -> str:
    if s.op == "mov":
        return f"{_target((s.dst,))}{value(s.args[0])}"
    if s.op in _INFIX:
        return f"{_target((s.dst,))}{value(s.args[0])} {_INFIX[s.op]} {value(s.args[1])}"
    if not s.args:
        return f"{_target((s.dst,))}{s.op}"
    return f"{_target((s.dst,))}{s.op}({_values(s.args)})"


def _span(name: str, index: n.Value, count: int) -> str:
    return f"{name}[{value(index)}]" if count == 1 else f"{name}[{value(index)} :+ {count}]"


def _load(s: n.Load) -> str:
    return f"{_target(s.dst)}load{'.' + s.cache if s.cache else ''} {_span(s.buffer.name, s.index, len(s.dst))}"


def _store(s: n.Store) -> str:
    return f"store {_span(s.buffer.name, s.index, len(s.values))} = {_values(s.values)}"


def _atomic(s: n.Atomic) -> str:
    return f"{_target((s.dst,) if s.dst else ())}atomic.{s.op} {s.buffer.name}[{value(s.index)}] ({_values(s.args)})"


def _barrier(s: n.Barrier) -> str:
    inside = "" if s.value is None else f"({value(s.value)})"
    return f"{_target((s.dst,) if s.dst else ())}barrier.{s.kind}{'.' + s.op if s.op else ''}{inside}"


def _copy(s: n.AsyncCopy) -> str:
    valid = "" if s.valid is None else f", valid {value(s.valid)}"
    return f"copy.async {_span(s.target.name, s.target_index, s.count)} = {_span(s.source.name, s.source_index, s.count)}{valid}"


def _bulk(s: n.BulkCopy) -> str:
    target, source, barrier = (
        f"{s.target.name}[{value(s.target_index)}]",
        f"{s.source.name}[{value(s.source_index)}]",
        f"{s.barrier.name}[{value(s.barrier_index)}]",
    )
    return f"copy.bulk {target} = {source}, {value(s.count)}, at {barrier}"


def _matrix(s: n.LdMatrix) -> str:
    return f"{_target(s.dst)}ldmatrix{'.trans' if s.trans else ''} {s.buffer.name}[{value(s.index)}]"


def _mma(s: n.Mma) -> str:
    sums = "" if s.sums == FORMATS[s.fmt].sums[0] else f".{s.sums}"
    return f"{_target(s.dst)}mma.{s.shape}.{s.fmt}{sums} ({_values(s.a)}) * ({_values(s.b)}) + ({_values(s.c)})"


def _wgmma(s: n.Wgmma) -> str:
    left = f"({_values(s.a)})" if s.left is None else f"{s.left.name}[{value(s.start)}]"
    return f"{_target(s.dst)}wgmma.m64n{s.n}.{s.fmt} {left} * {s.buffer.name}[{value(s.at)}] + ({_values(s.c)})"


_SIMPLE: dict[type, Callable[[Any], str]] = {
    n.Op: _op,
    n.Load: _load,
    n.Store: _store,
    n.Atomic: _atomic,
    n.Warp: lambda s: f"{_target(s.dst)}warp.{s.op}({_values(s.args)})",
    n.Barrier: _barrier,
    n.Fence: lambda s: f"fence.{s.scope}",
    n.AsyncCopy: _copy,
    n.AsyncCommit: lambda s: "copy.commit",
    n.AsyncWait: lambda s: f"copy.wait {s.pending}",
    n.BulkCopy: _bulk,
    n.Mbarrier: lambda s: f"mbarrier.{s.op} {s.buffer.name}[{value(s.index)}] ({value(s.value)})",
    n.LdMatrix: _matrix,
    n.Mma: _mma,
    n.Wgmma: _wgmma,
    n.Warpgroup: lambda s: f"wgmma.{s.kind}{f' {s.pending}' if s.kind == 'wait' else ''}",
    n.Print: lambda s: f"print {_values(s.args)}",
    n.Assert: lambda s: f"assert {value(s.cond)}, {s.message!r}",
    n.Sleep: lambda s: f"sleep {value(s.nanoseconds)}",
    n.Break: lambda s: "break",
    n.Continue: lambda s: "continue",
    n.Return: lambda s: "return",
}


def statement(s: n.Stmt) -> str:
    """One statement that holds no others."""
    return _SIMPLE[type(s)](s)


class _Printer:
    """Prints blocks; a source line stands once above the statements that come from it."""

    def __init__(self, program: n.SimtProgram) -> None:
        self.program, self.line = program, 0

    def block(self, stmts: tuple[n.Stmt, ...], depth: int) -> list[str]:
        return [line for s in stmts for line in self._one(s, depth)] or ["  " * depth + "pass"]

    def _one(self, s: n.Stmt, depth: int) -> Iterator[str]:
        pad = "  " * depth
        if s.line != self.line and s.line:
            self.line = s.line
            yield f"{pad}# {s.line}: {self._source(s.line)}"
        if isinstance(s, n.If):
            yield f"{pad}if {value(s.cond)}:{' # predicated' if s.predicated else ''}"
            yield from self.block(s.then, depth + 1)
            if s.orelse:
                yield f"{pad}else:"
                yield from self.block(s.orelse, depth + 1)
        elif isinstance(s, n.For):
            unroll = "" if s.unroll is None else f" # unroll {s.unroll or 'wholly'}"
            yield f"{pad}for {_defined(s.var)} in range({_values((s.start, s.stop, s.step))}):{unroll}"
            yield from self.block(s.body, depth + 1)
        elif isinstance(s, n.While):
            yield f"{pad}while:"
            yield from self.block(s.head, depth + 1) if s.head else ()
            yield f"{pad}holds {value(s.cond)}:"
            yield from self.block(s.body, depth + 1)
        else:
            yield pad + statement(s)

    def _source(self, line: int) -> str:
        k = line - self.program.first_line
        return self.program.source[k].strip() if 0 <= k < len(self.program.source) else ""
