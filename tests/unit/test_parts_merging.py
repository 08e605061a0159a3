"""Merging of requests in a GPC: limits, and the shape of the law between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.merging import Merging

M = Merging(requests=4, window=50.0, together=0.9, steps=15.0)


def test_nobody_to_share_with() -> None:
    assert M.received(np.array([1]), 2000.0, 1.0) == pytest.approx(1)
    assert M.received(np.array([1]), 2000.0, 0.0) == pytest.approx(1)


def test_in_step_nine_in_ten_of_the_possible_merge() -> None:
    assert M.received(np.array([4, 8, 5]), 2000.0, 1.0) == pytest.approx([4 - 0.9 * 3, 8 - 0.9 * 6, 5 - 0.9 * 3])


def test_apart_a_follower_must_come_within_the_window() -> None:
    assert M.received(np.array([2]), 1000.0, 0.0) == pytest.approx(2 / 1.05)
    assert M.received(np.array([2]), 1e9, 0.0) == pytest.approx(2)
    assert M.received(np.array([16]), 50.0, 0.0) == pytest.approx(4), "never more than four share one"


def test_a_device_that_merges_nothing() -> None:
    none = replace(M, requests=1)
    assert none.received(np.array([1, 7]), 100.0, 1.0) == pytest.approx([1, 7])
    assert none.received(np.array([1, 7]), 100.0, 0.0) == pytest.approx([1, 7])


def test_ctas_alone_on_their_sms_stay_together() -> None:
    assert M.in_step(1000, 1) == 1.0
    assert M.in_step(0, 8) == 1.0
    drift = [M.in_step(steps, 2) for steps in (1, 16, 64, 256)]
    assert drift == sorted(drift, reverse=True) and drift[0] > 0.95 and drift[-1] < 0.1


@given(st.integers(1, 64), st.floats(1, 1e6), st.floats(0, 1), st.integers(1, 8))
def test_between_a_quarter_and_all(sharers: int, step: float, in_step: float, requests: int) -> None:
    got = float(replace(M, requests=requests).received(np.array([sharers]), step, in_step)[0])
    assert -(-sharers // requests) - 1e-9 <= got <= sharers + 1e-9


@given(st.integers(1, 63), st.floats(1, 1e6), st.floats(0, 1))
def test_more_sharers_never_need_fewer_requests(sharers: int, step: float, in_step: float) -> None:
    fewer, more = M.received(np.array([sharers, sharers + 1]), step, in_step)
    assert fewer <= more + 1e-9
