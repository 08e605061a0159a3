"""Reductions of a tile along one axis: in the thread, in the warp, between warps.

A thread adds up its own elements; butterfly shuffles do the same over the lanes that share a row. Where a row lies in several warps, each writes its
result to shared memory; after a barrier the first threads read them, shuffle again and write the sum, and after one more all threads read it.
Before shared memory is written a second time there is a barrier too.

Evidence: `compiled/softmax_fused_f32_1024_w4.sassops`: FMNMX in the thread, five SHFL, STS, BAR, LDS, two SHFL for four warps, STS, BAR, LDS; the second
reduction begins with a BAR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from gpusim.ir.simt.nodes import Barrier, Buffer, Imm, Load, Op, Store, Value, Warp
from gpusim.lower.blocked.emit import BOOL, INDEX, INT, WORD, Emitter, now
from gpusim.lower.blocked.layout import LANES
from gpusim.lower.blocked.place import Place, both, sole
from gpusim.lower.blocked.tiles import Held, wide

#: reduction -> operation on two values
OPERATIONS = {"sum": "add", "max": "max", "min": "min", "prod": "mul", "xor": "xor"}
_FULL = Imm(0xFFFFFFFF, WORD)
Combine = Callable[[Value, Value], Value]


class Scratch:
    """Shared memory of reductions: one array for each type, used again and again."""

    def __init__(self, e: Emitter, barrier: bool) -> None:
        self.e, self.used = e, barrier
        self.buffers: dict[str, Buffer] = {}

    def take(self, dtype: str, elements: int) -> Buffer:
        """An array of which `elements` may be written now: behind a barrier if it was read before."""
        if self.used:
            self.e.emit(Barrier("cta", line=self.e.line))
        self.used = True
        if dtype not in self.buffers or prod(self.buffers[dtype].shape or ()) < elements:
            self.buffers[dtype] = self.e.shared("partial", dtype, elements)
        return self.buffers[dtype]


@dataclass(frozen=True, slots=True)
class Reduction:
    """Along an axis of the layout; extent: of the tile along it."""

    op: str
    axis: int
    extent: int


def reduce(e: Emitter, how: Reduction, tile: Held, at: Place, threads: int, scratch: Scratch) -> Held:
    """The tile with extent 1 along the axis."""
    combine = _combiner(e, how.op)
    shape = (*tile.shape[: how.axis], 1, *tile.shape[how.axis + 1 :])
    rows = _in_thread(at, tile, [now(v) for v in wide(e, tile)], how.axis, combine)
    if how.extent > 1:
        rows = [_in_warp(e, at, value, how.extent, how.axis, combine) for value in rows]
        if _warps(at, how.extent, how.axis) > 1:
            rows = _Between(e, at, how.axis, _warps(at, how.extent, how.axis), shape, combine).reduce(rows, sole(e, at, tile.shape), threads, scratch)
    return Held(shape, tile.dtype, tuple(rows))


def _combiner(e: Emitter, op: str) -> Combine:
    return lambda a, b: e.op(op, a.dtype, a, b)


def _in_thread(at: Place, tile: Held, values: list[Value], axis: int, combine: Combine) -> list[Value]:
    """One value for each row that a thread has a part of."""
    rows: dict[tuple[int, ...], Value] = {}
    for place, value in zip(at.layout.offsets(tile.shape), values, strict=True):
        key = (*place[:axis], 0, *place[axis + 1 :])
        rows[key] = combine(rows[key], value) if key in rows else value
    return list(rows.values())


def _lanes(at: Place, extent: int, axis: int) -> int:
    """Lanes of a warp with different elements of a row."""
    return min(at.layout.lanes[axis], max(1, extent // at.layout.per[axis]))


def _warps(at: Place, extent: int, axis: int) -> int:
    """Warps with different elements of a row."""
    return min(at.layout.warps[axis], max(1, extent // (at.layout.per[axis] * at.layout.lanes[axis])))


def _shuffled(e: Emitter, value: Value, distance: int, combine: Combine) -> Value:
    other = e.reg(value.dtype)
    e.emit(Warp((other,), "shfl.bfly", (_FULL, value, Imm(distance, INT), Imm(LANES, INT)), e.line))
    return combine(value, other)


def _in_warp(e: Emitter, at: Place, value: Value, extent: int, axis: int, combine: Combine) -> Value:
    """The lanes of an axis are `step` apart."""
    step, count = prod(at.layout.lanes[axis + 1 :]), _lanes(at, extent, axis)
    while count > 1:
        count //= 2
        value = _shuffled(e, value, step * count, combine)
    return value


@dataclass(frozen=True, slots=True)
class _Between:
    """The step between warps. warps: that share a row; shape: of the result."""

    e: Emitter
    at: Place
    axis: int
    warps: int
    shape: tuple[int, ...]
    combine: Combine

    def reduce(self, rows: list[Value], alone: Value | None, threads: int, scratch: Scratch) -> list[Value]:
        e, total = self.e, prod(self.shape) * self.warps
        buffer = scratch.take(rows[0].dtype, total)
        places = [self.place(offset) for offset in self.at.layout.offsets(self.shape)]
        writer = both(e, e.op("eq", BOOL, self.at.lane[self.axis], Imm(0, INDEX)), alone)
        with e.when(writer):
            for place, value in zip(places, rows, strict=True):
                e.emit(Store(buffer, e.add(place, self.at.warp[self.axis]), (value,), e.line))
        e.emit(Barrier("cta", line=e.line))
        for first in range(0, total, threads):
            self.collect(buffer, first, min(total - first, threads), threads)
        e.emit(Barrier("cta", line=e.line))
        return [self.read(buffer, place) for place in places]

    def place(self, offset: tuple[int, ...]) -> Value:
        """Where the results of the warps of a row stand side by side."""
        e = self.e
        row: Value = Imm(0, INDEX)
        for axis, extent in enumerate(self.shape):
            if extent > 1:
                coordinate = e.add(self.at.first[axis], Imm(offset[axis], INDEX))
                row = e.add(e.mul(row, Imm(extent, INDEX)), coordinate)
        return e.mul(row, Imm(self.warps, INDEX))

    def collect(self, buffer: Buffer, first: int, count: int, threads: int) -> None:
        """The first threads read one result each, shuffle, and one of each row writes."""
        e, thread = self.e, self.at.thread
        mine = e.add(thread, Imm(first, INDEX))
        some = e.op("lt", BOOL, thread, Imm(count, INDEX)) if count < threads else None
        part = e.reg(buffer.dtype)
        if some is not None:
            e.emit(Op(part, "mov", (Imm(0, part.dtype),), e.line))
        with e.when(some):
            e.emit(Load((part,), buffer, mine, e.line))
        value: Value = part
        distance = self.warps
        while distance > 1:
            distance //= 2
            value = _shuffled(e, value, distance, self.combine)
        writes = e.op("eq", BOOL, e.op("and", INDEX, thread, Imm(self.warps - 1, INDEX)), Imm(0, INDEX))
        with e.when(both(e, writes, some)):
            e.emit(Store(buffer, mine, (value,), e.line))

    def read(self, buffer: Buffer, place: Value) -> Value:
        made = self.e.reg(buffer.dtype)
        self.e.emit(Load((made,), buffer, place, self.e.line))
        return made
