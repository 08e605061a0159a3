"""Irregularity that is the same in every run."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.engine.noise import noise, tail

NUMBERS = range(20_000)


@given(st.integers(0, 2**70))
def test_noise_lies_in_its_range(number: int) -> None:
    assert 0.0 <= noise(number) < 1.0
    assert 0.0 <= tail(number) < 25.0


def test_noise_is_evenly_spread() -> None:
    values = [noise(i) for i in NUMBERS]
    assert sum(values) / len(values) == pytest.approx(0.5, abs=0.01)
    bins = [sum(b <= 10 * v < b + 1 for v in values) for b in range(10)]
    assert min(bins) > 0.9 * len(values) / 10
    assert max(bins) < 1.1 * len(values) / 10


def test_neighbours_have_nothing_to_do_with_each_other() -> None:
    pairs = [(noise(i) - 0.5, noise(i + 1) - 0.5) for i in NUMBERS]
    assert abs(sum(a * b for a, b in pairs) / len(pairs)) < 0.02 / 12


def test_the_tail_is_exponential_with_mean_one() -> None:
    values = [tail(i) for i in NUMBERS]
    assert sum(values) / len(values) == pytest.approx(1.0, abs=0.02)
    for x in (0.5, 1.0, 3.0):
        assert sum(v > x for v in values) / len(values) == pytest.approx(exp(-x), abs=0.01)


def test_noise_is_the_same_for_ever() -> None:
    """Digests rest on it, so the first values are written down."""
    assert [round(noise(i), 6) for i in range(4)] == [0.789072, 0.422642, 0.916768, 0.592725]
