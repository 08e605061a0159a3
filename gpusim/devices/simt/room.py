"""Where the warps of a new CTA go, and whether there is room for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Room:
    """ctas: CTAs that an SM holds at any time (slots, shared memory). warps: warps that one sub-core holds (slots, registers).

    A warp that ends frees its place, so a new CTA may start while older ones still run their last warps; but the SM takes new CTAs only when
    one ends. Evidence: of CTAs in which every second warp ends early, none comes before the first has ended; then four come at once
    (tests/hardware/data/scheduler.md).
    """

    ctas: int
    warps: int

    def fits(self, population: Sequence[int], running: int, places: Sequence[int]) -> bool:
        """Whether a CTA may start whose warps go to the sub-cores `places`. population: warps of each sub-core; running: CTAs."""
        return running < self.ctas and all(population[p] + places.count(p) <= self.warps for p in set(places))


def places(population: Sequence[int], number: int, warps: int) -> list[int]:
    """Sub-cores of the warps of the CTA with this number: dealt in turn, beginning one further for each CTA where the CTA fills all alike,
    else at the emptiest.

    Evidence: the slots (%warpid) of the warps of 31 CTAs on one SM (tests/hardware/data/scheduler.md).
    """
    count = len(population)
    start = number % count
    if warps % count:
        start = min(((start + i) % count for i in range(count)), key=lambda i: population[i])
    return [(start + i) % count for i in range(warps)]


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Length of the union of (begin, end)."""
    total, reach = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total
