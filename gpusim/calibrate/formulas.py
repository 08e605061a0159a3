"""Numbers from series of points: lines, plateaus, the knee of a staircase. Pure; no record is known here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from gpusim.calibrate.records import Missing

Point = tuple[float, float]

#: a latency that has risen by this share has left its level
RISE = 1.03


def line(points: Sequence[Point]) -> Point:
    """(slope, intercept) of the least-squares line. Raises Missing for fewer than two different x."""
    if len({x for x, _ in points}) < 2:
        raise Missing("a line needs two points")
    mean_x, mean_y = fmean(x for x, _ in points), fmean(y for _, y in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    return slope, mean_y - slope * mean_x


@dataclass(frozen=True, slots=True)
class Knee:
    """A step of a staircase of latency over footprint. level: latency before it; at: footprint (bytes) up to which all hits; beyond: latency of
    an access that does not hit any more."""

    level: float
    at: float
    beyond: float


def knee(points: Sequence[Point]) -> Knee:
    """The first step of a staircase (footprint in bytes, mean latency), of random accesses under LRU.

    Beyond the knee K a share K/F of the accesses still hits: F L(F) = level K + beyond (F - K), a line in F. It is fitted from the first
    point that has risen to twice the last one that has not, which is in front of the next step. Raises Missing without three such points.
    """
    stairs = sorted(points)
    level = median(y for _, y in stairs[: max(1, len(stairs) // 3)])
    flat = [x for x, y in stairs if y <= level * RISE]
    risen = [(x, x * y) for x, y in stairs if x > max(flat, default=0) and x <= 2 * max(flat, default=0)]
    if len(risen) < 3:
        raise Missing("fewer than three footprints between the first step and twice its size")
    beyond, offset = line(risen)
    return Knee(level, -offset / (beyond - level), beyond)


def ascending(values: Sequence[float]) -> list[tuple[int, ...]]:
    """`values` cut wherever the next one is smaller."""
    cuts = [0, *(i for i in range(1, len(values)) if values[i] < values[i - 1]), len(values)]
    return [tuple(int(v) for v in values[a:b]) for a, b in zip(cuts, cuts[1:], strict=False)]


def asymptote(points: Sequence[Point]) -> float:
    """Amount per time of long runs: the slope of amount over time (time, amount) between the longest run and the first of an eighth of it."""
    ordered = sorted(points)
    long = [p for p in ordered if p[1] >= ordered[-1][1] / 8]
    return line(long)[0]
