"""A launch put together: time, counters and what was left out, from paths made by hand and from real kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.args import ArraySpec, describe
from gpusim.launch.simt.counting import path_instructions
from gpusim.launch.simt.loads import loads, placement
from gpusim.launch.simt.memory import Footprint, Levels, array_bytes, footprints
from gpusim.launch.simt.passes import Passed
from gpusim.launch.simt.prepare import check_geometry
from gpusim.launch.simt.run import Begun, SimtResult
from gpusim.launch.simt.sample import APART, beyond, copies, recorded, times
from gpusim.launch.simt.walk import DRAM, FAR, NEAR
from gpusim.lower.simt.code import Code
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve
from gpusim.trace.simt import Counts, CtaPath
from tests.unit.made_simt import SPEC, counts_of, executed, loop_code, loop_path, made_args, made_ready, ways_code, ways_path


def launched(code: Code, paths: list[CtaPath], threads: int, *, exact: bool = False, timeline: bool = False, alike: bool = False) -> SimtResult:
    """alike: all paths do what the first does."""
    begun = Begun(made_ready(code, len(paths), threads), made_args(len(paths), threads), "cold", "out", exact)
    some = paths[:1] if alike else paths
    mean = sum(path_instructions(code, some)) / len(some)
    begun.kept = [recorded(load, begun.ready.held.ctas_per_sm, mean, exact) for load in begun.loads]
    wanted = {cta for kept in begun.kept for cta in kept}
    done = executed(code, [path for path in paths if path.cta in wanted] if alike else paths, wanted)
    counts = Counts.zero(len(code.blocks), len(code.accesses))
    counts.add(counts_of(code, some), len(paths) // len(some))
    begun.passed = Passed(counts, done.paths, footprints(code, counts, array_bytes(code, begun.args)), done)
    return begun.result(timeline=timeline)


def alike_paths(number: int, trips: list[int]) -> list[CtaPath]:
    warps = loop_path(0, trips).warps
    return [CtaPath(cta, warps) for cta in range(number)]


def test_counters_follow_from_the_paths() -> None:
    code = ways_code()
    paths = [ways_path(c, 4) for c in range(200)]
    run = launched(code, paths, 128).run
    sizes = [len(b.instrs) for b in code.blocks]
    assert run.counters["instructions"] == 800 * sum(sizes)
    assert run.counters["thread_instructions"] == 800 * (32 * (sizes[0] + sizes[3]) + 16 * (sizes[1] + sizes[2]))
    assert run.counters["l1_load_requests"] == 800 and run.counters["l1_load_sectors"] == 3200
    assert run.counters["l1_hit_sectors"] + run.counters["l2_read_sectors"] == 3200
    assert run.flops == 2 * 12 * 16 * 800


def test_every_sm_has_floor_or_ceiling_of_the_ctas() -> None:
    machine = resolve(load_spec(SPEC), 1980.0)
    found = loads(machine, 1000, 4)
    assert sum(len(x.ctas) * x.sms for x in found) == 1000
    assert [len(x.ctas) for x in found] == [8, 7]
    assert all((placement(machine, 1000, 4)[list(x.ctas)] == x.sm).all() for x in found)


def test_sampled_ctas_tell_what_all_of_them_do() -> None:
    code = loop_code()
    paths = alike_paths(132 * 160, [60] * 4)
    sampled, exact = launched(code, paths, 128, alike=True).run, launched(code, paths, 128, exact=True, alike=True).run
    assert "CTAs of an SM timed" in sampled.extrapolated and not exact.extrapolated
    assert sampled.cycles == pytest.approx(exact.cycles, rel=0.03)
    assert sampled.warp_cycles == pytest.approx(exact.warp_cycles, rel=0.05)
    assert sampled.counters == exact.counters


def test_shortened_loops_tell_what_whole_loops_do() -> None:
    code = loop_code(barrier=True)
    paths = [loop_path(c, [900] * 8) for c in range(132)]
    short, exact = launched(code, paths, 256).run, launched(code, paths, 256, exact=True).run
    if short.extrapolated:
        assert "equal iterations" in short.extrapolated
    assert short.cycles == pytest.approx(exact.cycles, rel=0.02)
    assert sum(short.stalls.values()) == pytest.approx(sum(exact.stalls.values()), rel=0.03)


def test_the_digest_is_the_same_exactly_where_the_run_is() -> None:
    code, paths = ways_code(), [ways_path(c, 4) for c in range(50)]
    assert launched(code, paths, 128).run.digest == launched(code, paths, 128).run.digest
    assert launched(code, paths, 128).run.digest != launched(code, paths[:49], 128).run.digest


def test_line_counts_and_worst_case_of_atomics_reach_the_profile() -> None:
    profile = launched(ways_code(), [ways_path(c, 4) for c in range(10)], 128, timeline=True).run.profile
    assert profile is not None
    by_line = {c.line: c for c in profile.lines}
    assert by_line[14].instructions == 40 * 12 and by_line[14].thread_instructions == 40 * 12 * 16
    assert {a.buffer: a.least_sectors for a in profile.accesses} == {"x": 160, "y": 160}
    assert [b.joins for b in profile.blocks] == [False, False, False, True]
    assert all(p.end >= p.start for t in profile.tracks for p in t.passes) and profile.tracks


def test_a_sector_is_found_level_by_level_and_the_last_level_stays() -> None:
    levels = Levels({3: {8: [DRAM, NEAR], 9: [FAR]}}, [replace(ways_path(0, 1), cta=3), replace(ways_path(0, 1), cta=APART + 3)], APART)
    assert [levels.where(8) for _ in range(3)] == [DRAM, NEAR, NEAR]
    assert [levels.where(9) for _ in range(2)] == [FAR, FAR]
    assert [levels.where(APART + 8) for _ in range(2)] == [DRAM, NEAR], "a copy has requests of its own"
    assert levels.where(77) == NEAR, "what no CTA was seen to ask for"


def test_copies_touch_sectors_of_their_own() -> None:
    paths = [ways_path(0, 1)]
    a, b = copies(paths, 2)
    assert a is paths[0] and len(b.warps[0].touches[0][0].sectors) == 4
    assert not set(a.warps[0].touches[0][0].sectors) & set(b.warps[0].touches[0][0].sectors)
    assert a.cta != b.cta


def test_the_timeline_shows_no_copies() -> None:
    code = loop_code()
    paths = alike_paths(132 * 40, [400] * 8)
    run = launched(code, paths, 256, timeline=True, alike=True).run
    assert run.extrapolated and run.profile is not None
    numbers = [(t.cta, t.warp) for t in run.profile.tracks]
    assert numbers and len(set(numbers)) == len(numbers) and max(cta for cta, _ in numbers) < len(paths)


def test_going_beyond_a_run() -> None:
    timed = launched(ways_code(), [ways_path(c, 4) for c in range(10)], 128).timed[0]
    assert times(timed, 3.0).cycles == pytest.approx(3 * timed.cycles)
    assert beyond(timed, timed, 5.0).cycles == timed.cycles
    twice = times(timed, 2.0)
    assert beyond(timed, twice, 1.0).instructions == 3 * timed.instructions
    assert sum(twice.stalls.values()) == pytest.approx(twice.warp_cycles)


@pytest.mark.parametrize(
    "value, told",
    [(3, ("int64", 0)), (2.5, ("float64", 0)), (True, ("bool", 0)), (np.float32(1), ("float32", 0)), (np.zeros((2, 3), np.int8), ("int8", 2))],
)
def test_arguments_are_typed_as_numba_types_them(value: Any, told: tuple[str, int]) -> None:
    (arg,) = describe([value])
    assert (arg.dtype, arg.ndim) == told


def test_layouts_and_shapes_without_data() -> None:
    args = describe([np.zeros((4, 6))[:, ::2], ArraySpec((5, 7), "float32")], ["a", "b"])
    assert [(a.name, a.layout, a.ndim) for a in args] == [("a", "A", 2), ("b", "C", 2)]


def test_what_no_kernel_takes() -> None:
    with pytest.raises(GpusimError, match="argument 0 is of type str"):
        describe(["text"])


@pytest.mark.parametrize(
    "geometry, told",
    [
        (Geometry((0, 1, 1), (32, 1, 1)), "grid"),
        (Geometry((1, 1, 1), (32, 64, 1)), "2048 threads"),
        (Geometry((1, 70000, 1), (1, 1, 1)), "grid"),
    ],
)
def test_geometries_that_no_device_launches(geometry: Geometry, told: str) -> None:
    with pytest.raises(GpusimError, match=told):
        check_geometry(geometry, load_spec(SPEC))


def test_footprints_never_exceed_the_array() -> None:
    code = ways_code()
    counts = counts_of(code, [ways_path(0, 4)] * 5)
    found = footprints(code, counts, {"x": 512, "y": 1 << 20})
    assert found["x"] == Footprint(16, 0, 16) and found["y"] == Footprint(0, 80, 80)
