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


def test_a_cta_starts_where_warps_have_ended() -> None:
    program = code([Instr("FFMA", (i % 4,), (i % 4,), 1) for i in range(200)])
    m = machine()
    long, short = warp(*[0] * 20), warp(0)
    made = [cta(long, *[short] * 3, number=0), cta(*[short] * 3, long, number=1), cta(*[short] * 4, number=2)]
    whole, by_warps = (run_sm(program, made, 2, m, room=room) for room in (None, Room(32, 3)))
    begun = [next(c.start for c in run.ctas if c.cta == 2) for run in (whole, by_warps)]
    assert begun[1] < begun[0] / 3


def test_room_counts_warps_of_each_sub_core_and_ctas() -> None:
    room = Room(2, 4)
    assert room.fits([2, 2, 2, 2], 1, places([2, 2, 2, 2], 0, 8))
    assert not room.fits([2, 2, 3, 2], 1, places([2, 2, 3, 2], 0, 8))
    assert not room.fits([0, 0, 0, 0], 2, places([0] * 4, 0, 4))
    assert places([1, 0, 1, 1], 0, 1) == [1]
    spec = load_spec(SPEC)
    assert warps_per_subcore(32, spec) == 16 and warps_per_subcore(128, spec) == 4
