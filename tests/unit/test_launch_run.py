"""simulate: what it refuses, what it promises about its numbers, and that a report can be reproduced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusim.errors import GpusimError
from gpusim.kernels.gemm import gemm
from gpusim.launch.laws import LAWS, check
from gpusim.launch.run import simulate
from gpusim.launch.tally import Tally
from gpusim.spec.load import load_spec
from gpusim.trace.run import Run
from tests.laws.specs import changed, toy


def _run(*sizes: int, **options: Any) -> Run:
    names = ("l2", "launch", "clock_mhz", "exact", "timeline")
    taken = {name: options.pop(name) for name in names if name in options}
    return simulate(gemm(*(sizes or (256, 256, 256)), **({"tile": (64, 64, 32)} | options)), toy(), **taken)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"l2": "hot"}, "l2 = 'hot' is unknown. Give one of: cold, foreign-clean, foreign-dirty, warm."),
        ({"launch": "maybe"}, "launch = 'maybe' is unknown. Give one of: out, in."),
        ({"clock_mhz": 0}, "clock = 0 MHz is no SM clock."),
        ({"clock_mhz": 1.755e9}, "clock = 1755000000.0 MHz is no SM clock. Give megahertz, such as 1755."),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], text: str) -> None:
    with pytest.raises(GpusimError) as caught:
        _run(**options)
    assert text in str(caught.value)


def test_a_run_says_what_it_was() -> None:
    run = _run(250, 190, 100, stages=None, l2="foreign-dirty", launch="in", clock_mhz=900.0)
    assert (run.gpu, run.kernel, run.ctas, run.waves, run.flops) == ("toy", "gemm", 12, 1, 2 * 250 * 190 * 100)
    assert (run.protocol.l2, run.protocol.launch, run.protocol.clock_mhz) == ("foreign-dirty", "in", 900.0)
    assert run.params["stages"] == 4, "the depth that was chosen, not None"
    assert run.slots == 12 * run.occupancy.ctas_per_sm
    assert run.extrapolated == ""


def test_time_is_cycles_over_the_clock() -> None:
    for mhz in (500.0, 1000.0, 1777.0):
        run = _run(clock_mhz=mhz)
        assert run.time_ps == pytest.approx(run.cycles / mhz * 1e6, abs=1)


@pytest.mark.parametrize(("dtype", "mhz"), [("bf16", 1000.0), ("fp32", 1200.0)])
def test_tensor_work_lowers_the_clock(dtype: str, mhz: float) -> None:
    assert _run(dtype=dtype).protocol.clock_mhz == mhz


def test_counters_are_whole_numbers() -> None:
    assert {type(value) for value in _run(250, 250, 250).counters.values()} == {int}


def test_spills_are_counted_only_where_there_are_any() -> None:
    assert "spill_bytes" not in _run().counters


# ---- the digest ----
def test_the_same_input_has_the_same_run_bit_for_bit() -> None:
    assert _run(250, 200, 300) == _run(250, 200, 300)


@pytest.mark.parametrize(
    "other",
    [{"l2": "foreign-dirty"}, {"launch": "in"}, {"clock_mhz": 1001.0}, {"exact": True}, {"group_m": 2}, {"stages": 2}, {"dtype": "fp16"}, {"warps": 8}],
    ids=str,
)
def test_another_input_has_another_digest(other: dict[str, Any]) -> None:
    assert _run(**other).digest != _run().digest


def test_another_machine_has_another_digest_even_where_its_number_does_not_matter() -> None:
    program = gemm(256, 256, 256, tile=(64, 64, 32))
    other = changed(toy(), dram__capacity=9 * 10**9)
    assert simulate(program, other).cycles == simulate(program, toy()).cycles
    assert simulate(program, other).digest != simulate(program, toy()).digest


def test_where_a_number_comes_from_does_not_matter() -> None:
    program = gemm(256, 256, 256, tile=(64, 64, 32))
    renamed = toy().model_copy(update={"provenance": {"sm.registers": "a dream"}})
    assert simulate(program, renamed).digest == simulate(program, toy()).digest


# ---- the timeline ----
@pytest.mark.parametrize("stages", [1, 3])
def test_the_timeline_tiles_the_life_of_every_block(stages: int) -> None:
    run = _run(640, 640, 160, stages=stages, timeline=True)
    lives: dict[int, list[tuple[float, float]]] = {}
    for span in run.spans:
        lives.setdefault(span.cta, []).append((span.start, span.end))
    assert sorted(lives) == list(range(run.ctas))
    for spans in lives.values():
        assert all(a[1] == b[0] for a, b in zip(spans, spans[1:], strict=False))
    total = sum(spans[-1][1] - spans[0][0] for spans in lives.values())
    assert total * run.occupancy.warps_per_cta == pytest.approx(run.warp_cycles)


def test_no_timeline_unless_asked() -> None:
    assert _run().spans == ()


# ---- the laws that every run is checked against ----
BREACHES: dict[str, Any] = {
    "sectors requested = merged + received by L2": lambda r: {"counters": r.counters | {"merged_sectors": r.counters["merged_sectors"] + 1}},
    "sectors stored = received by L2": lambda r: {"counters": r.counters | {"l2_write_sectors": r.counters["l2_write_sectors"] - 1}},
    "hits are part of what L2 received": lambda r: {"counters": r.counters | {"l2_hit_sectors": 10**12}},
    "written to DRAM + dirty at the end >= 0": lambda r: {"counters": r.counters | {"l2_dirty_bytes": -1}},
    "stalls partition the life of the warps": lambda r: {"stalls": r.stalls | {"selected": r.stalls["selected"] * 1.01}},
    "not faster than any single resource": lambda r: {"bounds": r.bounds | {"DRAM": r.cycles * 1.01}},
}


@pytest.mark.parametrize("law", LAWS)
def test_a_breach_is_noticed(law: str) -> None:
    run, counts = _run(), Tally()
    check(run, counts, None)
    with pytest.raises(AssertionError, match=f"law broken: {law}".replace("+", r"\+")):
        check(replace(run, **BREACHES[law](run)), counts, None)


@pytest.mark.parametrize(("gpu", "dtype"), [("v100", "bf16"), ("v100", "fp64")])
def test_a_format_that_the_device_lacks(gpu: str, dtype: str) -> None:
    with pytest.raises(GpusimError, match=f"no unit of this GPU multiplies {dtype}"):
        simulate(gemm(256, 256, 256, dtype=dtype), load_spec(gpu))
