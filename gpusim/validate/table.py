"""A validation as text: what was compared and how, one line a group and a family, why cases are missing, the worst ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpusim.validate import clocks, metrics, pairs
from gpusim.validate.clocks import ClockError
from gpusim.validate.metrics import MetricError
from gpusim.validate.outcome import Outcome
from gpusim.validate.pairs import PairStatistics
from gpusim.validate.simt.counters import CounterError, rows_of
from gpusim.validate.stats import Statistics

#: heading -> field of Statistics; how it is written follows from its type
COLUMNS = {
    "counted": "cases",
    "unsupported": "unsupported",
    "excluded": "excluded",
    "short": "short",
    "noisy": "noisy",
    "MAPE": "mape",
    "mean": "signed_mean",
    "median": "median",
    "p90": "p90",
    "worst": "worst",
    "worst case": "worst_id",
}
SIGNED = ("signed_mean", "worst")

#: reasons that are spelled out; the rest is counted
REASONS = 12


def statistics_table(title: str, rows: dict[str, Statistics]) -> str:
    """One line for each of `rows`."""
    return _aligned([[title, *COLUMNS], *([name, *(_cell(field, getattr(s, field)) for field in COLUMNS.values())] for name, s in rows.items())])


def rank_table(ranks: dict[str, dict[str, Any]]) -> str:
    """One line a shape and two a group, for the groups that have a shape with enough configurations."""
    rows = [["rank", "configurations", "Spearman", "regret"]]
    for group, found in ranks.items():
        if found["shapes"]:
            rows += [[f"{group} {shape}", str(s["configurations"]), _ratio(s["spearman"]), _percent(s["regret"])] for shape, s in found["shapes"].items()]
            rows.append([f"{group}: median", "", _ratio(found["median_spearman"]), _percent(found["median_regret"])])
            rows.append([f"{group}: worst", "", _ratio(found["min_spearman"]), _percent(found["max_regret"])])
    return _aligned(rows) if len(rows) > 1 else "rank: no shape has enough configurations"


def counter_table(errors: Sequence[CounterError]) -> str:
    """One line a counter: launches where it is not 0, how many agree exactly, and the errors."""
    return _aligned(rows_of(errors))


def metric_table(errors: Mapping[str, MetricError]) -> str:
    """One line for each of the profiler's metrics."""
    return _aligned(metrics.rows_of(errors))


def clock_table(errors: Mapping[str, ClockError]) -> str:
    """One line a family: how well the model knows the clock inside a launch."""
    return _aligned(clocks.rows_of(errors))


def pair_table(found: Mapping[str, PairStatistics]) -> str:
    """One line a family, and the pairs that are in the wrong order or whose ratio is off."""
    tables = [pairs.rows_of(found)] + ([wrong] if len(wrong := pairs.wrong_rows(found)) > 1 else [])
    return "\n\n".join(_aligned(rows) for rows in tables)


def reasons(outcomes: Sequence[Outcome]) -> str:
    """Why cases are unsupported or excluded, the most frequent reason first; "" if none is."""
    return "\n".join(part for status in ("unsupported", "excluded") if (part := _because(status, outcomes)))


def _because(status: str, outcomes: Iterable[Outcome]) -> str:
    counts = Counter(o.reason for o in outcomes if o.status == status)
    lines = [f"  {count:5d}  {reason}" for reason, count in counts.most_common(REASONS)]
    rest = counts.total() - sum(count for _, count in counts.most_common(REASONS))
    if rest:
        lines.append(f"  {rest:5d}  for {len(counts) - REASONS} other reasons (--json lists each case)")
    return "\n".join([f"{status}:", *lines]) if lines else ""


def worst_table(outcomes: Iterable[Outcome], count: int) -> str:
    """The `count` counted cases with the largest error, with their parameters."""
    counted = sorted((o for o in outcomes if o.status == "ok"), key=lambda o: -abs(o.error or 0.0))[:count]
    rows = [["worst", "measured", "simulated", "error", "parameters"]]
    for o in counted:
        numbers = [f"{o.measured:,.0f} {o.unit}", f"{o.simulated:,.0f} {o.unit}", _percent(o.error, signed=True)]
        rows.append([o.id, *numbers, " ".join(f"{key}={value}" for key, value in o.params.items())])
    return _aligned(rows)


def _cell(field: str, value: object) -> str:
    if isinstance(value, float):
        return _percent(value, signed=field in SIGNED)
    return "-" if value is None else str(value)


def _percent(value: float | None, signed: bool = False) -> str:
    return "-" if value is None else f"{value:{'+' if signed else ''}.1%}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text: the first and the last flush left, numbers between them flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    last = len(widths) - 1
    lines = (["{:{}{}}".format(cell, "<" if i in (0, last) else ">", widths[i]) for i, cell in enumerate(row)] for row in rows)
    return "\n".join("  ".join(line).rstrip() for line in lines)
