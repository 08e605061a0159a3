"""What one statement becomes. A function per kind, gathered in one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.ir.simt.nodes import (
    Assert,
    AsyncCommit,
    AsyncCopy,
    AsyncWait,
    Atomic,
    Barrier,
    Buffer,
    BulkCopy,
    Fence,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Mma,
    Op,
    Print,
    Reg,
    Sleep,
    Store,
    Value,
    Warp,
    Warpgroup,
    Wgmma,
)  # fmt: skip
from gpusim.ir.simt.walk import counts_lanes, itemsize
from gpusim.lower.simt.address import address
from gpusim.lower.simt.bulk import CLUSTER_BARRIER, bulk_copy, mbarrier
from gpusim.lower.simt.flow import Item
from gpusim.lower.simt.matrix import ldmatrix, mma, warpgroup, wgmma
from gpusim.lower.simt.operations import operation
from gpusim.lower.simt.table import WARP, kind
from gpusim.lower.simt.writer import Writer

_LOADS = {"global": "LDG", "shared": "LDS", "local": "LDL", "cluster": "LD"}
_STORES = {"global": "STG", "shared": "STS", "local": "STL", "cluster": "ST"}

_IDLE_LOADS = 3


def statement(w: Writer, item: Item) -> None:
    """Emit the instructions of a statement."""
    _TABLE[type(item.stmt)](w, item)


# memory


def _bits(buffer: Buffer, elements: int) -> int:
    return 8 * itemsize(buffer.dtype) * elements


def _load(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    if stmt.buffer.space == "const":
        _load_constant(w, stmt, item)
        return
    srcs = address(w, stmt.buffer, stmt.index)
    old = tuple(m for r in stmt.dst for m in w.kept(r))
    dst = tuple(w.define(r) for r in stmt.dst)
    read = (*srcs, *(o for o in old if o not in dst))
    w.emit(_LOADS[stmt.buffer.space], dst, read, access=item.access, bits=_bits(stmt.buffer, len(dst)), cached=stmt.cache != "cg")


def _load_constant(w: Writer, stmt: Any, item: Item) -> None:
    """Constant memory at an index that is known: two neighbours in one load to uniform registers; else a load by index, to a uniform register where
    the index is the same in all lanes."""
    known = w.numbers.constant(w.numbers.of(stmt.index))
    if known is None:
        srcs = address(w, stmt.buffer, stmt.index)
        uniform = isinstance(stmt.index, Reg) and stmt.index.id not in w.divergent and not w.guards
        w.emit("ULDC" if uniform else "LDC", tuple(w.define(r) for r in stmt.dst), srcs, access=item.access, bits=_bits(stmt.buffer, len(stmt.dst)))
        return
    key = ("const", stmt.buffer.id, known // 2)
    found = w.find(key, w.block)
    if found is None:
        found = w.fresh(0)
        w.emit("ULDC", (found,), (), access=item.access, bits=64)
        w.remember(key, w.block, found)
    for reg in stmt.dst:
        w.bind(reg, found)


def _store(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    srcs = address(w, stmt.buffer, stmt.index)
    values = _in_registers(w, stmt.values)
    w.emit(_STORES[stmt.buffer.space], (), (*srcs, *values), access=item.access, bits=_bits(stmt.buffer, len(stmt.values)))


def _in_registers(w: Writer, values: tuple[Value, ...]) -> tuple[int, ...]:
    """Stores and the like take no constants but zero: the register is set right before."""
    found: list[int] = []
    for value in values:
        if isinstance(value, Imm) and value.value:
            found.append(w.fresh())
            w.emit("IMAD.MOV", found[-1:])
        else:
            found += w.operands((value,), frozenset(w.params))
    return tuple(found)


def _atomic(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    srcs = address(w, stmt.buffer, stmt.index)
    shared = stmt.buffer.space == "shared"
    counts = shared and stmt.op in ("add", "inc") and all(isinstance(a, Imm) for a in stmt.args)
    values = () if counts else _in_registers(w, stmt.args)
    dst = () if stmt.dst is None else (w.define(stmt.dst),)
    if shared and kind(stmt.buffer.dtype) in "fd" and stmt.op not in ("exch", "cas"):
        _spin(w, item, srcs, values)
        return
    w.emit(_atomic_op(stmt), dst, (*srcs, *values), access=item.access, bits=_bits(stmt.buffer, 1))


def _atomic_op(stmt: Any) -> str:
    if stmt.buffer.space == "cluster":
        return "ATOM"
    if stmt.buffer.space == "shared":
        return "ATOMS.POPC" if counts_lanes(stmt) else "ATOMS.CAS" if stmt.op == "cas" else "ATOMS"
    return "RED" if stmt.dst is None else "ATOMG"


def _spin(w: Writer, item: Item, srcs: tuple[int, ...], values: tuple[int, ...]) -> None:
    """Shared memory adds no floats: read, add, swap if nobody was faster, until all lanes are through. One round; how many there are depends
    on time."""
    stmt: Any = item.stmt
    bits, double = _bits(stmt.buffer, 1), kind(stmt.buffer.dtype) == "d"
    old = w.fresh() if stmt.dst is None else w.define(stmt.dst)
    new, swapped, again = w.fresh(), w.fresh(), w.fresh(0)
    w.emit("BSSY")
    w.emit("LDS", (old,), srcs, access=item.access, bits=bits)
    w.emit("DADD" if double else "FADD", (new,), (old, *values))
    w.emit("ATOMS.CAST.SPIN", (swapped,), (*srcs, old, new), access=item.access, bits=bits)
    w.emit("ISETP", (again,), (swapped,))
    w.emit("BRA", (), (again,))
    w.emit("BSYNC")


def _copy(w: Writer, item: Item) -> None:
    """The first copy of a block comes behind three loads that do nothing (to RZ, under a false predicate), as the compiler emits them."""
    stmt: Any = item.stmt
    if not any(row.op == "LDGSTS" for row in w.lists[w.block]):
        for _ in range(_IDLE_LOADS):
            w.emit("LDS", (), (), w.block)
    target = address(w, stmt.target, stmt.target_index)
    source = address(w, stmt.source, stmt.source_index, paired=False)
    valid = () if stmt.valid is None else w.operands((stmt.valid,))
    w.emit("LDGSTS", (), (*target, *source, *valid), access=item.access, bits=_bits(stmt.source, stmt.count))


# warps, barriers, and the rest


def _warp(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    name = stmt.op.split(".")[0]
    args = stmt.args[1:] if len(stmt.args) > 1 else ()
    if name == "shfl":
        args = args[:2]
    srcs = tuple(m for value in args for m in w.operands((value,)))
    wide = 2 if any(kind(v.dtype) in "ld" for v in args[:1]) else 1
    for _ in range(wide - 1):
        w.emit(WARP[name], (w.fresh(),), srcs)
    if name == "redux":
        middle = w.fresh()
        w.emit("REDUX", (middle,), srcs)
        w.emit("IMAD.MOV", (w.define(stmt.dst[0]),), (middle,))
        return
    w.emit(WARP[name], tuple(w.define(r) for r in stmt.dst), srcs)


def _barrier(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    if stmt.kind == "warp":
        full = stmt.value is None or isinstance(stmt.value, Imm)
        w.emit("NOP" if full else "WARPSYNC", (), () if full else w.operands((stmt.value,)))
    elif stmt.kind in CLUSTER_BARRIER:
        for op in CLUSTER_BARRIER[stmt.kind][stmt.op]:
            w.emit(op, bits=w.cluster)
    elif stmt.op:
        middle = w.fresh()
        w.emit("BAR.RED", (middle,), w.operands((stmt.value,)))
        w.emit("B2R", (w.define(stmt.dst),), (middle,))
    else:
        w.emit("BAR")
        if stmt.kind == "grid":
            w.emit("BAR.GRID")


def _fence(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    if stmt.scope == "async":
        w.emit("FENCE.ASYNC")
        return
    w.emit("MEMBAR.SYS" if stmt.scope == "system" else "MEMBAR")
    if stmt.scope != "cta":
        w.emit("ERRBAR")
        w.emit("CCTL")


def _commit(w: Writer, item: Item) -> None:
    w.emit("LDGDEPBAR")


def _wait(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    w.emit("DEPBAR", bits=stmt.pending)


def _print(w: Writer, item: Item) -> None:
    """A call: arguments go to the stack, then a format and its address in registers."""
    stmt: Any = item.stmt
    values = [v for v in stmt.args if not isinstance(v, str)]
    for value in values:
        w.emit("STL", (), w.operands((value,)))
    w.emit("CALL", (), ())


def _assert(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    w.emit("BRA", (), w.operands((stmt.cond,)))


def _sleep(w: Writer, item: Item) -> None:
    stmt: Any = item.stmt
    w.emit("NANOSLEEP", (), w.operands((stmt.nanoseconds,)))


_TABLE: dict[type, Callable[[Writer, Item], None]] = {
    Op: operation, Load: _load, Store: _store, Atomic: _atomic, AsyncCopy: _copy, LdMatrix: ldmatrix, Mma: mma, Wgmma: wgmma, Warpgroup: warpgroup, Warp: _warp,
    Barrier: _barrier, Fence: _fence, AsyncCommit: _commit, AsyncWait: _wait, Print: _print, Assert: _assert, Sleep: _sleep,
    BulkCopy: bulk_copy, Mbarrier: mbarrier,
}  # fmt: skip
