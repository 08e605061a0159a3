"""Simulating a part and restoring the rest, against simulating every block and step."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gpusim.report.formulas import l2_hit_rate, stall_shares
from gpusim.trace.run import Run
from tests.laws.cases import SHORTENED, Case
from tests.laws.closed import Gemm

#: what the issue asks for: all of it is simulated in either way, so nothing may differ
WHOLE = {
    "2048^3": Case("h200", Gemm(2048, 2048, 2048, (128, 128, 64), "bf16", "padded")),
    "four waves": Case("h200", Gemm(4096, 4096, 2048, (256, 128, 64), "bf16", "padded")),
}
#: long loops of one wave: what is left out is as steady as it gets
STEADY = {
    "h200": Case("h200", Gemm(2048, 2048, 8192, (256, 128, 64), "bf16", "padded")),
    "a100": Case("a100", Gemm(3072, 1152, 8192, (256, 128, 32), "fp16", "padded")),
    "v100": Case("v100", Gemm(1024, 1280, 8192, (128, 128, 32), "fp16", "padded")),
}
ALL = WHOLE | STEADY | SHORTENED
#: follow from the program, whatever is simulated
REQUESTS = ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "l2_write_sectors", "shared_wavefronts")


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_instructions_and_requests_are_equal(case: Case) -> None:
    fast, exact = case.standard().counters, case.standard(exact=True).counters
    assert exact.keys() == fast.keys()
    assert {name: fast[name] for name in REQUESTS} == {name: exact[name] for name in REQUESTS}


@pytest.mark.parametrize("case", WHOLE.values(), ids=WHOLE)
def test_where_nothing_is_left_out_nothing_differs(case: Case) -> None:
    fast, exact = case.standard(), case.standard(exact=True)
    assert fast.extrapolated == ""
    assert replace(fast, digest=exact.digest) == exact


@pytest.mark.parametrize("case", STEADY.values(), ids=STEADY)
def test_a_steady_loop_is_restored(case: Case) -> None:
    """Time within 1 %, DRAM and what the near half misses within 2 %. (How many requests of a GPC merge changes as blocks drift: 20 %.)"""
    fast, exact = case.standard(), case.standard(exact=True)
    assert "loop steps simulated" in fast.extrapolated and exact.extrapolated == ""
    assert fast.cycles == pytest.approx(exact.cycles, rel=0.01)
    for name in ("dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes"):
        assert fast.counters[name] == pytest.approx(exact.counters[name], rel=0.02), name
    assert _missed(fast) == pytest.approx(_missed(exact), rel=0.02)
    assert fast.counters["l2_read_sectors"] == pytest.approx(exact.counters["l2_read_sectors"], rel=0.2)


def test_the_traffic_of_a_partial_wave_is_that_of_the_sms_it_is_dealt_to() -> None:
    """98 blocks on 108 SMs: which half of the L2 a block looks in depends on its SM."""
    case = Case("a100", Gemm(1792, 1792, 8192, (256, 128, 32), "fp16", "padded"))
    fast, exact = case.standard(), case.standard(exact=True)
    assert fast.extrapolated
    assert fast.counters["fabric_sectors"] == pytest.approx(exact.counters["fabric_sectors"], rel=0.01)


def _missed(run: Run) -> int:
    """Sectors that the near half did not have."""
    return run.counters["l2_read_sectors"] + run.counters["l2_write_sectors"] - run.counters["l2_hit_sectors"]


def _residual(case: Case) -> float:
    found = re.search(r"residual ([\d.]+)%", case.standard().extrapolated)
    return float(found[1]) / 100 if found else 0.0


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_the_time_of_several_waves_is_as_good_as_the_report_says(case: Case) -> None:
    """Within 1 % and the printed residual, and never off by more than 5 %."""
    fast, exact = case.standard(), case.standard(exact=True)
    assert fast.extrapolated and exact.extrapolated == ""
    assert fast.cycles == pytest.approx(exact.cycles, rel=min(0.05, 0.01 + _residual(case)))


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_the_traffic_of_several_waves_is_close(case: Case) -> None:
    """Later blocks land on other SMs and at other times than the pass over the traffic assumes: 10 % of DRAM bytes, 8 points of the hit rate."""
    fast, exact = case.standard(), case.standard(exact=True)
    moved = exact.counters["dram_read_bytes"] + exact.counters["dram_write_bytes"]
    assert l2_hit_rate(fast) == pytest.approx(l2_hit_rate(exact), abs=0.08)
    for name in ("dram_read_bytes", "dram_write_bytes"):
        assert fast.counters[name] == pytest.approx(exact.counters[name], abs=0.1 * moved), name


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_the_warps_wait_for_the_same(case: Case) -> None:
    fast, exact = stall_shares(case.standard()), stall_shares(case.standard(exact=True))
    for reason in fast.keys() | exact.keys():
        assert fast.get(reason, 0.0) == pytest.approx(exact.get(reason, 0.0), abs=0.03), reason


@pytest.mark.parametrize("case", [STEADY["h200"], SHORTENED["waves"]], ids=["steps", "waves"])
def test_the_report_says_what_was_left_out(case: Case) -> None:
    said = case.standard().extrapolated
    down, across, steps = case.product.grid
    if case in STEADY.values():
        assert f"of {steps} loop steps simulated" in said and "residual" in said
    else:
        assert f"of {down * across} CTAs simulated" in said and "steady waves repeated" in said
