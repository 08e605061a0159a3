"""Counters against a profile by the profiler's names: what counts, what is left out, how errors are written."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.spec.load import load_spec
from gpusim.trace.nsight import HIT_RATE, L1_HIT_RATE, TEX
from gpusim.validate.cases import Case
from gpusim.validate.metrics import compare_metrics, rows_of
from gpusim.validate.outcome import Outcome
from gpusim.validate.profiled import elapsed, launches, profiled, with_times

READ, FABRIC = "dram__bytes_read.sum", "lts__t_sectors_srcunit_ltcfabric.sum"


def _outcome(name: str, **counters: float) -> Outcome:
    return Outcome(name, "g", "f", 1.0, 1.0, "cycles", 0.0, "ok", None, counters=counters)


def _case(**record: Any) -> Case:
    return Case("c", "g", "f", "k", {}, record)


def test_launches_that_move_little_are_shown_and_do_not_count() -> None:
    outcomes = [_outcome("large", dram_read_bytes=9e7), _outcome("small", dram_read_bytes=2e6), _outcome("tiny", dram_read_bytes=0.0)]
    found = compare_metrics(outcomes, {"large": {READ: 1e8}, "small": {READ: 1e6}, "tiny": {READ: 0.0}})[READ]
    assert (found.counted.cases, found.counted.worst_id, found.all.cases, found.zeros) == (1, "large", 2, (1, 1))
    assert found.counted.mape == pytest.approx(0.1) and found.counted.signed_mean == pytest.approx(-0.1)
    assert found.all.worst == pytest.approx(1.0) and found.all.worst_id == "small"
    told = found.to_dict()
    assert {"cases", "mape", "signed_mean", "worst", "worst_id"} <= set(told) and told["all"]["cases"] == 2
    assert [row[0] for row in rows_of({READ: found})] == ["metric", f"{READ} >= 1e+07", f"{READ} (all)"]


def test_hit_rates_differ_by_points() -> None:
    profile = {f"{TEX}.sum": 40.0, f"{TEX}_lookup_hit.sum": 30.0, f"{TEX}_lookup_miss.sum": 10.0}
    counters = {"l2_read_sectors": 40, "l2_write_sectors": 0, "l2_hit_sectors": 28}
    found = compare_metrics([_outcome("a", **counters)], {"a": profile})[HIT_RATE]
    assert found.unit == "points" and found.counted.worst == pytest.approx(-0.05)
    assert "-5.0 pt" in rows_of({HIT_RATE: found})[1]


def test_a_launch_whose_sms_ask_nothing_of_l2_says_nothing_about_the_kernel() -> None:
    found = compare_metrics([_outcome("empty", fabric_sectors=0.0), _outcome("full", fabric_sectors=50.0)], {
        "empty": {FABRIC: 96.0, f"{TEX}.sum": 0.0},
        "full": {FABRIC: 50.0, f"{TEX}.sum": 100.0},
    })  # fmt: skip
    assert (found[FABRIC].counted.cases, found[FABRIC].counted.exact) == (1, 1)


def test_what_depends_on_l2_is_left_out_where_l2_was_another() -> None:
    args = [_outcome("a", instructions=5.0, dram_read_bytes=2e7)], {"a": {READ: 2e7, "smsp__inst_executed.sum": 5.0}}
    assert set(compare_metrics(*args)) == {READ, "smsp__inst_executed.sum"}
    assert set(compare_metrics(*args, behind=False)) == {"smsp__inst_executed.sum"}


def test_a_missing_side_is_no_error_of_the_other() -> None:
    assert compare_metrics([_outcome("a", dram_read_bytes=1.0), _outcome("b")], {"a": {}, "b": {READ: 1.0}}) == {}


def test_times_of_one_profiled_launch_become_those_of_the_case() -> None:
    spec = load_spec("h200")
    launch = {"sm__cycles_elapsed.max": 5000.0, "gpu__time_duration.sum": 2500.0}
    case = with_times(_case(launches=[launch]), spec)
    assert (case.number("sm_cycles"), case.number("gpu_ns")) == (5000, 2500)
    assert case.number("clock_mhz") == pytest.approx(spec.clocks.boost / 1e6), "no clock is faster than the boost clock"
    own = _case(launches=[launch], sm_cycles=7.0)
    assert with_times(own, spec) is own
    several = _case(launches=[launch, launch])
    assert with_times(several, spec) is several and profiled(several) is None and len(launches(several)) == 2
    assert launches(_case(launches=3)) == [] and elapsed({}) is None


def test_a_few_hits_where_there_are_next_to_none_are_a_difference_of_rates() -> None:
    hits = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
    profile = {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1000.0, hits: 1.0}
    found = compare_metrics([_outcome("a", l1_load_sectors=1000, l1_hit_sectors=21)], {"a": profile})
    assert hits not in found
    assert found[L1_HIT_RATE].counted.worst == pytest.approx(0.02)
