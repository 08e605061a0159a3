"""Simulated records against measured ones: errors of a record, statistics of a group.

A record that is a number has one error, simulated / measured - 1. One that is a list has several, and the mean of their sizes counts, with
the sign of their mean: of a curve the errors of its points; of values that a hidden hash of the address decides the errors of their mean,
10th and 90th percentile, because which address has which value cannot be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import copysign
from statistics import fmean
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.probe.plan import Value
from gpusim.probe.records import Record

#: records of which only the distribution can be compared -> why
HASHED: dict[str, str] = {
    "l2_hit_line_by_sm": "which slice of L2 holds a line",
    "l2_hit_mean_by_sm": "which SM id stands where on the chip",
}
DISTRIBUTION = ("mean", "p10", "p90")


@dataclass(frozen=True, slots=True)
class Compared:
    """`status`: "ok", "unsupported" or "excluded" (`reason` says why, `errors` is empty). errors: one or, of a list, several.
    points: the chosen points of a curve that is one list, as records of their own. seconds: how long the simulation took."""

    record: Record
    simulated: Value | None
    errors: tuple[float, ...]
    status: str
    reason: str = ""
    how: str = "value"
    points: tuple[Compared, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def error(self) -> float | None:
        """What counts; None if nothing was compared."""
        return copysign(fmean(abs(e) for e in self.errors), fmean(self.errors)) if self.errors else None

    def to_dict(self) -> dict[str, Any]:
        r = self.record
        head = {"id": r.id, "group": r.group, "name": r.name, "params": dict(r.params), "unit": r.unit, "measured": r.value, "status": self.status}
        simulated = fmean(self.simulated) if isinstance(self.simulated, list) else self.simulated
        told = {"simulated": simulated, "error": self.error, "compared": self.how, "seconds": round(self.seconds, 3)}
        return head | (told if self.errors else {"reason": self.reason})


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of a group or a name: records compared, those that nothing simulates, and the errors as fractions. `worst` keeps its sign."""

    records: int
    unsupported: int
    mape: float | None
    signed_mean: float | None
    worst: float | None
    worst_record: str | None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def compare(record: Record, simulated: Value) -> Compared:
    """The errors of a record whose value or list was simulated."""
    if record.name in HASHED and record.values is not None and isinstance(simulated, list):
        ours, theirs = _distribution(simulated), _distribution(record.values)
        return Compared(record, simulated, _ratios(ours, theirs, record), "ok", how=f"distribution ({', '.join(DISTRIBUTION)})")
    if isinstance(simulated, list) and record.values is not None:
        return Compared(record, simulated, _ratios(simulated, record.values, record), "ok", how=f"{len(simulated)} points")
    if record.value is None:
        raise GpusimError("the record has no value.", where=record.id)
    one = fmean(simulated) if isinstance(simulated, list) else simulated
    return Compared(record, one, _ratios([one], [record.value], record), "ok")


def joined(record: Record, points: Sequence[Compared]) -> Compared:
    """A curve that is one list, from its points."""
    values = [float(p.simulated) for p in points if isinstance(p.simulated, float | int)]
    errors = tuple(e for p in points for e in p.errors)
    return Compared(record, values, errors, "ok", how=f"{len(points)} of {len(record.values or points)} points", points=tuple(points))


def _distribution(values: Sequence[float]) -> list[float]:
    low, high = np.percentile(values, (10, 90))
    return [fmean(values), float(low), float(high)]


def _ratios(ours: Value, theirs: Sequence[float], record: Record) -> tuple[float, ...]:
    mine = ours if isinstance(ours, list) else [ours]
    if len(mine) != len(theirs):
        raise GpusimError(f"{len(mine)} values are simulated, {len(theirs)} were measured.", where=record.id)
    if any(value <= 0 for value in theirs):
        raise GpusimError(f"a measured value of {min(theirs):g} has no relative error.", where=record.id)
    return tuple(a / b - 1 for a, b in zip(mine, theirs, strict=True))


def statistics(compared: Iterable[Compared]) -> Statistics:
    """Of all that was compared; what is excluded counts nowhere."""
    rows = tuple(compared)
    counted = [(row, row.error) for row in rows if row.error is not None]
    unsupported = sum(row.status == "unsupported" for row in rows)
    if not counted:
        return Statistics(0, unsupported, None, None, None, None)
    errors = [error for _, error in counted]
    worst, error = max(counted, key=lambda found: abs(found[1]))
    return Statistics(len(counted), unsupported, fmean(abs(e) for e in errors), fmean(errors), error, f"{worst.record.group}/{worst.record.title}")


def to_dict(groups: Mapping[str, Sequence[Compared]]) -> dict[str, Any]:
    """What `--json` writes: `probes` by group; `names` by record name; what was excluded, with reasons; every record."""
    every = [row for rows in groups.values() for row in rows]
    return {
        "probes": {name: statistics(rows).to_dict() for name, rows in groups.items()},
        "names": {name: statistics(rows).to_dict() for name, rows in by_name(every).items()},
        "excluded": {name: reasons(rows, "excluded") for name, rows in groups.items()},
        "unsupported": {name: reasons(rows, "unsupported") for name, rows in groups.items()},
        "records": [row.to_dict() for row in every],
    }


def by_name(rows: Iterable[Compared]) -> dict[str, list[Compared]]:
    """Rows by group/name, in the order in which they first appear."""
    found: dict[str, list[Compared]] = {}
    for row in rows:
        found.setdefault(f"{row.record.group}/{row.record.name}", []).append(row)
    return found


def reasons(rows: Iterable[Compared], status: str) -> dict[str, int]:
    """Why rows of that status are not compared -> how many."""
    found: dict[str, int] = {}
    for row in rows:
        if row.status == status:
            found[row.reason] = found.get(row.reason, 0) + 1
    return found
