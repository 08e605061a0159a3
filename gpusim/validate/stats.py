"""Error statistics of a list of outcomes. Errors are fractions: simulated / measured - 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from gpusim.validate.outcome import Outcome

#: a case whose separate passes differ by more than this is noisy
NOISY = 0.10


@dataclass(frozen=True, slots=True)
class Statistics:
    """`cases` counted in the statistics, beside those that are not: `unsupported`, `short` and `excluded`. `noisy`: of the counted ones, those
    whose measurement repeats badly; they stay in. `median` and `p90` are of the absolute error, `worst` keeps its sign. None where nothing counts."""

    cases: int
    unsupported: int
    short: int
    noisy: int
    mape: float | None = None
    signed_mean: float | None = None
    median: float | None = None
    p90: float | None = None
    worst: float | None = None
    worst_id: str | None = None
    excluded: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The statistics as `--json` writes them; `excluded` only where there are such cases."""
        return {key: value for key, value in asdict(self).items() if key != "excluded" or value}


def statistics(outcomes: Iterable[Outcome]) -> Statistics:
    """The statistics of `outcomes`: those with status "ok" count."""
    outcomes = tuple(outcomes)
    counted = [o for o in outcomes if o.status == "ok"]
    unsupported, short, excluded = (sum(o.status == status for o in outcomes) for status in ("unsupported", "short", "excluded"))
    if not counted:
        return Statistics(0, unsupported, short, noisy=0, excluded=excluded)
    errors = np.array([o.error for o in counted], dtype=float)
    size = np.abs(errors)
    worst = int(size.argmax())
    return Statistics(
        len(counted),
        unsupported,
        short,
        noisy=sum(o.noise > NOISY for o in counted),
        mape=float(size.mean()),
        signed_mean=float(errors.mean()),
        median=float(np.median(size)),
        p90=float(np.percentile(size, 90)),
        worst=float(errors[worst]),
        worst_id=counted[worst].id,
        excluded=excluded,
    )


def by(key: Callable[[Outcome], str], outcomes: Sequence[Outcome]) -> dict[str, list[Outcome]]:
    """`outcomes` sorted into lists by `key`, in the order in which keys first appear."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        found[key(outcome)].append(outcome)
    return dict(found)
