"""What matrix statements become: one instruction each where the machine has it; fp8 of a warp is unpacked to fp16 first, as compilers do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusim.ir.simt.matrix import size
from gpusim.ir.simt.nodes import Buffer, Imm, Reg, Value
from gpusim.lower.simt.address import address
from gpusim.lower.simt.flow import Item
from gpusim.lower.simt.mnemonics import MATRIX, WARPGROUP
from gpusim.lower.simt.writer import Writer

#: (format, multiply-adds of the warp) -> mnemonic
_NAMES = {row: op for op, row in MATRIX.items()}
_UNPACK, _UNPACKED = "F2FP.UNPACK", "HMMA.16816.F16"


def ldmatrix(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    srcs = address(w, stmt.buffer, stmt.index)
    w.emit("LDSM", tuple(w.define(r) for r in stmt.dst), srcs, access=item.access, bits=32 * len(stmt.dst))


def mma(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    if stmt.fmt == "fp8":
        _unpacked(w, stmt)
        return
    m, n, k = size(stmt.shape)
    srcs = w.operands((*stmt.a, *stmt.b, *stmt.c))
    w.emit(_NAMES[stmt.fmt, m * n * k], tuple(w.define(r) for r in stmt.dst), srcs)


def _unpacked(w: Writer, stmt: Any) -> None:
    """Four fp8 of a register become two registers of fp16; two products of half the length are summed, then the accumulator is added."""
    halves = [[[_half(w, value) for value in operand] for operand in (stmt.a, stmt.b)] for _ in range(2)]
    before: tuple[int, ...] = ()
    for a, b in halves:
        after = tuple(w.fresh() for _ in stmt.dst)
        w.emit(_UNPACKED, after, (*a, *b, *before))
        before = after
    for reg, old, product in zip(stmt.dst, stmt.c, before, strict=True):
        srcs = (product, *w.operands((old,)))
        w.emit("FADD", (w.define(reg),), srcs)


def _half(w: Writer, value: Value) -> int:
    found = w.fresh()
    w.emit(_UNPACK, (found,), w.operands((value,)))
    return found


def wgmma(w: Writer, item: Item) -> None:
    """Descriptors of the tiles stand in uniform registers; they are made in front of the loops that do not change them."""
    stmt: Any = item.stmt
    places = [_descriptor(w, stmt.buffer, stmt.at)]
    if stmt.left is not None:
        places.append(_descriptor(w, stmt.left, stmt.start))
    srcs = (*(m for p in places for m in p), *w.operands((*stmt.a, *stmt.c)))
    op = next(op for op, (fmt, registers) in WARPGROUP.items() if fmt == stmt.fmt and registers == (stmt.left is None))
    w.emit(op, tuple(w.define(r) for r in stmt.dst), srcs, bits=stmt.n)


def _descriptor(w: Writer, buffer: Buffer, index: Value) -> tuple[int, ...]:
    if isinstance(index, Imm):
        return (w.once(("tile", buffer.id, index.value), "UMOV", size=0),)
    leaves = [index.id] if isinstance(index, Reg) else []
    return (w.once(("tile", buffer.id, w.numbers.of(index)), "R2UR", size=0, leaves=leaves, srcs=w.operands((index,))),)


def warpgroup(w: Writer, item: Item) -> None:
    """The last matrix instruction of a group closes it; a group that has none in its block takes an instruction of its own."""
    stmt: Any = item.stmt
    if stmt.kind == "fence":
        w.emit("WARPGROUP.ARRIVE")
    elif stmt.kind == "wait":
        w.emit("WARPGROUP.DEPBAR", bits=stmt.pending)
    else:
        rows = w.lists[w.block]
        at = next((i for i in reversed(range(len(rows))) if rows[i].op in WARPGROUP), None)
        if at is None or rows[at].closes:
            w.emit("NOP")
            at = len(rows) - 1
        rows[at] = replace(rows[at], closes=True)
