"""From measured SIMT cases and microbenchmarks to launches and probes, and counters against a profiler's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt import LIBRARY
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.plan import Excluded
from gpusim.probe.registry import group
from gpusim.spec.load import load_spec
from gpusim.validate import cases as measured
from gpusim.validate.cases import Case
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.outcome import Outcome
from gpusim.validate.protocol import MEASURES
from gpusim.validate.simt import data
from gpusim.validate.simt import evaluate as evaluating
from gpusim.validate.simt.counters import compare, metrics
from gpusim.validate.simt.evaluate import fitting, is_ours
from gpusim.validate.simt.expand import expand
from gpusim.validate.simt.launches import launch_of, profiled
from gpusim.validate.simt.micro import GROUPS, plan_of
from gpusim.validate.simt.plan import Facts


def _read(file: str) -> tuple[Case, ...]:
    return measured._parse(f"{file}.json", measured.shipped_bytes(DEFAULT_GPU, f"{file}.json"))


SIMT = {case.id: case for case in _read("simt")}
MICRO = expand(_read("micro"))
PROFILED = [case for case in _read("counters") if case.group == "simt"]


def _case(kernel: str, record: dict[str, Any] | None = None, **params: Any) -> Case:
    return Case("made", "simt", "made", kernel, params, record or {})


def test_every_measured_case_is_a_launch_of_the_library() -> None:
    small = [case for case in SIMT.values() if case.params.get("n", 0) <= 2**20 and case.params.get("rows", 0) <= 2**16]
    assert all(is_ours(case) for case in [*SIMT.values(), *PROFILED])
    for case in small:
        launch = launch_of(case)
        assert list(launch.geometry.grid) == case.record["grid"], case.id
        assert list(launch.geometry.block) == case.record["block"], case.id
        assert launch.registers == case.record["regs"]


@pytest.mark.parametrize("case", PROFILED, ids=lambda case: case.id)
def test_a_profiled_launch_has_the_geometry_that_the_library_would_choose(case: Case) -> None:
    if "collatz" in case.kernel or "lane_trip" in case.kernel or case.params.get("n", 0) > 2**22 or case.params.get("rows", 0) > 2**16:
        return
    launch = launch_of(case)
    own = launch_of(replace(case, record={}))
    assert launch.geometry == own.geometry
    assert own.registers is None


def test_templates_take_their_constants_from_the_name() -> None:
    params = {"M": 512, "N": 384, "K": 100, "BM": 256, "BN": 128, "stages": 3}
    launch = launch_of(_case("hgemm_mma<256,128,64,64,3>", **params))
    assert launch.geometry == Geometry((6, 1, 1), (256, 1, 1), 3 * 384 * 64)
    assert launch.args[3:] == (512, 384, 100, 104, 104, 384, 3)
    assert launch_of(_case("flash_fwd<1>", bh=2, seq=256, causal=1)).geometry == Geometry((4, 2, 1), (128, 1, 1), 40960)
    assert launch_of(_case("transpose_tiled_nopad", n=64)).geometry == Geometry((2, 2, 1), (32, 8, 1), 0)


def test_a_launch_of_a_part_of_the_tiles_takes_its_grid_from_the_record() -> None:
    assert launch_of(SIMT["hgemm_stair_l2_96"]).geometry.grid == (96, 1, 1)


def test_only_what_decides_branches_or_addresses_is_an_array() -> None:
    costly = launch_of(_case("relu_costly", n=1000, pattern=1, iters=64))
    assert isinstance(costly.args[0], np.ndarray) and costly.args[1] == ArraySpec((1000,), "float32")
    add = launch_of(_case("vector_add_1", n=2**26))
    assert add.args[:3] == (ArraySpec((2**26,), "float32"),) * 3


@pytest.mark.parametrize(
    "case, words", ((_case("nobody", n=1), "no kernel 'nobody'"), (_case("vector_add_1"), "lack 'n'"), (_case("lane_trip", n=4, T=8, pattern=9), "pattern 9"))
)
def test_what_is_no_launch_says_why(case: Case, words: str) -> None:
    with pytest.raises(GpusimError, match=words):
        launch_of(case)


def test_hashes_are_those_of_the_measured_program() -> None:
    """By hand, with Python's integers."""
    mask = 0xFFFFFFFF

    def h32(x: int) -> int:
        x ^= x >> 16
        x = x * 0x7FEB352D & mask
        x ^= x >> 15
        x = x * 0x846CA68B & mask
        return x ^ x >> 16

    assert [int(v) for v in data.hash32(np.arange(5))] == [h32(i) for i in range(5)]
    assert [int(v) for v in data.hash2(np.arange(5), 18)] == [h32(i + h32((18 * 0x9E3779B9 + 0x1234567) & mask) & mask) for i in range(5)]


@pytest.mark.parametrize("case", [c for c in SIMT.values() if c.kernel.startswith("spmv")], ids=lambda c: c.id)
def test_a_sparse_matrix_has_as_many_elements_as_the_measured_one(case: Case) -> None:
    assert data.spmv_ptr(case.params["rows"], case.params["pattern"])[-1] == case.params["nnz"]


def test_patterns_of_signs_trips_and_bins() -> None:
    x = [data.relu({"n": 64, "pattern": p})["x"] < 0 for p in range(5)]
    assert [int(s.sum()) for s in x] == [0, 32, int(x[2].sum()), 32, 2] and 16 < x[2].sum() < 48
    assert x[3][32:].all() and x[4][5] and x[4][37]
    trips = [data.trips({"n": 256, "pattern": p, "T": 256})["trip"] for p in range(5)]
    assert [int(t.max()) for t in trips] == [256, 256, 256, int(trips[3].max()), 256]
    assert trips[1][1] == 16 and trips[2][0] == 8 and trips[4][0] == 32
    bins = [data.histogram({"n": 4096, "data": d})["items"] for d in range(4)]
    assert (bins[2] == 77).all() and len(set(bins[3][:32].tolist())) == 32
    assert abs((bins[1] == 0).mean() - 0.5) < 0.03 and abs((bins[1] == 1).mean() - 0.25) < 0.03


def test_cycles_come_from_the_profiler_and_event_times_stand_in_where_there_are_none() -> None:
    cycles = MEASURES["cycles"]
    assert fitting(SIMT["vector_add_1_1024"], cycles).name == "clean"
    assert fitting(PROFILED[0], cycles) is cycles
    assert fitting(SIMT["vector_add_1_1024"], MEASURES["time"]).name == "time"


def test_the_clock_of_a_profiled_launch_is_its_quotient_up_to_the_boost_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, clocks = load_spec(DEFAULT_GPU), []
    monkeypatch.setattr(evaluating, "_launch", lambda launch, spec, measure, clock: clocks.append(clock) or Facts(4587.0, {"instructions": 640.0}))
    case = next(c for c in PROFILED if c.id == "vector_add_1_1024")
    outcome = evaluating.evaluate_simt(case, spec, MEASURES["cycles"], 0.0)
    assert clocks == [pytest.approx(1000 * 4587 / 2368)]
    assert (outcome.measured, outcome.unit, outcome.error, outcome.status) == (4587, "cycles", 0, "ok")
    assert evaluating._clock(3000, 1000, spec) == spec.clocks.boost / 1e6
    assert evaluating.evaluate_simt(case, spec, MEASURES["cycles"], 10.0).status == "short"


def test_every_record_of_three_groups_has_a_probe_or_a_reason() -> None:
    mapped, reasons, excluded = 0, set(), set()
    for case in (c for c in MICRO if c.group in ("alu", "divergence", "scheduling")):
        try:
            plan_of(case)
            mapped += 1
        except Excluded as reason:
            excluded.add(str(reason).split(":")[0])
        except GpusimError as reason:
            reasons.add(reason.what)
    assert mapped > 390
    assert excluded >= {"sm_clock", "cta_to_sm", "empty_kernel by the host's clock, or launch by launch from the host"}
    assert all(len(reason) > 20 for reason in reasons) and len(reasons) <= 7


def test_groups_without_probes_are_not_ours() -> None:
    assert not any(is_ours(case) for case in MICRO if case.group not in GROUPS)
    assert set(group("scheduling").plans) >= {case.family for case in MICRO if case.group == "scheduling"}


def test_a_curve_becomes_points_on_both_sides_of_its_steps() -> None:
    points = [c for c in MICRO if c.family == "wave_quantization"]
    grids = {c.params["grid"] for c in points if c.params["ctas_per_sm"] == 1}
    assert {1, 132, 133, 264, 265, 396, 397} <= grids and len(points) < 80
    assert all(c.record["list"] is None and c.number("value") for c in points)
    assert len({c.id for c in points}) == len(points)


def _outcome(name: str, **counters: float) -> Outcome:
    return Outcome(name, "simt", "f", 1.0, 1.0, "ns", 0.0, "ok", None, counters=counters)


def test_counters_are_compared_one_by_one() -> None:
    one = _outcome("a", instructions=110, thread_instructions=3520, ctas_per_sm=8, l1_load_sectors=0)
    two = _outcome("b", instructions=90, thread_instructions=2880)
    counted = {"smsp__inst_executed.sum": 100.0, "smsp__thread_inst_executed.sum": 3200.0}
    limits = {"launch__occupancy_limit_warps": 8.0, "launch__occupancy_limit_blocks": 32.0}
    theirs = {"a": counted | limits | {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 0.0}, "b": counted}
    found = {e.name: e for e in compare([one, two, _outcome("c", instructions=1)], theirs)}
    lines = found["instructions"]
    assert (lines.cases, lines.exact, lines.worst_id) == (2, 0, "a")
    assert [lines.median, lines.signed_mean, lines.worst] == pytest.approx([0.1, 0.0, 0.1])
    assert found["threads per instruction"].exact == 2
    assert (found["CTAs per SM"].cases, found["CTAs per SM"].exact) == (1, 1)
    assert found["global load sectors"].zeros == (1, 1)


def test_passes_that_are_no_whole_multiple_of_the_requests_stand_apart() -> None:
    metric = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
    ours = [_outcome(name, shared_load_requests=10, shared_load_wavefronts=20) for name in "ab"]
    found = {e.name: e for e in compare(ours, {"a": {metric: 20.0}, "b": {metric: 20.5}})}
    assert found["shared load wavefronts"].cases == 2
    assert (found["shared load wavefronts, whole"].cases, found["shared load wavefronts, whole"].exact) == (1, 1)


def test_a_profiler_s_launch_is_used_only_where_there_is_one() -> None:
    several = replace(PROFILED[0], record={"launches": [{}, {}]})
    assert profiled(several) is None and profiled(SIMT["vector_add_1_1024"]) is None
    assert set(metrics([*PROFILED, several])) == {case.id for case in PROFILED}


def test_every_kernel_of_the_library_that_needs_data_has_the_measured_data() -> None:
    assert {name for name, entry in LIBRARY.items() if entry.data} <= set(data.MEASURED)
