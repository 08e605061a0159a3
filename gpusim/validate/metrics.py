"""Counters of simulated launches against a profile of the same launches, by the profiler's own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from gpusim.trace.nsight import HIT_RATE, L1_HIT_RATE, L1_LOADS, METRICS, TEX, Metric
from gpusim.validate.outcome import Outcome

Numbers = Mapping[str, Any]
#: id of a launch -> error
Errors = dict[str, float]

#: metric -> the measured value from which a launch counts: what moves less than 10 MB stays in L2, and the launch itself moves some kB
LEAST = {
    **{f"dram__{name}.sum": 1e7 for name in ("bytes", "bytes_read", "bytes_write")},
    **{f"dram__sectors_{way}.sum": 1e7 / 32 for way in ("read", "write")},
}
#: metrics that are percentages of what is there: their error is a difference, in fractions of 1 (0.02 = 2 points)
IN_POINTS = (HIT_RATE, L1_HIT_RATE)
#: metrics that the two rates stand for: a few hits where there are next to none are no error of a hundred times
IN_RATES = (f"{L1_LOADS}_lookup_hit.sum", f"{TEX}_op_read_lookup_hit.sum")
#: metrics of the memory behind the SMs, which depend on what L2 held before
BEHIND = ("lts__", "dram__")


@dataclass(frozen=True, slots=True)
class Spread:
    """Errors of `cases` launches: mean size, signed mean, worst with its sign, and how many are exactly 0. None where nothing counts."""

    cases: int
    exact: int = 0
    mape: float | None = None
    signed_mean: float | None = None
    worst: float | None = None
    worst_id: str | None = None


@dataclass(frozen=True, slots=True)
class MetricError:
    """One metric. unit "relative": ours / measured - 1; "points": ours - measured, of 1. counted: launches measured at `least` or more;
    all: those below too. zeros: of the launches where the measured value is 0, those where ours is too, and how many there are."""

    name: str
    unit: str
    least: float
    counted: Spread
    all: Spread
    zeros: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """`cases, mape, signed_mean, worst, worst_id, exact`, and the rest beside them."""
        plain = {name: getattr(self.counted, name) for name in Spread.__slots__}
        beyond = {"all": {name: getattr(self.all, name) for name in Spread.__slots__}} if self.least else {}
        return plain | {"unit": self.unit, "least": self.least, "zeros": list(self.zeros)} | beyond


def compare_metrics(outcomes: Iterable[Outcome], profiles: Mapping[str, Numbers], *, behind: bool = True) -> dict[str, MetricError]:
    """Name -> errors, for every metric that some launch has on both sides. profiles: id of a case -> metrics of its launch.
    behind: False leaves out L2 and DRAM, for launches that began with another L2 than the profiler's."""
    pairs = [(o.id, o.counters, profiles[o.id]) for o in outcomes if o.counters and o.id in profiles]
    wanted = [m for m in METRICS.values() if m.name not in IN_RATES and (behind or not m.name.startswith(BEHIND))]
    found = [_errors(m, pairs) for m in wanted]
    return {e.name: e for e in found if e.all.cases or e.zeros[1]}


def _errors(metric: Metric, pairs: Sequence[tuple[str, Numbers, Numbers]]) -> MetricError:
    counted: Errors = {}
    everything: Errors = {}
    zeros: list[bool] = []
    least, points = LEAST.get(metric.name, 0.0), metric.name in IN_POINTS
    for name, counters, profile in pairs:
        ours, theirs = metric.ours(counters), metric.measured(profile)
        if ours is None or theirs is None or _only_launches(metric, profile):
            continue
        if not theirs and not points:
            zeros.append(not ours)
            continue
        everything[name] = (ours - theirs) / 100 if points else ours / theirs - 1
        if theirs >= least:
            counted[name] = everything[name]
    return MetricError(metric.name, "points" if points else "relative", least, _spread(counted), _spread(everything), (sum(zeros), len(zeros)))


def _only_launches(metric: Metric, profile: Numbers) -> bool:
    """Whether the SMs sent nothing to L2: what moves there then belongs to the launch, not to the kernel."""
    return metric.name.startswith(BEHIND) and not profile.get(f"{TEX}.sum", 1.0)


def _spread(errors: Errors) -> Spread:
    if not errors:
        return Spread(0)
    worst = max(errors, key=lambda name: abs(errors[name]))
    return Spread(len(errors), sum(e == 0 for e in errors.values()), fmean(map(abs, errors.values())), fmean(errors.values()), errors[worst], worst)


def rows_of(errors: Mapping[str, MetricError]) -> list[list[str]]:
    """The table, heading first. Where small launches do not count, a second row has all of them."""
    out = [["metric", "cases", "exact", "MAPE", "mean", "worst", "0 in both", "worst case"]]
    for e in errors.values():
        zeros = f"{e.zeros[0]} of {e.zeros[1]}" if e.zeros[1] else "-"
        out.append([e.name + (f" >= {e.least:g}" if e.least else ""), *_cells(e.counted, e.unit, zeros)])
        if e.least and e.all.cases != e.counted.cases:
            out.append([f"{e.name} (all)", *_cells(e.all, e.unit, zeros)])
    return out


def _cells(s: Spread, unit: str, zeros: str) -> list[str]:
    return [str(s.cases), str(s.exact), _part(s.mape, unit), _part(s.signed_mean, unit, "+"), _part(s.worst, unit, "+"), zeros, s.worst_id or "-"]


def _part(value: float | None, unit: str, sign: str = "") -> str:
    if value is None:
        return "-"
    return f"{value:{sign}.1%}" if unit == "relative" else f"{100 * value:{sign}.1f} pt"
