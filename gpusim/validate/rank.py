"""Does the model pick the right configuration? For every problem with enough measured configurations: the correlation of the two orders,
and what the user loses who takes the model's choice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import numpy as np

from gpusim.validate.outcome import Outcome
from gpusim.validate.stats import by

#: a problem counts if this many of its configurations were measured and simulated
ENOUGH = 5

#: measured costs that differ by no more than this are the same
TIE = 0.01


def rank(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """The `rank` entry of one group: per shape and in all. Short cases take part, unsupported ones cannot."""
    shapes: dict[str, dict[str, Any]] = {}
    for shape, members in by(lambda o: o.shape, [o for o in outcomes if o.simulated is not None]).items():
        if len(members) >= ENOUGH:
            measured, simulated = (np.array([getattr(o, key) for o in members], dtype=float) for key in ("measured", "simulated"))
            shapes[shape] = {"spearman": spearman(measured, simulated), "regret": regret(measured, simulated), "configurations": len(members)}
    orders = [s["spearman"] for s in shapes.values() if s["spearman"] is not None]
    regrets = [s["regret"] for s in shapes.values()]
    return {
        "shapes": shapes,
        "median_spearman": median(orders) if orders else None,
        "min_spearman": min(orders, default=None),
        "median_regret": median(regrets) if regrets else None,
        "max_regret": max(regrets, default=None),
    }


def spearman(measured: np.ndarray, simulated: np.ndarray) -> float | None:
    """Spearman's correlation, measured costs within 1 % tied; None if one side has no order at all."""
    a, b = ranks(measured, TIE), ranks(simulated)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def regret(measured: np.ndarray, simulated: np.ndarray) -> float:
    """Measured cost of the configuration with the least simulated cost, over the least measured cost, minus 1. Where the model cannot
    decide between several, the dearest of them counts."""
    picked = simulated == simulated.min()
    return float(measured[picked].max() / measured.min() - 1)


def ranks(costs: Sequence[float] | np.ndarray, tie: float = 0.0) -> np.ndarray:
    """Rank of each cost from 0 up; tied costs share the mean of their ranks. A tie reaches from the cheapest of its members to `tie` above it,
    so that a long row of near neighbours does not melt into one."""
    costs = np.asarray(costs, dtype=float)
    order = np.argsort(costs, kind="stable")
    found = np.empty(len(costs))
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and costs[order[stop]] <= costs[order[start]] * (1 + tie):
            stop += 1
        found[order[start:stop]] = (start + stop - 1) / 2
        start = stop
    return found
