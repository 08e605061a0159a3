"""Simulated outcomes of measured cases: the sample that every test run takes, and (`-m full`) all of them."""

from __future__ import annotations

import json

import pytest

from gpusim.spec.load import load_spec
from gpusim.validate.cases import read
from gpusim.validate.evaluate import evaluate_all
from gpusim.validate.mapping import DEFAULT_GPU, has_program
from gpusim.validate.outcome import Outcome
from gpusim.validate.protocol import MEASURES
from tests.hardware.choose import SAMPLE

#: cases shorter than this do not count: counter and timer are coarse there
MIN_US = 10.0


@pytest.fixture(scope="session", params=["sample", pytest.param("all", marks=pytest.mark.full)])
def outcomes(request: pytest.FixtureRequest) -> dict[str, Outcome]:
    """Id -> outcome under the protocol of cycles."""
    cases = [case for case in read(DEFAULT_GPU) if has_program(case)]
    if request.param == "sample":
        wanted = set(json.loads(SAMPLE.read_text())["ids"])
        cases = [case for case in cases if case.id in wanted]
    return {o.id: o for o in evaluate_all(cases, load_spec(DEFAULT_GPU), MEASURES["cycles"], MIN_US)}
