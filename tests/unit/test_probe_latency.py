"""Group latency: rings are permutations that take little memory, and chases see the levels of the machine that is simulated."""

from __future__ import annotations

import resource
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.launch.simt.state import MemoryState
from gpusim.probe import latency, rings
from gpusim.probe.registry import group, simulation
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec

KIB, MIB = 1 << 10, 1 << 20


def chip() -> GpuSpec:
    return load_spec("h200-sxm")


def cycles(name: str, spec: GpuSpec | None = None, **params: object) -> float:
    value = simulation("latency", name, params)(spec or chip())
    assert isinstance(value, float)
    return value


def stairs(footprint: int, spec: GpuSpec | None = None, **params: object) -> float:
    return cycles("staircase", spec, footprint=footprint, **{"ld": "ca", "warm": "one_sm", "l1_carveout": "max_l1", **params})


@given(st.integers(1, 3000))
def test_a_ring_visits_every_node_once(n: int) -> None:
    assert sorted(rings.scattered(np.arange(n, dtype=np.uint64), n).tolist()) == list(range(n))


def test_a_ring_is_in_no_order_and_a_sequential_one_is() -> None:
    offsets = rings.Ring(4096, 128).offsets(0, 4096)
    assert abs(np.corrcoef(offsets[:-1], offsets[1:])[0, 1]) < 0.06
    assert rings.Ring(8, 64, random=False).offsets(6, 4).tolist() == [384, 448, 0, 64]


def test_a_ring_takes_the_memory_of_what_is_walked() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = rings.memory(16 << 30)
    words[:: len(words) // 100] = 1
    assert words[1] == 0 and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * KIB
    with pytest.raises(GpusimError, match="no address space"):
        rings.memory(1 << 60)


def test_each_level_has_its_latency() -> None:
    spec = chip()
    assert stairs(64 * KIB) == pytest.approx(spec.sm.l1_latency)
    assert stairs(2 * MIB) == pytest.approx(spec.l2.hit_latency, rel=0.02)
    assert 600 < cycles("dram", footprint=256 * MIB, stride=4096, order="random") < 750
    assert cycles("shared", bytes=4) == pytest.approx(spec.sm.shared_latency)


def test_the_first_knee_is_where_the_l1_ends_and_moves_with_the_carve_out() -> None:
    assert stairs(236 * KIB) < 33 < 60 < stairs(256 * KIB)
    assert stairs(20 * KIB, l1_carveout="max_smem") < 33 < 60 < stairs(24 * KIB, l1_carveout="max_smem")


def test_the_second_knee_is_where_half_of_the_l2_ends() -> None:
    spec = chip()
    small = spec.model_copy(update={"l2": spec.l2.model_copy(update={"capacity": 4 * MIB})})
    assert stairs(int(1.9 * MIB), small) == pytest.approx(stairs(int(1.5 * MIB), small), rel=0.01)
    assert stairs(3 * MIB, small) > 1.15 * stairs(int(1.9 * MIB), small)
    assert stairs(3 * MIB, small) == pytest.approx(stairs(3 * MIB, small, ld="cg", warm="all_sms"), rel=0.05)


def test_a_step_of_a_sector_finds_every_other_one_of_a_dram_atom_in_l2() -> None:
    one, two = (cycles("dram", footprint=64 * MIB, stride=s, order="sequential") for s in (32, 64))
    assert one == pytest.approx((two + chip().l2.hit_latency) / 2, rel=0.03)


def test_hits_differ_by_place_and_their_mean_is_the_hit_latency() -> None:
    value = simulation("latency", "l2_hit_mean_by_sm", {"layout": "list[smid]"})(chip())
    assert isinstance(value, list) and len(value) == 66
    assert fmean(value) == pytest.approx(chip().l2.hit_latency, rel=0.01) and max(value) - min(value) > 10


def test_fences_of_a_wider_scope_take_longer() -> None:
    found = [cycles("atomic", op=f"fence_{scope}_after_st") for scope in ("cta", "gpu", "sys")]
    assert found == sorted(found) and found[0] < 20 < 400 < found[1] < 700 < found[2]


def test_the_word_of_the_atomics_is_at_home_in_the_other_half() -> None:
    spec, words = chip(), np.zeros(4096, np.uint32)
    state = MemoryState(spec)
    at = rings.far_word(spec, state, words)
    line = (state.addresses((words,))[0] + 4 * at) // spec.l2.line
    assert state.cache.home(np.array([line]))[0] == 1 - spec.chip.gpc_half[0]


def test_unknown_params_are_a_sentence() -> None:
    for params in ({"footprint": 4096, "ld": "cv", "warm": "one_sm"}, {"ld": "ca"}):
        with pytest.raises(GpusimError, match="no probe knows"):
            simulation("latency", "staircase", params)


def test_the_standard_sweep_has_a_plan_for_each_point() -> None:
    made = group("latency")
    assert {name for name, _ in made.points} <= set(made.plans) and {c.name for c in made.curves} <= set(made.plans)
    for name, params in latency.POINTS:
        simulation("latency", name, params)
