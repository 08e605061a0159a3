# mypy: allow-untyped-defs
"""Registers that do not fit: which values go to local memory, what that issues, and what it costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.cuda import float32
from gpusim.lower.simt import cfg
from gpusim.lower.simt.code import Code, Instr
from gpusim.lower.simt.flow import successors
from gpusim.lower.simt.registers import EXTRA, LEAST, SPARE, estimate
from gpusim.lower.simt.select import select
from gpusim.lower.simt.spills import WINDOWS, spill
from tests.unit.simt_select_maker import Maker, i32

N = 40


@cuda.jit
def sums(x, out, n):
    """40 sums at once, of all elements each with its own weight."""
    i = cuda.grid(1)
    acc = cuda.local.array(N, float32)
    for k in cuda.range(N, unroll=0):
        acc[k] = x[i + k]
    for j in cuda.range(n, unroll=1):
        v = x[j]
        for k in cuda.range(N, unroll=0):
            acc[k] = cuda.fma(v, acc[k], v)
    for k in cuda.range(N, unroll=0):
        out[i * N + k] = acc[k]


def measured(*args: Any, **options: Any) -> Any:
    """One launch."""
    return gs.run(*args, **options).run


def run(registers: int | None) -> Any:
    x, out = np.linspace(0, 1, 512, dtype=np.float32), np.zeros(256 * N, np.float32)
    return measured(sums, "h200", grid=2, block=128, args=(x, out, 50), registers=registers)


def test_what_does_not_fit_costs_instructions_local_traffic_and_time() -> None:
    free, wide, tight = run(None), run(64), run(24)
    assert wide.counters["instructions"] == free.counters["instructions"] and "local_load_requests" not in wide.counters
    moved = tight.counters["local_load_requests"] + tight.counters["local_store_requests"]
    assert moved > 8 * 50 * 20
    assert tight.counters["instructions"] - wide.counters["instructions"] == pytest.approx(moved, rel=0.02)
    assert tight.cycles > 1.5 * wide.cycles
    assert tight.counters["local_load_sectors"] == 4 * tight.counters["local_load_requests"]


def test_fewer_registers_spill_more() -> None:
    moved = [run(r).counters.get("local_load_requests", 0) for r in (64, 48, 40, 32, 24)]
    assert moved == sorted(moved) and moved[0] == 0 and moved[1] < moved[2] < moved[4]


def test_a_limit_of_the_kernel_does_as_one_of_the_launch() -> None:
    limited = cuda.jit(max_registers=24)(sums.py_func)
    x, out = np.linspace(0, 1, 512, dtype=np.float32), np.zeros(256 * N, np.float32)
    given = measured(limited, "h200", grid=2, block=128, args=(x, out, 50))
    assert given.counters == run(24).counters
    assert measured(limited, "h200", grid=2, block=128, args=(x, out, 50), registers=64).counters == run(64).counters


def through(loop_uses: int) -> tuple[list[list[Instr]], list[tuple[int, ...]], dict[int, int]]:
    """Three blocks: 20 values are computed (0 to 19), a loop uses the first `loop_uses` of them, then all are stored."""
    made = [Instr("S2R", (100,)), *[Instr("LDG", (k,), (100,)) for k in range(20)]]
    loop = [*[Instr("FADD", (50,), (50, k)) for k in range(loop_uses)], Instr("BRA", (), (60,))]
    stored = [Instr("STG", (), (100, k)) for k in range(20)]
    return [[*made, Instr("MOV", (50,), (100,))], loop, stored], [(1,), (1, 2), ()], {60: 0}


def test_a_value_that_only_lives_through_a_loop_goes_first() -> None:
    rows, succ, size = through(10)
    new, moved = spill(rows, succ, size, 17 + SPARE)
    assert [row.op for row in new[1]] == [row.op for row in rows[1]]
    stores = [row.srcs[0] for row in new[0] if row.op == "STL"]
    assert moved == len(stores) and set(stores) <= set(range(10, 20))
    assert sorted(row.dst[0] for row in new[2] if row.op == "LDL") == sorted(stores)


def test_every_load_follows_a_store_and_pressure_is_what_was_allowed() -> None:
    rows, succ, size = through(20)
    new, _ = spill(rows, succ, size, 15 + SPARE)
    stored = {r for block in new for row in block if row.op == "STL" for r in row.srcs}
    assert stored and all(row.dst[0] in stored for block in new for row in block if row.op == "LDL")
    assert estimate(rows, succ, size) > 15 + EXTRA >= estimate(new, succ, size)


def test_a_constant_is_made_again_instead_of_loaded() -> None:
    rows = [[*[Instr("IMAD.MOV", (k,)) for k in range(30)], *[Instr("STG", (), (100, k)) for k in range(30)]]]
    new, moved = spill(rows, [()], {}, LEAST)
    assert moved == 0 and not {row.op for row in new[0]} & {"LDL", "STL"}
    assert len(new[0]) == len(rows[0]) and estimate(new, [()], {}) - EXTRA + SPARE <= LEAST < estimate(rows, [()], {}) - EXTRA + SPARE


def test_a_loaded_value_serves_uses_near_by() -> None:
    values = [Instr("LDG", (k,), (100,)) for k in range(16)]
    body = [Instr("FADD", (40,), (40, k)) for k in range(1, 16) for _ in range(WINDOWS[0] // 8)]
    uses = [Instr("FADD", (40,), (40, 0)) for _ in range(WINDOWS[1])]
    new, _ = spill([[*values, Instr("MOV", (40,), (100,)), *body, *uses, Instr("STG", (), (100, 40))]], [()], {}, 15 + SPARE)
    assert sum(row.op == "LDL" and row.dst == (0,) for row in new[0]) == 1


def test_pairs_move_as_pairs() -> None:
    rows = [[*[Instr("LDG", (k,), (100,)) for k in range(14)], *[Instr("DADD", (50,), (50, k)) for k in range(14)]]]
    new, moved = spill(rows, [()], dict.fromkeys(range(14), 2), 20)
    moves = [row for row in new[0] if row.op in ("LDL", "STL")]
    assert moves and {row.bits for row in moves} == {64} and moved == 2 * sum(row.op == "STL" for row in moves)


def test_selected_code_may_be_selected_again() -> None:
    m = Maker()
    a = m.buffer()
    values = [m.load(a, m.op("mul", m.op("tid.x"), i32(k))) for k in range(2, 40)]
    for k, value in enumerate(values):
        m.store(a, i32(k), value)
    once = select(cfg.build(m.program()))
    twice, tight = select(once), select(once, given_registers=24)
    assert [len(b.instrs) for b in twice.blocks] == [len(b.instrs) for b in once.blocks]
    assert once.spills == 0 < tight.spills and tight.registers == 24 and _pressure(tight) - EXTRA + SPARE <= 24 < once.registers


def test_an_estimate_a_little_above_a_given_number_is_no_reason_to_spill() -> None:
    m = Maker()
    a, b = m.buffer(), m.buffer()
    values = [m.load(a, i32(k)) for k in range(40)]
    for k, value in enumerate(values):
        m.store(b, i32(k), value)
    free = select(cfg.build(m.program()))
    near, far = (select(free, given_registers=free.registers - d) for d in (EXTRA - SPARE, EXTRA + 2))
    assert near.spills == 0 < far.spills and near.registers == free.registers - EXTRA + SPARE


def _pressure(code: Code) -> int:
    return estimate([b.instrs for b in code.blocks], [successors(b) for b in code.blocks], {})


def made_up(seed: int) -> tuple[list[list[Instr]], list[tuple[int, ...]]]:
    """Eight blocks with branches forward and a loop, over 24 registers, each defined at the begin."""
    rng = np.random.default_rng(seed)
    ops = ("FADD", "LDG", "IMAD.MOV")
    rows = [[Instr("LDG", (r,), ()) if r % 4 else Instr("IMAD.MOV", (r,)) for r in range(24)]]
    for _ in range(7):
        block = []
        for _ in range(int(rng.integers(0, 30))):
            read = tuple(int(r) for r in rng.integers(0, 24, 3))
            target = int(rng.integers(0, 24))
            again = bool(target % 4 == 0)
            block.append(Instr("STG", (), read) if again else Instr(str(rng.choice(ops[:2])), (target,), read))
        rows.append(block)
    return rows, [(1, 2), (2,), (3, 4), (4,), (5, 2), (6, 7), (7,), ()]


def seen(rows: list[list[Instr]], path: list[int]) -> list[tuple[int, ...]]:
    """What instructions read along a path: the number of the instruction that made each value; loads and stores of spilled values move it."""
    value: dict[int, int] = {}
    memory: dict[int, int] = {}
    out: list[tuple[int, ...]] = []
    count = 0
    for b in path:
        for row in rows[b]:
            if row.op == "LDL":
                value[row.dst[0]] = memory[row.dst[0]]
            elif row.op == "STL":
                memory[row.srcs[0]] = value[row.srcs[0]]
            elif row.op == "IMAD.MOV":
                value[row.dst[0]] = -1 - row.dst[0]
            else:
                count += 1
                out.append(tuple(value[r] for r in row.srcs))
                value.update((r, count) for r in row.dst)
    return out


@pytest.mark.parametrize("seed", range(12))
def test_spilling_changes_no_value_on_any_way(seed: int) -> None:
    rows, succ = made_up(seed)
    new, moved = spill(rows, succ, {}, 15 + SPARE)
    assert moved > 0 and estimate(new, succ, {}) <= 15 + EXTRA < estimate(rows, succ, {})
    rng = np.random.default_rng(seed)
    for _ in range(20):
        path = [0]
        while succ[path[-1]]:
            path.append(int(rng.choice(succ[path[-1]])))
        assert seen(new, path) == seen(rows, path)
