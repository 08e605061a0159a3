"""Where SMs stand: how far each is from the slices of L2, from the latency of each SM alone on the same lines.

An SM's latencies depend on the side of the chip that its GPC stands on and on its CPC, a group of TPCs that share a way out. Two GPCs of one
side find the same lines near; two of different sides find opposite ones near. TPCs are dealt over the CPCs of a GPC in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from gpusim.calibrate.bench import Bench, Found, Row, tenths
from gpusim.calibrate.chip import gpcs
from gpusim.calibrate.records import Missing

Vector = list[float]

#: CPCs that a GPC may have
MOST_CPCS = 6

NAME = "latency/l2_hit_line_by_sm"


@dataclass(frozen=True, slots=True)
class Places:
    """sides: of each GPC, 0 that of the first; cpcs: CPC of the first TPC of each GPC; near, far: cycles beyond the mean by CPC; rms: what is left."""

    sides: tuple[int, ...]
    cpcs: tuple[int, ...]
    near: tuple[float, ...]
    far: tuple[float, ...]
    rms: float


def _matrix(bench: Bench) -> list[Vector]:
    """Latency of each SM (row) on each line, less the mean of all. Raises Missing if the list does not fit the device."""
    record = bench.records.points(NAME, "cycles")[0]
    lines, sms = int(record.number("lines")), int(record.number("sms"))
    if len(record.entries) != lines * sms or sms != bench.records.of_device("multiProcessorCount"):
        raise Missing(f"the list of {NAME} has not {lines} lines for each SM")
    mean = fmean(record.entries)
    return [[entry - mean for entry in record.entries[sm * lines : (sm + 1) * lines]] for sm in range(sms)]


def _mean(rows: Sequence[Vector]) -> Vector:
    return [fmean(column) for column in zip(*rows, strict=True)]


def _distance(a: Vector, b: Vector) -> float:
    return fmean((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _sides(vectors: Sequence[Vector]) -> tuple[tuple[int, ...], list[int]]:
    """(side of each GPC, side of each line): GPCs go with the first one or against it; a line belongs to the side that finds it nearer."""
    common = _mean(vectors)
    own = [[x - m for x, m in zip(vector, common, strict=True)] for vector in vectors]
    sides = tuple(int(sum(x * y for x, y in zip(vector, own[0], strict=True)) < 0) for vector in own)
    if len(set(sides)) < 2:
        raise Missing(f"{NAME} shows no two sides of the chip")
    first, second = (_mean([v for v, side in zip(own, sides, strict=True) if side == s]) for s in (0, 1))
    return sides, [int(b < a) for a, b in zip(first, second, strict=True)]


def _period(tpcs: Sequence[Sequence[Vector]]) -> int:
    """After how many TPCs of a GPC the latencies repeat."""
    apart: dict[int, Vector] = {}
    for gpc in tpcs:
        for step in range(1, MOST_CPCS + 1):
            apart.setdefault(step, []).extend(_distance(gpc[i], gpc[i + step]) for i in range(len(gpc) - step))
    return min((step for step, found in apart.items() if found), key=lambda step: fmean(apart[step]), default=1)


def places(bench: Bench) -> Places:
    """The whole table. GPCs in the order of dealing; the largest GPC begins with CPC 0."""
    matrix, groups, share = _matrix(bench), gpcs(bench), int(bench.spec("chip.sms_per_tpc"))
    tpcs = [[_mean([matrix[sm] for sm in gpc[i : i + share]]) for i in range(0, len(gpc), share)] for gpc in groups]
    sides, lines = _sides([_mean(gpc) for gpc in tpcs])
    seen = [[_near_far(tpc, lines, side) for tpc in gpc] for gpc, side in zip(tpcs, sides, strict=True)]
    period = _period(tpcs)
    cpcs, table = _aligned(seen, period)
    left = [
        (x - table[(first + i) % period][line != side]) ** 2
        for gpc, side, first in zip(tpcs, sides, cpcs, strict=True)
        for i, tpc in enumerate(gpc)
        for x, line in zip(tpc, lines, strict=True)
    ]
    return Places(sides, cpcs, tuple(near for near, _ in table), tuple(far for _, far in table), sqrt(fmean(left)))


def _near_far(tpc: Vector, lines: Sequence[int], side: int) -> tuple[float, float]:
    """Mean of a TPC over the lines of its own side, and over those of the other."""
    own, other = ([x for x, line in zip(tpc, lines, strict=True) if (line == side) is same] for same in (True, False))
    if not own or not other:
        raise Missing(f"all lines of {NAME} lie on one side of the chip")
    return fmean(own), fmean(other)


def _aligned(seen: Sequence[Sequence[tuple[float, float]]], period: int) -> tuple[tuple[int, ...], list[tuple[float, float]]]:
    """(CPC of the first TPC of each GPC, (near, far) of each CPC). The table of the largest GPC decides how the others begin."""
    table = _table([max(seen, key=len)], [0], period)

    def wrong(gpc: Sequence[tuple[float, float]], first: int) -> float:
        return sum((a - x) ** 2 + (b - y) ** 2 for i, (a, b) in enumerate(gpc) for x, y in [table[(first + i) % period]])

    cpcs = [min(range(period), key=lambda first, gpc=gpc: wrong(gpc, first)) for gpc in seen]  # type: ignore[misc]
    return tuple(cpcs), _table(seen, cpcs, period)


def _table(seen: Sequence[Sequence[tuple[float, float]]], cpcs: Sequence[int], period: int) -> list[tuple[float, float]]:
    found: list[list[tuple[float, float]]] = [[] for _ in range(period)]
    for gpc, first in zip(seen, cpcs, strict=True):
        for i, pair in enumerate(gpc):
            found[(first + i) % period].append(pair)
    return [(fmean(a for a, _ in pairs), fmean(b for _, b in pairs)) for pairs in found if pairs]


def _spread(bench: Bench) -> float:
    """Cycles either way of an even spread with the deviation that the table leaves."""
    return places(bench).rms * sqrt(3)


def _side_of(bench: Bench) -> Found:
    return places(bench).sides


def _cpc_of(bench: Bench) -> Found:
    return places(bench).cpcs


def _nothing(bench: Bench) -> Found:
    """Without distances no list needs to fit the GPCs."""
    if len(bench.known["chip.gpc_side"]) in (0, len(bench.known["chip.gpc_sms"])):
        raise Missing("the base's list fits")
    return ()


def _no_parts(bench: Bench) -> Found:
    if len(bench.known["chip.gpc_number"]) in (0, len(bench.known["chip.gpc_sms"])):
        raise Missing("the base's list fits")
    return ()


#: cycles by which two chips of one kind differ
SAME = 1.5

ROWS: tuple[Row, ...] = (
    Row("chip.gpc_side", NAME, "GPCs that find the same lines near as the first one, or the others", _side_of, float),
    Row("chip.gpc_cpc", NAME, "CPC of the first TPC; the largest GPC begins with 0", _cpc_of, float),
    Row("l2.near", NAME, "by CPC: mean over lines of the own side less the mean of all", lambda b: tenths(places(b).near), float, tolerance=SAME),
    Row("l2.far", NAME, "by CPC: mean over lines of the other side less the mean of all", lambda b: tenths(places(b).far), float, tolerance=SAME),
    Row("l2.slice_spread", NAME, "root of 3 times the deviation that the table of CPCs leaves", _spread, lambda v: round(v, 1), tolerance=SAME),
)

FALLBACKS: tuple[Row, ...] = (
    Row("chip.gpc_side", "scheduling/cta_to_sm", "distances left out, as the base has other GPCs", _nothing, float, kind="assumed"),
    Row("chip.gpc_number", "scheduling/cta_to_sm", "parts of GPCs left out, as the base has other GPCs", _no_parts, float, kind="assumed"),
    Row("chip.gpc_cpc", "scheduling/cta_to_sm", "distances left out, as the base has other GPCs", _nothing, float, kind="assumed"),
)
