"""What an SM sees of memory: L1, wavefronts, its share of L2 and DRAM, copies, atomics."""

from __future__ import annotations

import pytest

from gpusim.devices.simt.memory import MemoryPath, Surroundings
from gpusim.devices.simt.sm import run_sm
from gpusim.lower.simt.code import Code, Instr
from gpusim.parts.crowded import CrowdedServer, slowest
from gpusim.parts.icache import InstructionCache, spans_of
from gpusim.parts.l1 import SectoredL1
from gpusim.trace.simt import Touch
from tests.unit.simt_code import ALL, code, cta, machine, warp


def load(op: str = "LDG") -> Code:
    return code([Instr(op, (0,), (0,), 1, 0)], [Instr("FADD", (1,), (0,), 2), Instr("EXIT", (), (), 2)])


def time_of(op: str, *touches: Touch, memory: Surroundings | None = None, warps: int = 1) -> float:
    """Cycles of dependent accesses, one after the other."""
    return run_sm(load(op), [cta(*[warp(*[(0, ALL, (t,)) for t in touches], 1)] * warps)], 1, machine(), memory).cycles


def step(op: str, touch: Touch, memory: Surroundings | None = None) -> float:
    return (time_of(op, *[touch] * 9, memory=memory) - time_of(op, touch, memory=memory)) / 8


def test_l1_keeps_sectors_and_forgets_the_line_used_longest_ago() -> None:
    l1 = SectoredL1(2)
    assert l1.read((0, 1)) == [0, 1]
    assert l1.read((0, 2)) == [2]
    l1.read((4,))
    l1.read((0,))
    l1.read((8,))
    assert l1.read((0, 1, 2)) == []
    assert l1.read((4,)) == [4]
    l1.drop((4,))
    assert l1.read((4,)) == [4]
    assert (l1.hits, l1.misses) == (5, 7)


def test_a_crowded_server_queues_and_waits_longer_when_it_is_busier() -> None:
    idle = CrowdedServer(0.0)
    assert [idle.book(0, 5), idle.book(0, 5), idle.book(100, 5)] == [5, 10, 105]
    waits = []
    for gap in (100, 20, 10):
        server = CrowdedServer(10.0)
        waits.append(max(server.book(t, 8) - t for t in range(0, 20000, gap)))
    assert waits == sorted(waits) and waits[0] < 9 < waits[2]
    assert slowest(1) == 1 and slowest(4) == pytest.approx(25 / 12)


def test_code_at_hand_is_found_again_and_long_code_pushes_it_out() -> None:
    cache = InstructionCache(4, spans_of([8, 8, 40, 8], 8))
    assert [cache.enter(b) for b in (0, 1, 0, 0, 1)] == [False, False, True, True, True]
    assert [cache.enter(b) for b in (2, 0)] == [False, False]
    assert spans_of([3, 0, 9], 8) == [(0, 1), (0, 1), (0, 2)]


def test_latencies_of_the_levels() -> None:
    m = machine()
    hit = Touch(0, 32, (0, 1, 2, 3))
    assert step("LDG", hit) == pytest.approx(m.l1_latency)
    assert step("LDS", Touch(0, 32, (), 1)) == m.shared_latency
    spread = [Touch(0, 32, (4000 * i,)) for i in range(9)]
    for where, latency in (("l2", m.l2_latency), ("dram", m.l2_latency + m.far_latency / 2 + m.dram_latency)):
        memory = Surroundings(1, lambda _s, level=where: level)  # type: ignore[misc]
        took = time_of("LDG", *spread, memory=memory) - time_of("LDG", spread[0], memory=memory)
        assert took / 8 == pytest.approx(latency, rel=0.02)


@pytest.mark.parametrize("waves", [1, 2, 4, 8, 16])
def test_bank_conflicts_cost_two_cycles_of_latency_and_one_of_throughput_each(waves: int) -> None:
    touch = Touch(0, 32, (), waves)
    assert step("LDS", touch) == 23 + 2 * (waves - 1)
    free = code([Instr("LDS", (i,), (99,), 1, i) for i in range(40)])
    run = run_sm(free, [cta(*[warp((0, ALL, tuple(Touch(i, 32, (), waves) for i in range(40))))] * 16)], 1, machine())
    assert run.wavefronts == 40 * 16 * waves
    assert run.cycles == pytest.approx(run.wavefronts, rel=0.06)


@pytest.mark.parametrize("same", [1, 2, 8, 32])
def test_atomics_on_one_shared_word_take_turns(same: int) -> None:
    assert step("ATOMS", Touch(0, 32, (), same, same)) == 24 + 2 * same


def test_a_request_takes_a_cycle_for_each_line() -> None:
    near, far = Touch(0, 32, (0,)), Touch(0, 32, tuple(4 * i for i in range(8)))
    assert step("LDG", far) - step("LDG", near) == pytest.approx(7, abs=0.01)


def streams(sms: int, where: str) -> float:
    """Cycles of many independent loads of full lines."""
    program = code([Instr("LDG", (i,), (99,), 1, i) for i in range(32)] + [Instr("FADD", (100,), (i,), 2) for i in range(32)])
    paths = [warp((0, ALL, tuple(Touch(i, 32, tuple(range(s := 4 * (w * 32 + i), s + 4))) for i in range(32)))) for w in range(32)]
    return run_sm(program, [cta(*paths)], 1, machine(), Surroundings(sms, lambda _s: where)).cycles


def test_an_sm_gets_its_share_and_never_more() -> None:
    m = machine()
    data = 32 * 32 * 128
    assert streams(1, "l2") >= data / m.fill_rate
    for sms in (33, 66, 132):
        assert streams(sms, "dram") >= data * sms / m.dram_rate
        assert streams(sms, "dram") == pytest.approx(data * sms / m.dram_rate, rel=0.2, abs=2500)
    times = [streams(s, "dram") for s in (1, 33, 66, 132)]
    assert times == sorted(times)


def test_a_second_warp_finds_what_the_first_one_fetched() -> None:
    run = run_sm(load(), [cta(*[warp((0, ALL, (Touch(0, 32, (0, 1, 2, 3)),)), 1)] * 4)], 1, machine())
    assert (run.l1_misses, run.l1_hits, run.l2_sectors) == (4, 12, 4)


def test_stores_leave_at_their_rate_and_a_warp_drains_before_it_ends() -> None:
    store = code([Instr("STG", (), (0,), 1, i) for i in range(8)])
    touches = tuple(Touch(i, 32, (4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3)) for i in range(8))
    run = run_sm(store, [cta(warp((0, ALL, touches)))], 1, machine())
    assert run.cycles >= 8 * 128 / machine().store_rate
    assert run.stalls["drain"] > 0


def test_a_wait_for_copies_is_for_the_groups_named() -> None:
    head = [Instr("LDGSTS", (), (9,), 1, 0), Instr("LDGDEPBAR", (), (), 1), Instr("LDGSTS", (), (9,), 1, 1), Instr("LDGDEPBAR", (), (), 1)]
    touches = (Touch(0, 32, (0, 1, 2, 3)), Touch(1, 32, (400, 401)))
    far = Surroundings(1, lambda s: "dram" if s >= 400 else "l2")
    ends = [
        run_sm(code([*head, Instr("DEPBAR", (), (), 1, None, n), Instr("NOP", (), (), 2)]), [cta(warp((0, ALL, touches)))], 1, machine(), far).cycles
        for n in (2, 1, 0)
    ]
    m = machine()
    assert ends[0] < 30
    assert ends[1] == pytest.approx(m.l2_latency + m.cp_async_latency, rel=0.1)
    assert ends[2] > ends[1] + m.dram_latency * 0.8


def test_lanes_without_an_address_cost_nothing_in_memory() -> None:
    idle = Touch(0, 0, ())
    run = run_sm(load(), [cta(warp((0, ALL, (idle,)), 1))], 1, machine())
    assert run.cycles < 20 and run.wavefronts == 0


def test_one_word_is_changed_so_often_a_second_by_all_sms() -> None:
    m = machine()
    path = MemoryPath(m, Surroundings(132))
    touch = Touch(0, 32, (0,), 1, 32)
    ends = [path.atomic(touch, 0.0) for _ in range(2)]
    per_ns = 132 * 32 / (ends[1] - ends[0]) * m.clock_hz * 1e-9
    assert per_ns == pytest.approx(1.365, rel=0.02)
