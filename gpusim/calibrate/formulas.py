"""Numbers from series of points: lines, plateaus, the knee of a staircase. Pure; no record is known here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from gpusim.calibrate.records import Missing

Point = tuple[float, float]

#: a latency that has risen by this share has left its level
RISE = 1.03
#: and one that has not reached this share of the next level is on its way
BELOW = 0.97


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


def knee(points: Sequence[Point], top: float | None = None) -> Knee:
    """The first step of a staircase (footprint in bytes, mean latency), of a chase under LRU.

    Beyond the knee K the share of misses is n (F - K) / F, with n = 1 for accesses that hash well: F L(F) is a line in F that crosses level F
    at K. It is fitted from the first point that has risen to twice the last one that has not, which is in front of the next step, or to `top`,
    the latency at which all miss. Raises Missing without two such points.
    """
    stairs = sorted(points)
    level = median(y for _, y in stairs[: max(1, len(stairs) // 3)]) if stairs else 0.0
    flat = max((x for x, y in stairs if y <= level * RISE), default=0.0)
    risen = [(x, x * y) for x, y in stairs if flat < x <= 2 * flat and (top is None or y < top * BELOW)]
    if len({x for x, _ in risen}) < 2:
        raise Missing("fewer than two footprints between the first step of latency/staircase and the next")
    beyond, offset = line(risen)
    if beyond <= level:
        raise Missing("latency/staircase has no step that rises")
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
