"""Which 64-bit integers a kernel needs only 32 bits of."""

from __future__ import annotations

from collections.abc import Iterable

from gpusim.ir.simt.intervals import Analysis, Known
from gpusim.ir.simt.nodes import For, Op, Reg, SimtProgram, Stmt
from gpusim.ir.simt.ranges import Range, fits, union
from gpusim.ir.simt.rewrites.constants import INTEGER_BITS, bounds
from gpusim.ir.simt.walk import reads, walk, writes

# the low 32 bits of the result follow from the low 32 bits of the operands
LOW = frozenset("mov add sub mul neg and or xor not select shl".split())
NARROW = ("int32", "uint32")


def wide(dtype: str) -> bool:
    return INTEGER_BITS.get(dtype) == 64


def widths(program: SimtProgram, known: Analysis) -> dict[int, str]:
    """Register -> 32-bit type: of 64-bit registers whose values all fit it, and of those whose upper half nobody looks at."""
    ranges: dict[int, Range] = {p.reg.id: known.params.get(p.reg.id, bounds(p.reg.dtype)) for p in program.params if wide(p.reg.dtype)}
    signed: dict[int, str] = {p.reg.id: p.reg.dtype for p in program.params}
    hard: set[int] = {p.reg.id for p in program.params}
    statements = list(walk(program.body))
    for stmt in statements:
        for reg in writes(stmt):
            if wide(reg.dtype):
                signed[reg.id] = reg.dtype
                _define(stmt, reg, known, ranges, hard)
    out = {id_: t for id_, r in ranges.items() if (t := next((t for t in NARROW if fits(r, t)), None)) is not None}
    for id_ in _low_only(statements, set(signed) - hard - set(out), out):
        out[id_] = "uint32" if signed[id_][0] == "u" else "int32"
    return out


def low(op: Op, known: Known | None) -> bool:
    """Whether the low half of the result needs only the low halves of the operands."""
    shift = known.args[1] if op.op == "shl" and known is not None else None
    return op.op in LOW and (op.op != "shl" or (shift is not None and 0 <= shift[0] and shift[1] < 32))


def _define(stmt: Stmt, reg: Reg, known: Analysis, ranges: dict[int, Range], hard: set[int]) -> None:
    here = known.at.get(id(stmt))
    if here is not None:
        made = here.made or bounds(reg.dtype)
        ranges[reg.id] = union(ranges[reg.id], made) if reg.id in ranges else made
    integer = isinstance(stmt, Op) and stmt.op == "cvt" and not stmt.args[0].dtype.startswith(("float", "bfloat"))
    if not integer and not (isinstance(stmt, Op) and low(stmt, here)):
        hard.add(reg.id)


def _low_only(statements: Iterable[Stmt], candidates: set[int], narrow: dict[int, str]) -> set[int]:
    """Of the candidates, those of which every reader wants the low half only."""
    wanted: dict[int, list[int]] = {}  # candidate -> candidates that are computed from it
    full: list[int] = []
    for stmt in statements:
        for at, value in enumerate(reads(stmt)):
            if isinstance(value, Reg) and value.id in candidates:
                into = _low_reader(stmt, at, narrow)
                if into is None:
                    full.append(value.id)
                elif into in candidates:
                    wanted.setdefault(into, []).append(value.id)
                elif into >= 0:
                    full.append(value.id)
    while full:
        reg = full.pop()
        if reg in candidates:
            candidates.discard(reg)
            full += wanted.get(reg, [])
    return candidates


def _low_reader(stmt: Stmt, at: int, narrow: dict[int, str]) -> int | None:
    """None: needs all bits. -1: needs the low half. Else the register whose low half the operand's low half goes into."""
    if isinstance(stmt, For) or not isinstance(stmt, Op):
        return None
    if stmt.op == "cvt":
        return -1 if 0 < INTEGER_BITS.get(stmt.dst.dtype, 0) <= 32 else None
    if stmt.op not in LOW or (stmt.op == "shl" and at == 1):
        return None
    return -1 if stmt.dst.id in narrow else stmt.dst.id
