"""Intrinsics of clusters of blocks, mbarriers, and copies by the bulk engine."""

from __future__ import annotations

from dataclasses import replace

from gpusim.frontend.calls import Call, Handler, array_of
from gpusim.frontend.memory_calls import NOTHING, place
from gpusim.frontend.operands import Array, Operand, Scalar
from gpusim.frontend.typing import is_integer, itemsize
from gpusim.ir.simt.nodes import Barrier, BulkCopy, Imm, Mbarrier, Value
from gpusim.ir.simt.values import rank_step

#: bytes of an mbarrier
MBARRIER = 8


def _barrier_at(made: Call, array: Operand | None, index: Operand | None) -> tuple[Array, Value]:
    """The element of a shared array that is an mbarrier."""
    target, flat = place(made, array, index)
    dtype = target.buffer.dtype
    if target.buffer.space != "shared" or not is_integer(dtype) or itemsize(dtype) != MBARRIER:
        what = f"An mbarrier in a {target.buffer.space} array of {dtype}."
        made.refuse(what, "It is one element of cuda.shared.array(n, uint64).")
    return target, flat


def mbarrier(op: str, third: str) -> Handler:
    """mbarrier.op(array, index, third); without a third argument, 0 bytes."""

    def handle(made: Call) -> Operand:
        array, index, *rest = made.bound(f"bars i {third}".strip())
        target, flat = _barrier_at(made, array, index)
        value: Value = Imm(0, "int32")
        if rest:
            number = made.ctx.scalar(rest[0] or NOTHING, made.node, f"The {third}")
            if not is_integer(number.dtype):
                made.refuse(f"The {third} is a {number.dtype}.", "It is a whole number.")
            value = made.ctx.cast(number.value, "int32")
        made.ctx.emit(Mbarrier(op, target.buffer, flat, value, made.ctx.line))
        return NOTHING

    return handle


def _bulk_copy(made: Call) -> Operand:
    dst, i, src, j, count, bars, k = made.bound("dst i src j count bars k")
    target, to = place(made, dst, i)
    source, start = place(made, src, j)
    if target.buffer.space != "shared" or source.buffer.space != "global" or target.buffer.dtype != source.buffer.dtype:
        what = f"bulk_copy from {source.buffer.space} {source.buffer.dtype} to {target.buffer.space} {target.buffer.dtype}."
        made.refuse(what, "It copies from global to shared memory of one type.")
    number = made.ctx.scalar(count or NOTHING, made.node, "The count")
    if not is_integer(number.dtype):
        made.refuse(f"The count is a {number.dtype}.", "It is a number of elements.")
    barrier, at = _barrier_at(made, bars, k)
    made.ctx.emit(BulkCopy(target.buffer, to, source.buffer, start, number.value, barrier.buffer, at, made.ctx.line))
    return NOTHING


def cluster_barrier(*steps: tuple[str, str]) -> Handler:
    """Parts of a barrier of the cluster: kind and op of each."""

    def handle(made: Call) -> Operand:
        made.bound("")
        for kind, op in steps:
            made.ctx.emit(Barrier(kind, op, line=made.ctx.line))
        return NOTHING

    return handle


def _map_shared(made: Call) -> Operand:
    """The array of another rank: its index holds the rank in the upper bits, as an address does."""
    array, rank = made.bound("array rank")
    own = array_of(made, array)
    if own.buffer.space != "shared":
        made.refuse(f"map_shared of a {own.buffer.space} array.", "It takes an array of cuda.shared.array.")
    number = made.ctx.scalar(rank or NOTHING, made.node, "The rank")
    step = Imm(rank_step(itemsize(own.buffer.dtype)), "int64")
    start = made.ctx.op("mul", (made.ctx.cast(number.value, "int64"), step), "int64")
    if own.offset is not None:
        start = made.ctx.op("add", (start, made.ctx.cast(own.offset, "int64")), "int64")
    return Array(replace(own.buffer, space="cluster"), own.shape, own.strides, start)


def _special(op: str) -> Handler:
    def handle(made: Call) -> Operand:
        made.bound("")
        return Scalar(made.ctx.op(op, (), "int32"), None, True)

    return handle


_RELEASE, _RELAXED, _WAIT = ("cluster.arrive", ""), ("cluster.arrive", "relaxed"), ("cluster.wait", "")

CLUSTER: dict[str, Handler] = {
    "mbarrier.init": mbarrier("init", "arrivals"),
    "mbarrier.arrive": mbarrier("arrive", ""),
    "mbarrier.arrive_expect_tx": mbarrier("arrive", "bytes"),
    "mbarrier.expect_tx": mbarrier("expect", "bytes"),
    "mbarrier.wait": mbarrier("wait", "parity"),
    "bulk_copy": _bulk_copy,
    "cluster.sync": cluster_barrier(_RELEASE, _WAIT),
    "cluster.arrive": cluster_barrier(_RELEASE),
    "cluster.arrive_relaxed": cluster_barrier(_RELAXED),
    "cluster.wait": cluster_barrier(_WAIT),
    "cluster.block_rank": _special("clusterrank"),
    "cluster.num_blocks": _special("clustersize"),
    "cluster.map_shared": _map_shared,
}
