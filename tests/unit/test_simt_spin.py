"""Float atomics on shared memory: loops whose rounds depend on banks and on other warps; and what the pipe of shared memory takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.devices.simt.sm import run_sm
from gpusim.devices.simt.spin import Spin, restarts
from gpusim.lower.simt.code import Instr
from gpusim.trace.simt import Touch
from tests.unit.simt_code import ALL, code, cta, machine, warp


def _touch(words: tuple[int, ...]) -> Touch:
    return Touch(0, len(words), (), 1, 1, words=words)


def _rounds(spin: Spin, touch: Touch, until: int = 1000) -> list[int]:
    """Wavefronts of each round's read."""
    found: list[int] = []
    while len(found) < until:
        found.append(spin.start(touch))
        spin.read = float(len(found))
        spin.swap(len(found) + 0.5)
        if not spin.waiting:
            return found
    raise AssertionError("never done")


@given(st.lists(st.integers(0, 255), min_size=1, max_size=32))
def test_there_are_as_many_rounds_as_lanes_want_one_bank(words: list[int]) -> None:
    found = _rounds(Spin({}), _touch(tuple(words)))
    assert len(found) == max(sum(w % 32 == bank for w in words) for bank in range(32))
    assert found == sorted(found, reverse=True) and found[-1] == 1


def test_reads_conflict_as_long_as_different_words_of_a_bank_are_wanted() -> None:
    sixteen_twice = tuple(32 * (lane % 16) for lane in range(32))
    found = _rounds(Spin({}), _touch(sixteen_twice))
    assert sum(w - 1 for w in found) == 360, "3762 cycles of micro.json less 32 x 95 and the loop, over two"


def test_a_word_that_another_warp_changed_since_the_read_is_not_swapped() -> None:
    changed: dict[int, float] = {}
    one, two = Spin(changed), Spin(changed)
    for spin, t in ((one, 10.0), (two, 11.0)):
        spin.start(_touch((5, 6)))
        spin.read = t
    one.swap(40.0)
    two.swap(41.0)
    assert one.waiting == [] and two.waiting == [5, 6]
    two.start(_touch((5, 6)))
    two.read = 42.0
    two.swap(70.0)
    assert two.waiting == []


def _loop() -> list[Instr]:
    return [
        Instr("BSSY"),
        Instr("LDS", (1,), (0,), 1, 0),
        Instr("FADD", (2,), (1, 5)),
        Instr("ATOMS.CAST.SPIN", (3,), (0, 1, 2), 1, 0),
        Instr("ISETP", (4,), (3,)),
        Instr("BRA", (), (4,)),
        Instr("BSYNC"),
    ]


def test_a_loop_begins_again_at_its_read() -> None:
    assert restarts([Instr("BSYNC"), *_loop(), *_loop()]) == {7: 2, 14: 9}
    assert restarts([Instr("LDS", (1,), (0,), 1, 0), Instr("BSYNC")]) == {}


def _cycles(warps: int, words: tuple[int, ...], times: int = 8) -> float:
    made = code(_loop(), [Instr("EXIT", (), (), 1)])
    path = [(0, ALL, (_touch(words),) * 2)] * times
    return run_sm(made, [cta(*[warp(*path, 1) for _ in range(warps)])], 1, machine()).cycles


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
def test_one_warp_takes_a_round_for_each_lane_on_a_word(lanes: int) -> None:
    words = tuple(lane % (32 // lanes) for lane in range(32))
    step = (_cycles(1, words, 16) - _cycles(1, words, 8)) / 8
    assert step == pytest.approx(95 * lanes, rel=0.04), "micro.json smem/shared_atomic red.add.f32, step 1"


def test_warps_on_one_word_wait_for_each_other_and_on_different_ones_do_not() -> None:
    same = _cycles(8, (0,) * 32, 2)
    own = run_sm(
        code(_loop(), [Instr("EXIT", (), (), 1)]),
        [cta(*[warp(*[(0, ALL, (_touch((n,) * 32),) * 2)] * 2, 1) for n in range(8)])],
        1,
        machine(),
    ).cycles
    assert own < 1.1 * _cycles(1, (0,) * 32, 2)
    assert same > 2 * own


def _step(op: str, bits: int, waves: int, lanes: int = 32, chain: bool = True) -> float:
    touch = (Touch(0, lanes, (), waves),)
    instr = Instr(op, (0,) if op == "LDS" else (), (0,) if chain else (9,), 1, 0, bits)
    made = code([instr], [Instr("EXIT", (), (), 1)])
    cycles = [run_sm(made, [cta(warp(*[(0, ALL, touch)] * n, 1))], 1, machine()).cycles for n in (8, 16)]
    return (cycles[1] - cycles[0]) / 8


@pytest.mark.parametrize(
    "bits, waves, lanes, cycles",
    [(32, 1, 32, 23), (64, 2, 32, 26), (128, 4, 32, 32), (128, 8, 32, 40), (64, 1, 1, 23), (128, 1, 1, 24), (32, 32, 32, 85)],
)
def test_wide_loads_come_back_in_several_cycles(bits: int, waves: int, lanes: int, cycles: float) -> None:
    assert _step("LDS", bits, waves, lanes) == pytest.approx(cycles), "micro.json smem/bank_conflict_load dependent, latency/shared"


@pytest.mark.parametrize("bits, waves, cycles", [(32, 1, 4), (64, 2, 6), (128, 4, 10), (32, 16, 32)])
def test_a_warp_stores_at_the_rate_of_its_registers_or_of_every_other_wavefront(bits: int, waves: int, cycles: float) -> None:
    assert _step("STS", bits, waves, chain=False) == pytest.approx(cycles, rel=0.05), "micro.json smem/store_bandwidth, one warp"
