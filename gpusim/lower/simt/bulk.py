"""Instructions of mbarriers, bulk copies and barriers of a cluster (as nvcc 13 emits them for sm_90)."""

from __future__ import annotations

from typing import Any

from gpusim.ir.simt.nodes import Value
from gpusim.lower.simt.address import address
from gpusim.lower.simt.flow import Item
from gpusim.lower.simt.writer import Writer

#: part of a barrier of the cluster -> op -> instructions. To release its writes, a thread waits until L2 has them
CLUSTER_BARRIER: dict[str, dict[str, tuple[str, ...]]] = {
    "cluster.arrive": {"": ("MEMBAR", "ERRBAR", "CGAERRBAR", "UCGABAR_ARV"), "relaxed": ("UCGABAR_ARV",)},
    "cluster.wait": {"": ("UCGABAR_WAIT",)},
}

_SYNCS = {"init": "SYNCS.EXCH", "arrive": "SYNCS.ARRIVE", "expect": "SYNCS.ARRIVE", "wait": "SYNCS.PHASECHK"}
#: a wait that finds its phase incomplete comes back to itself
_LOOPS = ("wait",)


def mbarrier(w: Writer, item: Item) -> None:
    """One instruction, and the branch that repeats a wait. It stands behind the copies of this thread that the engine has not taken yet."""
    stmt: Any = item.stmt
    srcs = (*address(w, stmt.buffer, stmt.index), *_registers(w, stmt.value), *_taken(w))
    done = (w.fresh(0),) if stmt.op in _LOOPS else ()
    w.emit(_SYNCS[stmt.op], done, srcs, access=item.access, bits=64)
    if done:
        w.emit("BRA", (), done)


def bulk_copy(w: Writer, item: Item) -> None:
    """The engine takes its command from uniform registers: addresses of target, source and mbarrier, and the size."""
    stmt: Any = item.stmt
    parts = (
        address(w, stmt.target, stmt.target_index),
        address(w, stmt.source, stmt.source_index, paired=False),
        address(w, stmt.barrier, stmt.barrier_index),
        _registers(w, stmt.count),
    )
    command = []
    for srcs in parts:
        for _ in range(2 if srcs is parts[1] else 1):
            command.append(w.fresh(0))
            w.emit("R2UR", command[-1:], srcs)
    w.emit("UBLKCP", _taken(w), command, access=item.access)


def _registers(w: Writer, value: Value) -> tuple[int, ...]:
    return w.operands((value,))


def _taken(w: Writer) -> tuple[int, ...]:
    """Stands for "the engine has taken the copies of this thread": written by a copy, read by what must wait for that."""
    if "bulk taken" not in w.known:
        w.remember("bulk taken", 0, w.fresh(0))
    return (w.known["bulk taken"][0][1],)
