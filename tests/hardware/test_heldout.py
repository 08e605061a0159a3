"""Launches drawn at random after the model was made: sizes, rasters and masks that no constant was found with."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from gpusim.kernels.gemm import gemm
from gpusim.launch.run import simulate
from gpusim.spec.load import load_spec
from gpusim.trace.run import Run
from gpusim.validate.mapping import DEFAULT_GPU

LAUNCHES = json.loads((Path(__file__).parent / "data" / "heldout.json").read_text())["launches"]
#: every third in the tests of every day
CHOSEN = range(0, len(LAUNCHES), 3)


@cache
def _run(index: int) -> Run:
    x = LAUNCHES[index]
    pitch = {"lda": x["k"], "ldb": x["n"], "ldc": x["n"]}
    program = gemm(x["m"], x["n"], x["k"], tile=x["tile"], warps=x["warps"], stages=x["stages"], group_m=x["group_m"], **pitch)
    return simulate(program, load_spec(DEFAULT_GPU), clock_mhz=1000 * x["sm_cycles"] / x["gpu_ns"])


def _errors(chosen: range, of: Any) -> list[float]:
    return [of(_run(i), LAUNCHES[i]) - 1 for i in chosen]


def test_there_are_sixty() -> None:
    assert len(LAUNCHES) == 60 and len(CHOSEN) == 20


@pytest.mark.parametrize("index", CHOSEN)
def test_requests_are_exact(index: int) -> None:
    counters = _run(index).counters
    assert counters["l1_load_sectors"] == LAUNCHES[index]["l1_load_sectors"]
    assert counters["l1_store_sectors"] == LAUNCHES[index]["l1_store_sectors"]


@pytest.mark.parametrize("chosen", [CHOSEN, pytest.param(range(len(LAUNCHES)), marks=pytest.mark.full)], ids=["third", "all"])
def test_cycles(chosen: range) -> None:
    errors = _errors(chosen, lambda run, x: run.cycles / x["sm_cycles"])
    assert mean(map(abs, errors)) <= 0.06 and max(map(abs, errors)) <= 0.15 and abs(mean(errors)) <= 0.04, errors


@pytest.mark.parametrize("chosen", [CHOSEN, pytest.param(range(len(LAUNCHES)), marks=pytest.mark.full)], ids=["third", "all"])
def test_sectors_that_l2_receives(chosen: range) -> None:
    errors = _errors(chosen, lambda run, x: (run.counters["l2_read_sectors"] + run.counters["l2_write_sectors"]) / x["l2_sectors"])
    assert mean(map(abs, errors)) <= 0.12 and abs(mean(errors)) <= 0.06, errors
