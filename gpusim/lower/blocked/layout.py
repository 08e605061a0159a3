"""Which thread holds which element of a tile: blocked layouts.

Along each dimension a thread holds `per` neighbours, `lanes` threads of a warp and `warps` warps stand side by side, and the whole
repeats until the tile is covered. The last dimension is the fastest: it takes as many lanes and warps as it can use. Where a tile is smaller than the
threads reach, they hold copies.

Evidence: the layouts printed in `compiled/*.ttgir`: a row of 1024 fp32 on 4 warps is [4 per thread, 32 lanes, 4 warps], a row of 4096 bf16 on 8
warps [8, 32, 8].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

#: lanes of a warp
LANES = 32


@dataclass(frozen=True, slots=True)
class Blocked:
    """Along each dimension: neighbours of one thread, lanes and warps side by side."""

    per: tuple[int, ...]
    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    def span(self, axis: int) -> int:
        """Elements along `axis` that all threads cover once."""
        return self.per[axis] * self.lanes[axis] * self.warps[axis]

    def offsets(self, shape: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Of each register that a thread needs for a tile of `shape`, its place relative to the thread's first element. The neighbours of one
        piece follow each other. An extent of 1 has one place, whatever the layout covers."""
        return [tuple(at) for at in product(*(list(self._along(axis, extent)) for axis, extent in enumerate(shape)))]

    def _along(self, axis: int, extent: int) -> Iterator[int]:
        if extent == 1:
            yield 0
            return
        for first in range(0, extent, self.span(axis)):
            yield from range(first, first + min(self.per[axis], extent))

    def copies(self, axis: int, extent: int) -> bool:
        """Whether threads hold the same elements of a tile of that extent, because they reach beyond it."""
        return self.span(axis) > extent


def blocked(shape: tuple[int, ...], per: int, warps: int) -> Blocked:
    """The layout of a tile of `shape` on `warps` warps, `per` neighbours of a row to a thread (fewer where threads would stay without any)."""
    per = max(1, min(per, shape[-1], prod(shape) // (LANES * warps)))
    lanes, rows = [1] * len(shape), [1] * len(shape)
    free_lanes, free_warps = LANES, warps
    for axis in reversed(range(len(shape))):
        threads = max(1, shape[axis] // (per if axis == len(shape) - 1 else 1))
        lanes[axis] = min(threads, free_lanes)
        rows[axis] = min(max(1, threads // lanes[axis]), free_warps)
        free_lanes, free_warps = free_lanes // lanes[axis], free_warps // rows[axis]
    lanes[0], rows[0] = lanes[0] * free_lanes, rows[0] * free_warps
    return Blocked((*[1] * (len(shape) - 1), per), tuple(lanes), tuple(rows))
