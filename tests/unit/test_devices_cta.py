"""CTAs in time, by streams made by hand on the quiet made-up GPU: what an effect costs alone, and what CTAs share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gpusim import effects as fx
from gpusim.devices.cta import REASONS
from gpusim.devices.gpu import Gpu, Life, Timed
from gpusim.devices.stream import Stream
from gpusim.launch.streaming import stream
from tests.laws.specs import quiet_machine, toy, toy_machine
from tests.unit.lowering import lowered

MMA = fx.Matrix("mma.sync", "bf16", 16, 8, 16, count=64)
WGMMA = fx.Matrix("wgmma", "bf16", 64, 128, 16, count=20)


def _stream(body: Sequence[Any], ctas: int = 1, warps: int = 4, steps: int = 1) -> Stream:
    return Stream((ctas,), warps, 0, (), (), "k", (), tuple((e, -1) for e in body), (), steps, tuple(range(steps)))


def _run(body: Sequence[Any], dealt: Sequence[int] = (0,), ctas: int | None = None, **options: Any) -> Timed:
    changes = options.pop("machine", {})
    made = _stream(body, ctas or len(dealt), **options)
    return Gpu(quiet_machine(**changes), made, 2, "cold").run(range(made.ctas), dealt)


def _life(body: Sequence[Any], **options: Any) -> float:
    (life,) = _run(body, **options).lives
    return life.ended - life.begun


def _spans(life: Life) -> dict[str, float]:
    return {reason: spent for reason, spent in zip(REASONS, life.spans, strict=True) if spent}


# ---- issue ----
@pytest.mark.parametrize(("warps", "cycles"), [(1, 100), (4, 100), (8, 200), (32, 800)])
def test_independent_instructions_issue_one_a_cycle_on_each_sub_core(warps: int, cycles: int) -> None:
    assert _life([fx.Issue(100, chain=0.0)], warps=warps) == cycles


@pytest.mark.parametrize(("warps", "cycles"), [(4, 400), (8, 400), (16, 400), (32, 800)])
def test_dependent_instructions_wait_for_each_other_until_other_warps_fill_the_gaps(warps: int, cycles: int) -> None:
    assert _life([fx.Issue(100, chain=1.0)], warps=warps) == cycles


def test_issuing_is_selected_and_the_rest_is_waiting() -> None:
    (life,) = _run([fx.Issue(100, chain=1.0)]).lives
    assert _spans(life) == {"selected": 100, "wait": 300}


def test_instructions_that_need_more_slots_take_longer() -> None:
    assert _life([fx.Issue(100, slots=3.0, chain=0.0)]) == 300


def test_instructions_are_counted_per_warp() -> None:
    assert _run([fx.Issue(100), fx.Issue(20)], dealt=(0, 1), warps=8).counts["instructions"] == 2 * 8 * 120


@pytest.mark.parametrize("chain", [0.0, 1.0])
def test_instructions_are_slow_beside_matrix_instructions(chain: float) -> None:
    """1000 cycles of matrix work; independent instructions take three slots each meanwhile, dependent ones a fifth longer."""
    unit = quiet_machine().wgmma
    assert unit is not None
    slow = {"wgmma": unit.model_copy(update={"beside": {"fma": 2.0, "alu": 4.0}, "queue": 100})}
    work, alone = fx.Matrix("wgmma", "bf16", 64, 128, 16, count=16), fx.Issue(100, chain=chain)
    each = 3.0 if chain == 0.0 else 4.0 * 1.2
    assert _life([work, alone], machine=slow) == pytest.approx(100 * each)
    assert _life([alone], machine=slow) == pytest.approx(100 * (1.0 + 3.0 * chain))


# ---- barriers and fences ----
@pytest.mark.parametrize("warps", [4, 8])
def test_a_barrier_and_a_fence(warps: int) -> None:
    (life,) = _run([fx.Barrier(), fx.Fence()], warps=warps).lives
    assert _spans(life) == {"barrier": 10 + 2 * warps, "membar": 50}


# ---- matrix ----
def test_wgmma_is_asynchronous_until_it_is_waited_for() -> None:
    busy = 20 * 64 * 128 * 16 / 2048
    assert _life([WGMMA]) < busy
    assert _life([WGMMA, fx.WaitMatrix(0)]) == busy + 60
    assert _life([WGMMA, fx.WaitMatrix(1)]) == _life([WGMMA])


def test_the_queue_of_the_tensor_core_holds_the_warps() -> None:
    """8 of 20 instructions of 64 cycles may be outstanding."""
    assert _life([WGMMA]) == (20 - 8) * 64


def test_waiting_leaves_the_youngest_groups_pending() -> None:
    assert _life([WGMMA, WGMMA, fx.WaitMatrix(1)]) == max(20 * 64 + 60, (40 - 8) * 64)


def test_mma_sync_takes_its_operands_or_its_arithmetic() -> None:
    arithmetic = 64 * 16 * 8 * 16 / 1024
    assert _life([MMA, fx.WaitMatrix(0)]) == pytest.approx(arithmetic + 20 + 20)
    starved = fx.Matrix("mma.sync", "bf16", 16, 8, 16, count=64, wavefronts=500, loads=8)
    assert _life([starved, fx.WaitMatrix(0)]) == pytest.approx(500 + 20 + 20)


@pytest.mark.parametrize("op", [MMA, WGMMA], ids=["mma.sync", "wgmma"])
def test_ctas_of_an_sm_share_its_tensor_cores(op: fx.Matrix) -> None:
    body = [op, fx.WaitMatrix(0)]
    alone, together, apart = (_run(body, dealt=dealt) for dealt in ((0,), (0, 0), (0, 1)))
    busy = alone.busy["tensor"]
    assert together.busy["tensor"] == 2 * busy
    assert max(life.ended for life in apart.lives) == max(life.ended for life in alone.lives)
    work = busy * len(Gpu(quiet_machine(), _stream(body), 1, "cold").sms)
    assert max(life.ended for life in together.lives) == pytest.approx(max(life.ended for life in alone.lives) + work)


def test_matrix_work_is_counted() -> None:
    counts = _run([WGMMA, MMA, fx.WaitMatrix(0)], dealt=(0, 3, 5)).counts
    assert counts["tensor_fma"] == 3 * (20 * 64 * 128 * 16 + 64 * 16 * 8 * 16)


# ---- shared and local memory ----
def test_passes_through_shared_memory() -> None:
    timed = _run([fx.Shared(200, 10)])
    (life,) = timed.lives
    assert life.ended - life.begun == 200 + 20
    assert timed.counts["shared_wavefronts"] == 200
    assert _life([fx.Shared(200, 10)], machine={"shared_rate": 64.0}) == 400 + 20


def test_stores_of_what_loads_bring_go_as_it_arrives() -> None:
    """The passes of all but the last store hide behind the loads; without loads under way they count in full."""
    machine = quiet_machine()
    made = stream(lowered(toy(), 64, 64, 32, tile=(64, 64, 32), stages=1))
    (life,) = Gpu(machine, made, 1, "cold").run([0], [0]).lives
    passes = sum(e.wavefronts for e, _ in made.body if isinstance(e, fx.Shared))
    epilogue = sum(e.wavefronts + machine.shared_latency for e, _ in made.epilogue if isinstance(e, fx.Shared))
    assert _spans(life)["short_scoreboard"] < passes + machine.shared_latency + epilogue
    assert _life([fx.Shared(200, 10, arriving=True)]) == 200 + 20


def test_spills_that_do_not_fit_l1_come_back_from_l2() -> None:
    small, large = fx.Local(10, 10, footprint=1000), fx.Local(10, 10, footprint=1_000_000)
    assert _life([large]) >= _life([small]) + 200
    assert _run([small]).counts["spill_bytes"] == 20 * 4 * 128


# ---- copies ----
@pytest.mark.parametrize("stages", [2, 4])
def test_a_cta_waits_for_its_copies(stages: int) -> None:
    """One block and one step: nothing hides the way from DRAM."""
    machine = quiet_machine()
    made = stream(lowered(toy(), 64, 64, 32, tile=(64, 64, 32), stages=stages))
    (life,) = Gpu(machine, made, 1, "cold").run([0], [0]).lives
    way = machine.cp_async_latency + machine.l2_latency + machine.dram_latency
    hidden = sum(spent for reason, spent in _spans(life).items() if reason != "long_scoreboard")
    assert way - hidden < _spans(life)["long_scoreboard"] < 2 * way
    assert life.ended - life.begun > way


def test_copies_ahead_hide_the_way_to_memory() -> None:
    lives = {}
    for stages in (2, 4):
        made = stream(lowered(toy(), 64, 64, 1024, tile=(64, 64, 32), stages=stages))
        (life,) = Gpu(quiet_machine(), made, 1, "cold").run([0], [0]).lives
        lives[stages] = life
    assert _spans(lives[4])["long_scoreboard"] < 0.7 * _spans(lives[2])["long_scoreboard"]
    assert lives[4].ended < lives[2].ended


# ---- lives ----
@pytest.mark.parametrize("slots", [1, 2])
def test_every_block_lives_once_and_a_slot_holds_one(slots: int) -> None:
    machine = toy_machine()
    made = _stream([fx.Issue(50), fx.Barrier(), WGMMA, fx.WaitMatrix(0)], ctas=60, steps=3)
    timed = Gpu(machine, made, slots, "cold").run(range(60), [sm for _ in range(slots) for sm in range(12)])
    assert sorted(life.number for life in timed.lives) == list(range(60))
    assert [life.ended for life in timed.lives] == sorted(life.ended for life in timed.lives)
    for life in timed.lives:
        peers = [other for other in timed.lives if other.sm == life.sm and other.begun <= life.begun < other.ended]
        assert len(peers) <= slots, "an SM holds as many CTAs as it has slots"
    assert {life.sm for life in timed.lives} == set(range(12))


def test_the_first_blocks_go_where_they_are_dealt() -> None:
    timed = _run([fx.Issue(50)], dealt=(7, 2, 11))
    assert {life.number: life.sm for life in timed.lives} == {0: 7, 1: 2, 2: 11}


def test_spans_tile_the_life_of_a_cta_and_marks_its_steps() -> None:
    made = _stream([fx.Issue(50), fx.Barrier(), WGMMA, fx.Fence(), fx.WaitMatrix(0), fx.Shared(10, 2)], ctas=30, steps=5)
    timed = Gpu(toy_machine(), made, 1, "cold").run(range(30), range(12))
    for life in timed.lives:
        assert sum(life.spans) == pytest.approx(life.ended - life.begun)
        assert len(life.marks) == 6
        assert life.begun <= life.marks[0] and list(life.marks) == sorted(life.marks) and life.marks[-1] <= life.ended


def test_only_the_first_block_of_an_sm_fetches_its_instructions() -> None:
    timed = _run([fx.Barrier()], dealt=(0, 1), ctas=6, machine={"cold_fetch": 200.0})
    first, later = timed.lives[:2], timed.lives[2:]
    assert [_spans(life) for life in first] == [{"no_instruction": 200, "barrier": 18}] * 2
    assert [_spans(life) for life in later] == [{"barrier": 18}] * 4


def test_a_slot_takes_its_next_block_after_the_change() -> None:
    timed = _run([fx.Fence()], dealt=(0,), ctas=3, machine={"cta_change": 300.0})
    assert [life.begun for life in timed.lives] == [0, 350, 700]


def test_blocks_are_replaced_no_faster_than_the_chip_can() -> None:
    timed = _run([fx.Fence()], dealt=(0, 1, 2), ctas=6, machine={"per_cta": 40.0})
    assert sorted(life.begun for life in timed.lives) == [0, 0, 0, 90, 130, 170]


def test_a_block_alone_on_its_sm_is_not_slowed_by_those_before_it() -> None:
    timed = _run([fx.Issue(50, chain=0.0)], dealt=(0,), ctas=3)
    assert [_spans(life) for life in timed.lives] == [{"selected": 50}] * 3
