"""The grid as classes of CTAs that do the same, found by executing few of them.

Boxes of the grid are split until the CTAs at their corners and in their middle count the same. `affine.periods` proves that the CTAs
between such corners then count the same too: comparisons with affine values change at most once along an axis, and within a
box all CTAs see the same alignment to sectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import product

import numpy as np

from gpusim.launch.simt.affine import Periods
from gpusim.trace.simt import Counts

#: CTAs to execute at most while looking for classes; beyond that the grid has too many
MOST = 100
#: what CTAs of a class have in common; lines are left out, for no counter shows them and they would tell more CTAs apart
COMMON = ("warps", "lanes", "requests", "sectors", "wavefronts", "partial")

Box = tuple[range, range, range]


@dataclass(frozen=True, slots=True)
class CtaClass:
    """`size` CTAs, those in `boxes`, count as CTA `cta` does."""

    cta: int
    size: int
    counts: Counts
    boxes: tuple[Box, ...] = ()


def linear(grid: tuple[int, int, int], at: Iterable[int]) -> int:
    x, y, z = at
    return x + grid[0] * (y + grid[1] * z)


def boxes(grid: tuple[int, int, int], periods: Periods) -> list[Box]:
    """The grid, cut by residues of the periods."""
    axes = [[range(first, extent, step) for first in range(min(step, extent))] for extent, step in zip(grid, periods.axes, strict=True)]
    return [(x, y, z) for x, y, z in product(*axes)]


def classes(grid: tuple[int, int, int], periods: Periods, run: Callable[[int], Counts]) -> list[CtaClass] | None:
    """Classes that cover the grid, or None if there are too many. run: counts of one CTA, given by its linear number."""
    known: dict[int, tuple[bytes, Counts]] = {}

    def sign(cta: int) -> bytes:
        if cta not in known:
            counts = run(cta)
            known[cta] = (signature(counts), counts)
        return known[cta][0]

    todo = boxes(grid, Periods(needed(grid, periods, sign)))
    found: dict[bytes, CtaClass] = {}
    if len(todo) > MOST:
        return None
    while todo:
        box = todo.pop()
        probes = [linear(grid, at) for at in corners(box)]
        for cta in probes:
            if cta not in known and len(known) >= MOST:
                return None
            sign(cta)
        signs = {known[cta][0] for cta in probes}
        size = len(box[0]) * len(box[1]) * len(box[2])
        if len(signs) == 1:
            same, counts = known[probes[0]]
            was = found.get(same)
            found[same] = CtaClass(was.cta if was else probes[0], size + (was.size if was else 0), counts, (*(was.boxes if was else ()), box))
        else:
            todo += split(box, grid, known)
    return list(found.values())


def needed(grid: tuple[int, int, int], periods: Periods, sign: Callable[[int], bytes]) -> tuple[int, int, int]:
    """The periods, but 1 along an axis where one whole period of CTAs, in the middle of the grid, counts alike: alignment changes nothing there."""
    middle = [extent // 2 for extent in grid]
    out = []
    for axis, (extent, period) in enumerate(zip(grid, periods.axes, strict=True)):
        if period > 1 and extent > 2 * period:
            row = [linear(grid, _put(tuple(middle), axis, extent // 2 + i)) for i in range(period)]
            period = 1 if len({sign(cta) for cta in row}) == 1 else period
        out.append(period)
    return out[0], out[1], out[2]


def corners(box: Box) -> list[tuple[int, int, int]]:
    """Corners and middle, each once."""
    ends = [sorted({axis[0], axis[-1]}) for axis in box]
    middle = tuple(axis[len(axis) // 2] for axis in box)
    points = [(x, y, z) for x, y, z in product(*ends)]
    return points if middle in points else [*points, (middle[0], middle[1], middle[2])]


def split(box: Box, grid: tuple[int, int, int], known: dict[int, tuple[bytes, Counts]]) -> list[Box]:
    """Two parts of a box that holds different CTAs. A guard mostly cuts off the first or the last CTA, so these are tried before halves."""
    axis = _axis(box, grid, known)
    whole = box[axis]

    def sign(at: int) -> bytes | None:
        found = known.get(linear(grid, _moved(box, axis, at)))
        return found[0] if found else None

    at = (len(whole) + 1) // 2
    first, middle, last = sign(whole[0]), sign(whole[len(whole) // 2]), sign(whole[-1])
    if len(whole) > 3 and first != last and whole[-1] + whole.step >= grid[axis] and middle in (first, None):
        at = len(whole) - 1
    elif len(whole) > 3 and middle != first and whole[0] < whole.step:
        at = 1
    return [_with(box, axis, part) for part in (whole[:at], whole[at:]) if len(part)]


def _axis(box: Box, grid: tuple[int, int, int], known: dict[int, tuple[bytes, Counts]]) -> int:
    """The axis along which corners differ; the longest of these, or the longest at all."""
    points = corners(box)
    differing = []
    for axis in range(3):
        pairs = [(p, _put(p, axis, box[axis][-1])) for p in points if p[axis] == box[axis][0]]
        signs = [(known.get(linear(grid, a)), known.get(linear(grid, b))) for a, b in pairs]
        if len(box[axis]) > 1 and any(a is not None and b is not None and a[0] != b[0] for a, b in signs):
            differing.append(axis)
    return max(differing or range(3), key=lambda axis: len(box[axis]))


def _put(point: tuple[int, ...], axis: int, value: int) -> tuple[int, ...]:
    return (*point[:axis], value, *point[axis + 1 :])


def _moved(box: Box, axis: int, value: int) -> tuple[int, ...]:
    """The first corner, moved along the axis."""
    return _put(tuple(r[0] for r in box), axis, value)


def _with(box: Box, axis: int, part: range) -> Box:
    x, y, z = (part if i == axis else r for i, r in enumerate(box))
    return x, y, z


def signature(counts: Counts) -> bytes:
    return b"|".join(getattr(counts, name).tobytes() for name in COMMON)


def total(found: Iterable[CtaClass]) -> Counts:
    """Counts of all CTAs."""
    members = list(found)
    out = Counts.zero(len(members[0].counts.warps), len(members[0].counts.requests))
    for member in members:
        out.add(member.counts, member.size)
    return out


def scaled(counts: Counts, factor: float) -> Counts:
    """`counts` of a sample, for the whole launch."""
    return Counts(**{f.name: np.rint(getattr(counts, f.name) * factor).astype(np.int64) for f in fields(counts)})
