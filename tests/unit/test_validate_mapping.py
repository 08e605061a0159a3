"""From a measured case to a program: every measured GEMM maps, and what cannot be simulated says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusim.validate.cases import Case, read
from gpusim.validate.mapping import CHAINS, DEFAULT_GPU, KERNELS, Unsupported, map_case
from gpusim.validate.protocol import MEASURES, measure_of

CASES = {case.id: case for case in read(DEFAULT_GPU)}
GEMMS = [case for case in CASES.values() if case.kernel == "gemm_kernel"]
ONE = CASES["two_256x128x64_m2177_n2177_k2177"]


def test_a_case_becomes_its_program_and_its_protocol() -> None:
    mapped = map_case(ONE, MEASURES["cycles"])
    wanted = {"m": 2177, "n": 2177, "k": 2177, "tile": "256x128x64", "warps": 8, "stages": 3, "group_m": 8, "dtype": "bf16"}
    wanted |= {"lda": 2184, "ldb": 2184, "ldc": 2184}
    assert wanted.items() <= mapped.program.params.items()
    assert mapped.options == {"l2": "cold", "launch": "out", "clock_mhz": 1939, "leftover": 2.4e6}
    assert map_case(ONE, MEASURES["time"]).options == {"l2": "foreign-dirty", "launch": "in", "clock_mhz": "load", "leftover": 0.0}
    assert mapped.shape == "2177x2177x2177"


def test_every_measured_gemm_maps_with_the_grid_it_had() -> None:
    assert len(GEMMS) == 692
    assert all(map_case(case, MEASURES["cycles"]).program.ctas == case.params["ctas"] for case in GEMMS)


def test_everything_else_is_unsupported_with_the_name_of_its_kernel() -> None:
    others = [case for case in CASES.values() if case.kernel not in KERNELS and case.record.get("variant") not in CHAINS]
    assert len(others) < len(CASES) - len(GEMMS)
    for case in others:
        with pytest.raises(Unsupported, match="no program for kernel"):
            map_case(case, MEASURES["cycles"])


def test_registers_are_those_of_the_record_and_shared_memory_is_not_used() -> None:
    lied = replace(ONE, record={**ONE.record, "smem_bytes": 1, "spills": 0})
    assert map_case(lied, MEASURES["cycles"]) == map_case(ONE, MEASURES["cycles"])
    assert map_case(ONE, MEASURES["cycles"]).program.params["registers"] == ONE.record["regs"]
    unknown = replace(ONE, record={**ONE.record, "regs": None})
    assert "registers" not in map_case(unknown, MEASURES["cycles"]).program.params


def _changed(record: dict[str, Any] | None = None, **params: Any) -> Case:
    return replace(ONE, record={**ONE.record, **(record or {})}, params={**ONE.params, **params})


REFUSED = {
    "tile": (_changed(BM=None), "no positive integer 'BM'"),
    "text": (_changed(K="4096"), "no positive integer 'K'"),
    "negative": (_changed(M=-1), "no positive integer 'M'"),
    "layout": (_changed(layout="row,col"), "layout 'row,col'"),
    "dtype": (_changed(dtype="fp3"), "unknown dtype 'fp3'"),
    "odd tile": (_changed(BM=100, ctas=207), "not BMxBNxBK"),
    "pitch": (_changed(lda=2000), "less than the row length"),
    "ctas": (_changed(ctas=5), "the record says ctas = 5, its sizes give 162"),
    "even": (_changed(even=True), "the record says even = True"),
    "launches": (_changed({"launches": 3}), "several launches"),
    "value": (_changed({"sm_cycles": None}), "the case has no sm_cycles"),
    "clock": (_changed({"clock_mhz": None, "gpu_ns": None}), "no clock_mhz"),
    "point": (replace(ONE, kernel=""), "microbenchmark"),
}


@pytest.mark.parametrize("case, words", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_simulated_says_why(case: Case, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        map_case(case, MEASURES["cycles"])


def test_the_clock_is_the_quotient_where_it_is_not_given() -> None:
    case = _changed({"clock_mhz": None, "sm_cycles": 1800, "gpu_ns": 1000})
    assert map_case(case, MEASURES["cycles"]).options["clock_mhz"] == pytest.approx(1800)


def test_an_unknown_measure_names_the_known_ones() -> None:
    with pytest.raises(Exception, match="cycles, time"):
        measure_of("joules")


def test_row_kernels_map_with_their_block_and_warps_and_chains_launch_by_launch() -> None:
    rows = [case for case in CASES.values() if case.family in ("softmax_fused", "softmax_online", "norm", "elementwise") and case.group != "simt"]
    assert len(rows) == 89
    for case in rows:
        program = map_case(case, MEASURES["cycles"]).program
        assert program.warps == case.params["warps"] and program.params["block"] == case.params["block"]
    chain = map_case(CASES["sin2cos2_unfused_1048576"], MEASURES["cycles"])
    assert len((chain.program, *chain.then)) == 5
