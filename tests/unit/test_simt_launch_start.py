"""Begin and end of launches and of CTAs: cold code, places of warps, how fast CTAs start."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import cuda
from gpusim.devices.simt.room import Room, covered, places
from gpusim.devices.simt.sm import run_sm
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.occupancy import warps_per_subcore
from gpusim.launch.simt.run import simulate_simt
from gpusim.lower.simt.code import Instr
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve
from gpusim.trace.run import Run
from tests.unit.made_simt import SPEC
from tests.unit.simt_code import code, cta, machine, warp


@cuda.jit
def nothing(x):
    pass


def empty(ctas: int) -> Run:
    return simulate_simt(nothing, Geometry((ctas, 1, 1), (256, 1, 1)), (np.zeros(4, np.float32),), load_spec(SPEC), values=False).run


def test_a_launch_takes_as_long_as_its_ctas_take_to_start() -> None:
    spec = resolve(load_spec(SPEC), 1980.0)
    one, many = empty(1), empty(20_000)
    assert many.cycles - one.cycles == pytest.approx(20_000 * spec.per_cta, rel=0.02)
    assert one.cycles < spec.launch_start + spec.cold_fetch / 2


def test_warps_of_an_empty_cta_hold_places_while_the_sm_is_active() -> None:
    few, many = empty(132), empty(20_000)
    assert few.warps_active == pytest.approx(8, rel=0.05)
    assert many.warps_active == pytest.approx(8, rel=0.2)


def test_time_without_warps_is_not_active() -> None:
    assert covered([(0, 10), (5, 12), (20, 21)]) == 13
    assert covered([]) == 0


def test_a_cta_that_ends_lets_in_all_that_fit_where_warps_have_ended() -> None:
    program = code([Instr("FFMA", (0,), (0,), 1) for _ in range(200)])
    m = machine()
    long, middle, short = warp(*[0] * 20), warp(*[0] * 5), warp(0)
    made = [cta(long, *[short] * 3, number=0), cta(middle, *[short] * 3, number=1), *(cta(*[short] * 4, number=n) for n in (2, 3))]
    whole, by_warps = (run_sm(program, made, 2, m, room=room) for room in (None, Room(32, 3)))
    begun = [{c.cta: c.start for c in run.ctas} for run in (whole, by_warps)]
    first_end = next(c.end for c in by_warps.ctas if c.cta == 1)
    assert begun[1][2] == pytest.approx(first_end + m.cta_change, rel=0.01), "not before a CTA ends, though warps have ended"
    assert begun[1][3] < begun[1][2] + 100 < begun[0][3], "then all that fit"


def test_warps_of_older_ctas_issue_first_and_those_of_a_cta_in_turn() -> None:
    program = code([Instr("FFMA", (i % 8,), (i % 8,), 1) for i in range(400)])
    run = run_sm(program, [cta(*[warp(*[0] * 4)] * 8, number=n) for n in range(4)], 4, machine())
    ends = [c.end for c in sorted(run.ctas, key=lambda c: c.cta)]
    assert ends[0] < 0.35 * ends[3] and ends[1] < 0.6 * ends[3] and ends[2] < 0.85 * ends[3]
    one = run_sm(program, [cta(*[warp(*[0] * 4)] * 32)], 1, machine())
    assert one.cycles == pytest.approx(run.cycles, rel=0.02)


def test_room_counts_warps_of_each_sub_core_and_ctas() -> None:
    room = Room(2, 4)
    assert room.fits([2, 2, 2, 2], 1, places([2, 2, 2, 2], 0, 8))
    assert not room.fits([2, 2, 3, 2], 1, places([2, 2, 3, 2], 0, 8))
    assert not room.fits([0, 0, 0, 0], 2, places([0] * 4, 0, 4))
    assert places([1, 0, 1, 1], 0, 1) == [1]
    spec = load_spec(SPEC)
    assert warps_per_subcore(32, spec) == 16 and warps_per_subcore(128, spec) == 4


@cuda.jit
def one_store(x):
    x[cuda.grid(1)] = 1.0


def test_a_launch_ends_when_its_farthest_store_is_in_l2() -> None:
    spec = load_spec(SPEC)
    machine_ = resolve(spec, 1980.0)
    stored = simulate_simt(one_store, Geometry((132, 1, 1), (256, 1, 1)), (np.zeros(132 * 256, np.float32),), spec, values=False).run
    assert stored.cycles - empty(132).cycles > machine_.l2_latency + machine_.far_latency
