"""The table of errors beside a prediction is that of the present model."""

from __future__ import annotations

import json

import pytest

from gpusim.kernels.gemm import gemm
from gpusim.launch.run import simulate
from gpusim.report.confidence import errors_of, kernel_class
from gpusim.report.report import Report
from gpusim.spec.load import load_spec
from gpusim.validate.mapping import DEFAULT_GPU
from tests.hardware.record import NOTED_EVERY, TABLE, measured, outcome

NOTED = json.loads(TABLE.read_text())["noted"]


def test_the_noted_cases_are_a_fixed_selection() -> None:
    assert list(NOTED) == [case.id for case in measured()][::NOTED_EVERY]


@pytest.mark.parametrize("name", NOTED)
def test_the_table_is_not_stale(name: str) -> None:
    """If this fails the model has changed: write the table again with `python -m tests.hardware.record`."""
    case = next(c for c in measured() if c.id == name)
    _, _, found = outcome(case)
    assert found.error == pytest.approx(NOTED[name], abs=2e-6)


def test_a_report_says_what_its_class_is_worth() -> None:
    spec = load_spec(DEFAULT_GPU)
    run = simulate(gemm(1024, 1024, 512, tile=(128, 256, 64), stages=3), spec)
    assert kernel_class(run) == "pipelined, one CTA per SM"
    errors = errors_of(run)
    assert errors is not None and errors.cases > 100 and 0 < errors.mape <= errors.p90 <= abs(errors.worst)
    assert f"{errors.cases} measured cases" in str(Report(run, spec))


def test_a_class_without_measurements_says_so() -> None:
    spec = load_spec("a100")
    run = simulate(gemm(512, 512, 256), spec)
    assert errors_of(run) is None
    assert "no measured kernels" in str(Report(run, spec))
