"""Traffic against counters: sectors that L2 received from the SMs and bytes that DRAM read, launch by launch.

Protocol of the counters: caches flushed before the launch, so simulated cold, at the clock that was measured for the case.
"""

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
from gpusim.validate.cases import Case, read, shipped_bytes
from gpusim.validate.mapping import DEFAULT_GPU, map_case
from gpusim.validate.protocol import MEASURES

#: what moves less is not compared; what moves more must agree as well as this (two runs of one measured case differ by up to 8 %)
LEAST_BYTES, TOLERANCE = 10_000_000, 0.08
GROUPS = ("triton_gemm", "triton_wave")
REQUESTED, STORED = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
RECEIVED, READ = "lts__t_sectors_srcunit_tex.sum", "dram__bytes_read.sum"
MERGING = json.loads((Path(__file__).parent / "data" / "merging.json").read_text())["launches"]


def _profiled() -> dict[str, dict[str, float]]:
    cases = json.loads(shipped_bytes(DEFAULT_GPU, "counters.json"))["cases"]
    return {c["id"]: c["launches"][0] for c in cases if c["group"] in GROUPS and c["kernel"] == "gemm_kernel"}


@cache
def _cases() -> dict[str, Case]:
    return {case.id: case for case in read(DEFAULT_GPU) if case.group in GROUPS}


@cache
def _run(name: str) -> Run:
    mapped = map_case(_cases()[name], MEASURES["cycles"])
    return simulate(mapped.program, load_spec(DEFAULT_GPU), **mapped.options)


def test_eight_launches_were_profiled() -> None:
    assert len(_profiled()) == 8


@pytest.mark.parametrize("name", sorted(_profiled()))
def test_requests_are_those_of_the_hardware(name: str) -> None:
    measured, ours = _profiled()[name], _run(name).counters
    assert ours["l1_load_sectors"] == measured[REQUESTED]
    assert ours["l1_store_sectors"] == measured[STORED]


@pytest.mark.parametrize("name", sorted(_profiled()))
def test_l2_receives_what_it_received(name: str) -> None:
    measured, ours = _profiled()[name], _run(name).counters
    if measured[RECEIVED] * 32 > LEAST_BYTES:
        assert ours["l2_read_sectors"] + ours["l2_write_sectors"] == pytest.approx(measured[RECEIVED], rel=TOLERANCE)


@pytest.mark.parametrize("name", sorted(_profiled()))
def test_dram_reads_what_it_read(name: str) -> None:
    measured, ours = _profiled()[name], _run(name).counters
    if measured[READ] > LEAST_BYTES:
        assert ours["dram_read_bytes"] == pytest.approx(measured[READ], rel=TOLERANCE)


def test_merging_over_the_launches_it_was_fitted_on() -> None:
    """Signed mean and mean absolute error of the sectors L2 receives over the drift series (fitted), short ones of it here."""
    launches = [x for x in MERGING if x["series"] == "drift" and x["ctas"] * x["k"] <= 128 * 4096]
    errors = [_received(x) / x["l2_sectors"] - 1 for x in launches]
    assert len(errors) == 17
    assert abs(mean(errors)) <= 0.04 and mean(map(abs, errors)) <= TOLERANCE


def _received(x: dict[str, Any]) -> int:
    program = gemm(x["m"], x["n"], x["k"], tile=x["tile"], warps=x["warps"], stages=x["stages"], group_m=x["group_m"])
    counters = simulate(program, load_spec(DEFAULT_GPU), clock_mhz=1000 * x["sm_cycles"] / x["gpu_ns"]).counters
    return counters["l2_read_sectors"] + counters["l2_write_sectors"]
