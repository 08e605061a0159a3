"""Staircases: the same tiles, ever more of them. Cost stays flat inside a wave and jumps where a wave is added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from gpusim.validate.cases import Case

Step = TypeVar("Step")

#: neighbours whose costs differ by more than this are a jump: even the fourth wave adds a third, and inside a wave cost is flat
JUMP = 1.15


def staircases(cases: Iterable[Case]) -> list[list[Case]]:
    """The measured staircases, each in the order of its CTAs."""
    stairs: dict[tuple[int, ...], list[Case]] = {}
    for case in cases:
        if case.id.startswith("tw_"):
            stairs.setdefault(tuple(case.params[key] for key in ("BM", "BN", "BK", "N", "K", "stages")), []).append(case)
    return [sorted(stair, key=lambda c: c.params["ctas"]) for stair in stairs.values()]


def jumps(steps: Sequence[Step], cost: Callable[[Step], float], jump: float = JUMP) -> list[tuple[Step, Step]]:
    """The neighbours between which the cost jumps up."""
    return [(a, b) for a, b in pairwise(steps) if cost(b) > jump * cost(a)]


def edges(stair: Sequence[Case]) -> list[Case]:
    """The cases on both sides of every measured jump of a staircase."""
    sides = {case.id for pair in jumps(stair, cycles) for case in pair}
    return [case for case in stair if case.id in sides]


def cycles(case: Case) -> float:
    """Measured SM cycles."""
    found = case.number("sm_cycles")
    assert found is not None, f"{case.id} has no cycles"
    return found
