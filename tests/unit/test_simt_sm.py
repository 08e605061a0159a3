"""One SM: latencies and throughput of pipes, branches, barriers, slots; stalls that add up."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.devices.simt import sm as sm_module
from gpusim.devices.simt.memory import DRAM, NEAR, Surroundings
from gpusim.devices.simt.result import SmRun
from gpusim.devices.simt.sm import run_sm
from gpusim.errors import GpusimError
from gpusim.lower.simt.code import Code, Instr
from gpusim.spec.load import load_spec, names
from gpusim.spec.resolve import resolve
from gpusim.trace.simt import CtaPath, Touch
from tests.unit.simt_code import ALL, LOOP_ENDS, chain, code, cta, machine, warp


def cycles(program: Code, *ctas: CtaPath, slots: int = 1, memory: Surroundings | None = None) -> float:
    return run_sm(program, list(ctas), slots, machine(), memory).cycles


def per_instruction(op: str, warps: int, ilp: int) -> float:
    """Cycles an instruction of a warp takes, start and end of the run left out."""
    times = [cycles(code(chain(op, n, ilp)), cta(*[warp(0)] * warps)) for n in (256, 512)]
    return (times[1] - times[0]) / 256


@pytest.mark.parametrize(
    ("op", "latency", "interval"),
    [
        ("FFMA", 4, 1),
        ("IADD3", 4, 2),
        ("IMAD", 4, 2),
        ("IMAD.WIDE", 9, 4),
        ("MUFU.EX2", 17, 8),
        ("POPC", 17, 8),
        ("SHFL", 24, 4),
        ("DADD", 8, 2),
        ("MATCH", 369, 256),
    ],
)
def test_a_chain_shows_the_latency_and_many_warps_the_interval(op: str, latency: float, interval: float) -> None:
    assert per_instruction(op, 1, 1) == pytest.approx(latency)
    assert per_instruction(op, 32, 4) == pytest.approx(8 * interval, rel=0.01)


def test_both_halves_of_the_fma_pipe_take_floats_and_one_takes_integers() -> None:
    mixed = [Instr(("FFMA", "IMAD")[i % 2], (i % 8,), (i % 8,), 1) for i in range(512)]
    assert cycles(code(mixed), cta(*[warp(0)] * 32)) == pytest.approx(512 * 8, rel=0.02)
    assert cycles(code(chain("IMAD", 512, 8)), cta(*[warp(0)] * 32)) == pytest.approx(512 * 16, rel=0.02)


def test_a_result_takes_a_cycle_longer_to_another_pipe() -> None:
    other = [Instr(("FFMA", "FMNMX")[i % 2], (0,), (0,), 1) for i in range(256)]
    assert cycles(code(other), cta(warp(0))) - cycles(code(chain("FFMA", 256)), cta(warp(0))) == pytest.approx(255, abs=2)


@pytest.mark.parametrize(("ilp", "expected"), [(1, 2.0), (2, 1.5), (4, 1.0)])
def test_three_registers_take_two_cycles_unless_operands_are_at_hand(ilp: int, expected: float) -> None:
    first = [Instr("MOV", (100,), (), 1), Instr("MOV", (101,), (), 1)]
    times = [cycles(code([*first, *chain("FFMA", n, ilp, (100, 101))]), cta(*[warp(0)] * 32)) for n in (256, 512)]
    assert (times[1] - times[0]) / 256 / 8 == pytest.approx(expected, rel=0.03)


def test_a_predicate_that_guards_takes_longer_than_one_that_is_an_operand() -> None:
    guard = [Instr("ISETP", (1,), (0,), 1), Instr("FADD", (0,), (2, 1), 1)]
    operand = [Instr("ISETP", (1,), (0,), 1), Instr("SEL", (0,), (2, 1), 1)]
    assert cycles(code(guard), cta(warp(0))) > cycles(code(operand), cta(warp(0))) + 5


def loop(passes: int) -> tuple[Code, list[int | tuple[int, int]]]:
    body = [*chain("FFMA", 16), Instr("BRA", (), (), 1)]
    return code([Instr("MOV", (0,), (), 1)], body, [Instr("EXIT", (), (), 1)], ends=LOOP_ENDS), [0, *[1] * passes, 2]


def test_a_branch_costs_the_same_whether_it_jumps_or_not() -> None:
    times = [cycles(program, cta(warp(*path))) for program, path in (loop(n) for n in (4, 5, 6))]
    assert times[2] - times[1] == times[1] - times[0] == 61 + machine().simt.branch


def test_lanes_that_leave_a_loop_one_by_one_cost_a_split_each() -> None:
    program, path = loop(8)
    together = cycles(program, cta(warp(*path)))
    apart = cycles(program, cta(warp(0, *[(1, ALL >> i) for i in range(8)], 2)))
    assert apart - together == 7 * machine().simt.split


def test_sides_of_a_branch_run_one_after_the_other() -> None:
    side = chain("FFMA", 32)
    program = code([Instr("BSSY", (), (), 1), Instr("BRA", (), (9,), 1)], [*side, Instr("BRA", (), (), 1)], side, [Instr("BSYNC", (), (), 1)])
    one = cycles(program, cta(warp(0, 1, 3)))
    both = cycles(program, cta(warp(0, (1, 0xFFFF), (2, 0xFFFF0000), 3)))
    assert both - one >= 31 * 4
    assert both - one == pytest.approx(32 * 4 + machine().simt.split, abs=8)


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 32])
def test_a_barrier_takes_its_base_and_two_cycles_a_warp(warps: int) -> None:
    times = [cycles(code([Instr("BAR", (), (), 1)] * n), cta(*[warp(0)] * warps)) for n in (16, 32)]
    simt = machine().simt
    assert (times[1] - times[0]) / 16 == pytest.approx(simt.barrier + machine().barrier_per_warp * warps, abs=0.8)


def test_a_barrier_waits_for_the_slowest_warp_and_the_wait_is_named() -> None:
    program = code(chain("FFMA", 200), [Instr("BAR", (), (), 1)], chain("FFMA", 4))
    run = run_sm(program, [cta(warp(0, 1, 2), warp(1, 2))], 1, machine())
    assert run.stalls["barrier"] > 4 * 199
    assert run.cycles > 4 * 200


def test_warps_that_end_do_not_hold_up_a_barrier() -> None:
    program = code([Instr("BAR", (), (), 1)], [Instr("EXIT", (), (), 1)])
    assert cycles(program, cta(warp(0, 1), warp(1))) < 60


def test_an_sm_holds_so_many_ctas_and_the_next_begins_when_one_has_gone() -> None:
    program = code(chain("FFMA", 100))
    run = run_sm(program, lambda i: cta(warp(0), number=i) if i < 5 else None, 2, machine())
    ends = {c.cta: c.end for c in run.ctas}
    assert len(ends) == 5
    starts = sorted((c.start, c.cta) for c in run.ctas)
    assert [s for s, _ in starts[:2]] == [0.0, machine().simt.warp_launch]
    assert starts[2][0] >= min(ends[0], ends[1]) + machine().cta_change


def test_the_timeline_holds_every_pass_with_its_mask() -> None:
    program, path = loop(3)
    run = run_sm(program, [cta(warp(*path[:-1], (2, 0xFF)))], 1, machine(), timeline=True)
    assert [m.block for m in run.timeline] == path
    assert run.timeline[-1].mask == 0xFF
    assert [m.time for m in run.timeline] == sorted(m.time for m in run.timeline)


def test_lines_count_issues_and_active_lanes() -> None:
    program = code([Instr("FADD", (0,), (0,), 7), Instr("FADD", (0,), (0,), 8)])
    run = run_sm(program, [cta(warp((0, 0xF)), warp(0))], 1, machine())
    assert (run.lines[7].issues, run.lines[7].lanes) == (2, 36)
    assert run.lines[8].stall_cycles > 0
    assert run.instructions == 4


OPS = ["FFMA", "IADD3", "IMAD", "MUFU.EX2", "SHFL", "LDS", "LDG", "STG", "BAR", "LOP3", "ISETP", "ULDC"]


@st.composite
def programs(draw: st.DrawFn) -> tuple[Code, list[CtaPath], int]:
    ops = draw(st.lists(st.sampled_from(OPS), min_size=1, max_size=30))
    instrs = []
    memory = 0
    for i, op in enumerate(ops):
        access = None
        if op in ("LDS", "LDG", "STG"):
            access, memory = memory, memory + 1
        instrs.append(Instr(op, () if op in ("STG", "BAR") else (i % 5,), ((i * 3) % 5,), i, access))
    program = code(instrs, [Instr("EXIT", (), (), 99)])
    warps, ctas = draw(st.integers(1, 9)), draw(st.integers(1, 5))
    made = []
    for c in range(ctas):
        touches = tuple(Touch(a, 32, (8 * a, 8 * a + 1 + c), 1 + a % 3, 1) for a in range(memory))
        made.append(cta(*[warp(*[(0, ALL, touches)] * (1 + w % 2 * (0 if "BAR" in ops else 2)), 1) for w in range(warps)], number=c))
    return program, made, draw(st.integers(1, 3))


def result(given_: tuple[Code, list[CtaPath], int]) -> SmRun:
    program, ctas, slots = given_
    return run_sm(program, ctas, slots, machine(), Surroundings(active_sms=132, where=lambda s: DRAM if s % 2 else NEAR))


@settings(max_examples=60, deadline=None)
@given(programs())
def test_stalls_add_up_to_the_lives_of_the_warps(case: tuple[Code, list[CtaPath], int]) -> None:
    run = result(case)
    assert sum(run.stalls.values()) == pytest.approx(run.warp_cycles, rel=1e-9)
    assert min(run.stalls.values()) >= 0
    around = machine().simt.warp_start + machine().simt.warp_end
    lives = sum(len(case[1][c.cta].warps) * (c.end - c.start + around) for c in run.ctas)
    assert run.warp_cycles <= lives + 1e-6


@settings(max_examples=40, deadline=None)
@given(programs())
def test_running_ahead_changes_nothing(case: tuple[Code, list[CtaPath], int]) -> None:
    free = result(case)
    kept = sm_module.Sm.horizon
    try:
        sm_module.Sm.horizon = lambda self, core, limit: limit  # type: ignore[method-assign]
        strict = result(case)
    finally:
        sm_module.Sm.horizon = kept  # type: ignore[method-assign]
    assert strict.cycles == free.cycles
    assert strict.ctas == free.ctas
    assert strict.stalls == pytest.approx(free.stalls)


def test_no_sub_core_issues_more_than_an_instruction_a_cycle() -> None:
    run = run_sm(code(chain("NOP", 400)), [cta(*[warp(0)] * 16)], 1, machine())
    assert run.cycles >= 400 * 4
    assert run.instructions == 400 * 16


def test_what_cannot_run_is_refused() -> None:
    with pytest.raises(GpusimError, match="FOO"):
        cycles(code([Instr("FOO", (), (), 3)]), cta(warp(0)))
    with pytest.raises(GpusimError, match="ctas_per_sm"):
        run_sm(code([Instr("NOP", (), (), 3)]), [], 0, machine())


def test_nothing_to_run_takes_no_time() -> None:
    run = run_sm(code([Instr("NOP", (), (), 3)]), [], 1, machine())
    assert (run.cycles, run.instructions, run.warp_cycles) == (0.0, 0, 0.0)


@pytest.mark.parametrize("name", names())
def test_every_machine_runs_threads(name: str) -> None:
    spec = load_spec(name)
    slow = run_sm(code(chain("FFMA", 256, 8)), [cta(*[warp(0)] * 32)], 1, resolve(spec, 1000)).cycles
    assert slow == pytest.approx(256 * 32 * 32 / spec.sm.fma_lanes, rel=0.05)


def test_a_jump_to_code_that_is_not_at_hand_waits_for_instructions() -> None:
    far = chain("FFMA", 600)
    program = code([*chain("FFMA", 1), Instr("BRA", (), (), 1)], far, chain("FFMA", 1))
    there = run_sm(program, [cta(warp(0, 2, 0, 2, 0, 2))], 1, machine())
    roomy = run_sm(program, [cta(warp(*[0, 2] * 3))], 1, replace(machine(), threads=replace(machine().simt, code_buffer=10**6)))
    assert there.cycles == roomy.cycles + machine().simt.code_fetch
    assert there.stalls["no_instruction"] > roomy.stalls["no_instruction"]
