"""Where a thread stands in its CTA, and with it its elements of the tiles of one layout."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpusim.ir.simt.nodes import Imm, Value
from gpusim.lower.blocked.emit import BOOL, INDEX, INT, Emitter
from gpusim.lower.blocked.layout import LANES, Blocked


@dataclass(frozen=True, slots=True)
class Place:
    """thread: its number. lane, warp: its place along each axis of the layout. reach: its first element along each axis, counted over all threads; first: the
    same inside the tile, where threads hold copies; half: the last of them in words of two elements."""

    layout: Blocked
    thread: Value
    lane: tuple[Value, ...]
    warp: tuple[Value, ...]
    reach: tuple[Value, ...]
    first: tuple[Value, ...]
    half: Value


def place(e: Emitter, layout: Blocked, shape: tuple[int, ...]) -> Place:
    """The place of a thread in tiles of `shape`."""
    thread = e.cast(e.op("tid.x", INT), INDEX)
    lane = _along(e, _part(e, thread, 1, LANES, prod(layout.warps) > 1), layout.lanes)
    warp = _along(e, _part(e, thread, LANES, prod(layout.warps), False), layout.warps)
    reach, halves = [], []
    for axis in range(len(shape)):
        row = e.add(e.mul(warp[axis], Imm(layout.lanes[axis], INDEX)), lane[axis])
        reach.append(e.mul(row, Imm(layout.per[axis], INDEX)))
        halves.append(e.mul(row, Imm(max(1, layout.per[axis] // 2), INDEX)))
    first = tuple(_wrapped(e, at, layout, axis, shape[axis], 1) for axis, at in enumerate(reach))
    half = _wrapped(e, halves[-1], layout, len(shape) - 1, shape[-1], 2)
    return Place(layout, thread, lane, warp, tuple(reach), first, half)


def _along(e: Emitter, number: Value, counts: tuple[int, ...]) -> tuple[Value, ...]:
    """A lane's or warp's place along each axis; the last axis runs fastest."""
    return tuple(_part(e, number, prod(counts[axis + 1 :]), count, prod(counts[:axis]) > 1) for axis, count in enumerate(counts))


def _part(e: Emitter, number: Value, below: int, count: int, more: bool) -> Value:
    """number // below % count; `more`: the remainder is needed."""
    if count == 1:
        return Imm(0, INDEX)
    number = e.op("shr", INDEX, number, Imm(below.bit_length() - 1, INDEX)) if below > 1 else number
    return e.op("and", INDEX, number, Imm(count - 1, INDEX)) if more else number


def _wrapped(e: Emitter, at: Value, layout: Blocked, axis: int, extent: int, unit: int) -> Value:
    if not layout.copies(axis, extent) or isinstance(at, Imm):
        return at
    return e.op("mod", INDEX, at, Imm(max(1, extent // unit), INDEX))


def sole(e: Emitter, at: Place, shape: tuple[int, ...]) -> Value | None:
    """Whether this thread is the first that holds its elements of a tile of `shape`; None: there are no copies."""
    cond: Value | None = None
    for axis, extent in enumerate(shape):
        if at.layout.copies(axis, extent) and not isinstance(at.reach[axis], Imm):
            cond = both(e, cond, e.op("lt", BOOL, at.reach[axis], Imm(extent, INDEX)))
    return cond


def both(e: Emitter, a: Value | None, b: Value | None) -> Value | None:
    """a and b; None is true."""
    return (a or b) if a is None or b is None else e.op("and", BOOL, a, b)
