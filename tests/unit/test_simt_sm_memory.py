"""What an SM sees of memory: L1, wavefronts, its share of L2 and DRAM, copies, atomics."""

from __future__ import annotations

import pytest

from gpusim.devices.simt.memory import DRAM, FAR, FAR_DRAM, FAR_FLYING, FLYING, NEAR, PAGE, MemoryPath, Surroundings
from gpusim.devices.simt.sm import run_sm
from gpusim.engine.noise import tail
from gpusim.lower.simt.code import Code, Instr
from gpusim.parts.crowded import CrowdedServer
from gpusim.parts.icache import InstructionCache, spans_of
from gpusim.parts.l1 import SectoredL1
from gpusim.parts.noc import offsets
from gpusim.parts.tags import tag_cycles
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


def test_who_asks_first_of_all_gets_no_more_than_its_share() -> None:
    """The first burst of a launch is everybody's: it takes as long as this SM's share, whenever it begins."""
    for begin in (0.0, 130.0, 5000.0):
        server = CrowdedServer(0.0, 132)
        ends = [server.book(begin + i, 30.0) for i in range(100)]
        assert ends[-1] == begin + 3000.0


def test_a_crowded_server_queues_and_waits_longer_when_it_is_busier() -> None:
    idle = CrowdedServer(0.0)
    assert [idle.book(0, 5), idle.book(0, 5), idle.book(100, 5)] == [5, 10, 105]
    waits = []
    for gap in (100, 20, 10):
        server = CrowdedServer(10.0)
        waits.append(max(server.book(t, 8) - t for t in range(0, 20000, gap)))
    assert waits == sorted(waits) and waits[0] < 9 < waits[2]


def test_code_at_hand_is_found_again_and_long_code_pushes_it_out() -> None:
    cache = InstructionCache(4, spans_of([8, 8, 40, 8], 8))
    assert [cache.enter(b) for b in (0, 1, 0, 0, 1)] == [False, False, True, True, True]
    assert [cache.enter(b) for b in (2, 0)] == [False, False]
    assert spans_of([3, 0, 9], 8) == [(0, 1), (0, 1), (0, 2)]


def test_latencies_in_the_sm() -> None:
    m = machine()
    assert step("LDG", Touch(0, 32, (0, 1, 2, 3))) == pytest.approx(m.l1_latency)
    assert step("LDS", Touch(0, 32, (), 1)) == m.shared_latency


@pytest.mark.parametrize("level", [NEAR, FAR, DRAM, FAR_DRAM, FLYING, FAR_FLYING])
def test_latencies_of_the_levels(level: int) -> None:
    """Dependent loads of a line each: a hit, how far this SM is from its slice, the far half, DRAM and how late its piece comes."""
    m = machine()
    spread = [Touch(0, 32, (4000 * i,)) for i in range(9)]
    memory = Surroundings(where=lambda _s: level)
    took = time_of("LDG", *spread, memory=memory) - time_of("LDG", spread[0], memory=memory)
    far = m.far_latency if level in (FAR, FAR_DRAM, FAR_FLYING) else 0.0
    expected = sum(m.l2_latency + offsets(m, 0)(s >> 2) + far for (s,) in (t.sectors for t in spread[1:]))
    if level not in (NEAR, FAR):
        pieces = [s * m.sector // m.dram.piece for (s,) in (t.sectors for t in spread[1:])]
        expected += sum(m.dram_latency + m.simt.dram_spread * (tail(piece) - 1.0) for piece in pieces)
    assert took == pytest.approx(expected, rel=0.01)


def test_a_load_waits_for_the_latest_of_its_pieces_and_for_each_page() -> None:
    m = machine()
    piece, page = m.dram.piece // m.sector, PAGE // m.sector
    load_of = {n: [Touch(0, 32, tuple(piece * (n * i + k) for k in range(n))) for i in range(64)] for n in (1, 8)}
    mean = {}
    for n, touches in load_of.items():
        path = MemoryPath(m, Surroundings(where=lambda _s: DRAM))
        mean[n] = sum(path.load(t, 1e5 * i)[0] - 1e5 * i for i, t in enumerate(touches)) / len(touches)
    later = m.simt.dram_spread * sum(1 / k for k in range(2, 9))
    assert mean[8] - mean[1] == pytest.approx(later, rel=0.25)
    one, four = (MemoryPath(m, Surroundings(where=lambda _s: DRAM)).load(Touch(0, 32, t), 0.0)[0] for t in ((0,), tuple(page * k for k in range(4))))
    assert four - one >= 3 * m.simt.page - 2 * m.noc.spread


def test_what_is_on_its_way_takes_no_time_of_dram() -> None:
    m = machine()
    levels = {level: MemoryPath(m, Surroundings(where=lambda _s, level=level: level, per_read=50.0)) for level in (DRAM, FLYING)}  # type: ignore[misc]
    late = {level: [path.load(Touch(0, 32, (4000 * i,)), 0.0)[0] for i in range(40)][-1] for level, path in levels.items()}
    assert (levels[DRAM].dram_sectors, levels[FLYING].dram_sectors) == (40, 0)
    assert 39 * 50.0 <= late[DRAM] - late[FLYING] <= 40 * 50.0 + 4.5 * m.simt.dram_wait + 1e-6


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


def test_a_request_takes_a_cycle_for_each_word_of_a_bank_and_each_line_of_a_bank_of_tags() -> None:
    near, lines = Touch(0, 32, (0,)), tuple(4 * i for i in range(8))
    assert step("LDG", Touch(0, 32, lines, 8)) - step("LDG", near) == pytest.approx(7, abs=0.01)
    assert step("LDG", Touch(0, 32, lines, 1)) - step("LDG", near) == pytest.approx(tag_cycles(range(8)) - 1, abs=0.01)


def streams(sms: int, where: int) -> float:
    """Cycles of many independent loads of full lines."""
    m = machine()
    program = code([Instr("LDG", (i,), (99,), 1, i) for i in range(32)] + [Instr("FADD", (100,), (i,), 2) for i in range(32)])
    paths = [warp((0, ALL, tuple(Touch(i, 32, tuple(range(s := 4 * (w * 32 + i), s + 4))) for i in range(32)))) for w in range(32)]
    around = Surroundings(active_sms=sms, where=lambda _s: where, per_read=sms * m.sector / m.dram_rate)
    return run_sm(program, [cta(*paths)], 1, m, around).cycles


def test_an_sm_gets_its_share_and_never_more() -> None:
    m = machine()
    data = 32 * 32 * 128
    assert streams(1, NEAR) >= data / m.fill_rate
    for sms in (33, 66, 132):
        dram, l2 = data * sms / m.dram_rate, data * sms / m.l2_read_rate
        assert dram <= streams(sms, DRAM) <= dram + l2 + 2500, "all are asked for at once: they wait for L2, then for DRAM"
    times = [streams(s, DRAM) for s in (1, 33, 66, 132)]
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
    far = Surroundings(where=lambda s: DRAM if s >= 400 else NEAR)
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


@pytest.mark.parametrize("one_slice", [True, False])
def test_words_are_changed_so_often_a_second_by_all_sms(one_slice: bool) -> None:
    """32 lanes on one word: steps of the slice where it lies; with other SMs at other slices, steps of all slices."""
    m = machine()
    rate = m.simt.atomic_step if one_slice else m.simt.atomic_rate
    path = MemoryPath(m, Surroundings(active_sms=132, per_step=132 / rate if one_slice else 0.0))
    ends = [path.atomic(Touch(0, 32, (0,), 1, 32), 0.0) for _ in range(2)]
    assert 132 * 32 / (ends[1] - ends[0]) == pytest.approx(rate, rel=0.05)


def test_l2_takes_in_stores_and_what_comes_from_dram_at_one_rate() -> None:
    """A load from DRAM waits for the stores in front of it; one that hits in L2 does not."""
    m = machine()

    def waits(level: int, stores: int) -> float:
        path = MemoryPath(m, Surroundings(active_sms=m.sms, where=lambda _: level))
        for k in range(stores):
            path.store(Touch(0, 32, tuple(range(4096 + 16 * k, 4112 + 16 * k))), 0.0)
        return path.load(Touch(0, 32, tuple(range(16))), path.out.free)[0] - path.out.free

    share = m.sms * 16 * m.sector / m.l2_write_rate
    assert waits(DRAM, 64) - waits(DRAM, 0) > 10 * share
    assert waits(NEAR, 64) == pytest.approx(waits(NEAR, 0), abs=1.0)


def test_a_launch_lasts_until_l2_has_taken_in_its_stores() -> None:
    m = machine()
    path = MemoryPath(m, Surroundings(active_sms=m.sms))
    sent = max(path.store(Touch(0, 32, tuple(range(16 * k, 16 * k + 16))), 0.0) for k in range(64))
    assert path.settled > sent


@pytest.mark.parametrize("sectors, partial, slots", [((0, 1, 2, 3), 0, 4), ((0,), 0, 2), ((0, 4, 8), 0, 6), ((1, 2, 3, 4), 0, 4), ((0, 1, 2, 3, 4), 2, 7)])
def test_sectors_alone_in_their_lines_and_cut_ones_take_the_room_of_two_on_their_way_to_l2(sectors: tuple[int, ...], partial: int, slots: int) -> None:
    m = machine()
    path = MemoryPath(m, Surroundings(active_sms=m.sms))
    for i in range(100):
        path.store(Touch(0, 32, tuple(s + 400 * i for s in sectors), partial=partial), 0.0)
    assert path.settled == pytest.approx(100 * slots * m.sms * m.sector / m.l2_write_rate, rel=0.01)


def test_what_fills_up_sectors_written_in_part_takes_room_too() -> None:
    m = machine()
    path = MemoryPath(m, Surroundings(active_sms=m.sms, filled=0.5))
    for i in range(100):
        path.store(Touch(0, 32, (4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3), partial=4), 0.0)
    assert path.settled == pytest.approx(100 * 6 * m.sms * m.sector / m.l2_write_rate, rel=0.01)
