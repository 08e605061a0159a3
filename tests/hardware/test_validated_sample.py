"""Error against the measured GPU, with the bars of the issue. The sample is fixed; `-m full` puts every measured case to the same bars."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gpusim.validate.outcome import Outcome
from gpusim.validate.stats import Statistics, statistics
from tests.hardware.choose import SAMPLE, SEED, choose

TRITON = ("triton_gemm", "triton_wave")

Outcomes = dict[str, Outcome]


def _statistics(outcomes: Outcomes, belongs: Callable[[Outcome], bool]) -> Statistics:
    found = statistics(o for o in outcomes.values() if belongs(o))
    assert found.cases, "nothing counts, so nothing is shown"
    return found


def test_the_sample_is_the_one_that_was_drawn() -> None:
    noted = json.loads(SAMPLE.read_text())
    assert noted == {"seed": SEED, "ids": choose()}
    assert len(noted["ids"]) == len(set(noted["ids"])) <= 60


def test_nothing_is_unsupported(outcomes: Outcomes) -> None:
    assert {o.id: o.reason for o in outcomes.values() if o.status == "unsupported"} == {}


def test_even_sizes(outcomes: Outcomes) -> None:
    found = _statistics(outcomes, lambda o: o.group in TRITON and o.family == "gemm_even")
    assert found.mape is not None and found.mape <= 0.04, found
    assert found.worst is not None and abs(found.worst) <= 0.12, found
    assert found.signed_mean is not None and abs(found.signed_mean) <= 0.02, found


def test_the_clock_inside_the_kernels(outcomes: Outcomes) -> None:
    clocks = {o.id: o.clock for o in outcomes.values() if o.clock is not None}
    assert len(clocks) == len(outcomes)
    errors = [simulated / measured - 1 for measured, simulated in clocks.values()]
    assert sum(map(abs, errors)) / len(errors) <= 0.025, dict(zip(clocks, errors, strict=True))


def test_a_tile_that_no_constant_was_found_with(outcomes: Outcomes) -> None:
    found = _statistics(outcomes, lambda o: o.group in TRITON and (o.params["BM"], o.params["BN"]) == (128, 256))
    assert found.mape is not None and found.mape <= 0.06, found


def test_masked_edges(outcomes: Outcomes) -> None:
    found = _statistics(outcomes, lambda o: o.group in TRITON and o.family == "gemm_masked")
    assert found.mape is not None and found.mape <= 0.08, found


@pytest.mark.parametrize("family", ["gemm_unaligned_sizes", "gemm_unaligned_pitch"])
def test_lost_alignment_within_a_factor(outcomes: Outcomes, family: str) -> None:
    members = [o for o in outcomes.values() if o.family == family]
    assert members
    off = {o.id: o.error for o in members if o.error is None or not 1 / 1.5 <= 1 + o.error <= 1.5}
    assert off == {}


def test_no_configuration_is_lost(outcomes: Outcomes) -> None:
    """Tuned configurations have no bar of accuracy here. This is a tripwire: a mechanism that breaks shows as a factor."""
    members = [o for o in outcomes.values() if o.group == "tune"]
    assert members
    assert {o.id: o.error for o in members if o.error is None or not 0.5 <= 1 + o.error <= 2} == {}
