"""Errors of the clock that the model gives a launch under its own load, against the one inside the measured launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpusim.launch.clock import LOAD, held_by
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run
from gpusim.validate.outcome import Outcome


@dataclass(frozen=True, slots=True)
class ClockError:
    """Of a family's launches, short ones among them: errors are simulated / measured - 1, `worst` keeps its sign."""

    cases: int
    mape: float
    signed_mean: float
    worst: float
    worst_id: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def mhz_of(run: Run, spec: GpuSpec) -> float | None:
    """The clock under the run's own load: that of the run, if it was found so, else what its load gives at the run's cycles. None where the
    specification says nothing of power."""
    if run.load is None:
        return None
    return run.protocol.clock_mhz if run.protocol.clock == LOAD else held_by(run, spec, LOAD).mhz


def both(measured: float | None, simulated: float | None) -> tuple[float, float] | None:
    """(measured, simulated); None where one of them is unknown."""
    return None if measured is None or simulated is None else (measured, simulated)


def clock_errors(outcomes: Sequence[Outcome]) -> dict[str, ClockError]:
    """Family -> errors, for those with launches whose clock was measured and simulated; "all" behind them."""
    known = [o for o in outcomes if o.clock is not None]
    families = {o.family: [p for p in known if p.family == o.family] for o in known}
    groups = families | ({"all": known} if len(families) > 1 else {})
    return {family: _error(members) for family, members in groups.items()}


def _error(members: Sequence[Outcome]) -> ClockError:
    errors = [(simulated / measured - 1, o.id) for o in members if o.clock is not None for measured, simulated in (o.clock,)]
    worst, worst_id = max(errors, key=lambda e: abs(e[0]))
    number = len(errors)
    return ClockError(number, sum(abs(e) for e, _ in errors) / number, sum(e for e, _ in errors) / number, worst, worst_id)


def rows_of(errors: Mapping[str, ClockError]) -> list[list[str]]:
    """Rows of text, the heading first."""
    rows = [["clock", "launches", "MAPE", "mean", "worst", "worst case"]]
    for family, e in errors.items():
        rows.append([family, str(e.cases), f"{e.mape:.1%}", f"{e.signed_mean:+.1%}", f"{e.worst:+.1%}", e.worst_id])
    return rows
