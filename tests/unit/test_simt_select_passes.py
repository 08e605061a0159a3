"""What happens to code before selection: webs, directions of loops, wide loads; and the balance of the pipes after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from gpusim.interp.simt.execute import execute
from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import For, Geometry, If, Imm, Load, Op, Reg, Stmt
from gpusim.ir.simt.walk import walk, writes
from gpusim.lower.simt import cfg
from gpusim.lower.simt.balance import balance
from gpusim.lower.simt.code import Code, Instr
from gpusim.lower.simt.copies import coalesced
from gpusim.lower.simt.directions import directed
from gpusim.lower.simt.registers import allocated, estimate
from gpusim.lower.simt.select import select
from gpusim.lower.simt.vectorise import vectorise
from gpusim.lower.simt.webs import split
from tests.unit.simt_select_maker import Maker, f32, i32

GEOMETRY = Geometry((2, 1, 1), (32, 1, 1))


def definitions(code: Code) -> Counter[int]:
    return Counter(reg.id for block in code.blocks for stmt in walk(block.ops) for reg in writes(stmt))


def reused(maker: Maker) -> Code:
    """One variable for two things, then a variable that a predicated If changes."""
    a, x, y = maker.buffer(), maker.reg("float32", "x"), maker.reg("float32", "y")
    tid = maker.op("tid.x")
    maker.op("add", maker.load(a, tid), f32(1), dst=x)
    maker.store(a, tid, x)
    maker.op("mul", maker.load(a, tid), f32(3), dst=x)
    maker.op("mov", f32(0), dst=y)
    inside: list[Stmt] = []
    maker.op("mov", x, body=inside, dst=y)
    maker.body.append(If(maker.op("lt", tid, i32(7)), tuple(inside), predicated=True))
    maker.store(a, tid, y)
    return cfg.build(maker.program())


def run(code: Code, values: np.ndarray) -> np.ndarray:
    out = values.copy()
    execute(code, Geometry((1, 1, 1), (32, 1, 1)), [out], sanitize=False)
    return out


def test_a_variable_used_for_two_things_becomes_two_registers() -> None:
    before, after = reused(Maker()), split(reused(Maker()))
    named = [r.id for b in after.blocks for s in walk(b.ops) for r in writes(s) if r.name == "x"]
    assert len(set(named)) == 2 and max(definitions(before).values()) == 2
    assert after.program.registers == before.program.registers + 1


def test_what_a_condition_overwrites_stays_in_one_register() -> None:
    code = split(reused(Maker()))
    named = {r.id for b in code.blocks for s in walk(b.ops) for r in writes(s) if r.name == "y"}
    assert len(named) == 1


def test_webs_keep_values() -> None:
    values = np.arange(32, dtype=np.float32)
    assert np.array_equal(run(split(reused(Maker())), values), run(reused(Maker()), values))
    assert run(reused(Maker()), values)[:8].tolist() == [3, 6, 9, 12, 15, 18, 21, 0]


def looped(maker: Maker) -> Code:
    """Every element of an array of 100 is doubled once, with a grid-stride loop."""
    a, var = maker.buffer(), maker.reg("int32", "i")
    n = maker.param()
    start = maker.grid()
    step = maker.op("mul", maker.op("nctaid.x"), maker.op("ntid.x"))
    inside: list[Stmt] = []
    maker.store(a, var, maker.op("mul", maker.load(a, var, inside), f32(2), body=inside), inside)
    maker.body.append(For(var, start, n, step, tuple(inside), unroll=1))
    return cfg.build(maker.program())


def test_a_grid_stride_loop_tests_one_direction() -> None:
    facts = LaunchFacts(GEOMETRY, {(1, "value"): 100})
    before, after = looped(Maker()), directed(looped(Maker()), facts)
    count = lambda code: Counter(s.op for b in code.blocks for s in b.ops if isinstance(s, Op))  # noqa: E731
    assert count(before)["select"] == count(before)["gt"] // 2 > 0
    assert count(after)["select"] == count(after)["gt"] == 0 and count(after)["lt"] == count(before)["lt"]


def test_one_direction_keeps_values() -> None:
    facts = LaunchFacts(GEOMETRY, {(1, "value"): 100})
    results = []
    for code in (looped(Maker()), directed(looped(Maker()), facts)):
        values = np.arange(100, dtype=np.float32)
        execute(code, GEOMETRY, [values, 100])
        results.append(values)
    assert np.array_equal(results[0], 2 * np.arange(100)) and np.array_equal(results[1], results[0])


def test_without_facts_both_directions_stay() -> None:
    code = looped(Maker())
    assert directed(code, None) is code


def wide(maker: Maker, order: tuple[int, ...]) -> Code:
    """Four neighbours of a row of eight, loaded in this order, summed with different weights."""
    a, s = maker.buffer(), maker.buffer(shared=256)
    tid = maker.op("tid.x")
    row = maker.op("mul", tid, i32(8))
    for k in range(4):
        maker.store(s, maker.op("add", row, i32(k)), maker.op("add", maker.load(a, tid), f32(k)))
    values = {k: maker.load(s, maker.op("add", row, i32(k))) for k in order}
    total: Reg = values[0]
    for k in (1, 2, 3):
        total = maker.op("add", maker.op("mul", total, f32(10)), values[k])
    maker.store(a, tid, total)
    return cfg.build(maker.program())


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 0, 1)])
def test_wide_loads_keep_values_and_accesses(order: tuple[int, ...]) -> None:
    before, after = wide(Maker(), order), vectorise(wide(Maker(), order))
    values = np.arange(32, dtype=np.float32)
    assert np.array_equal(run(after, values), run(before, values))
    loads = [s for b in after.blocks for s in b.ops if isinstance(s, Load) and s.buffer.space == "shared"]
    assert [len(load.dst) for load in loads] == [4]
    assert len(after.accesses) == len(before.accesses) - 3 and after.accesses[after.blocks[0].accesses[-2]].bytes == 16


def test_free_choices_go_to_the_pipe_with_less_to_do() -> None:
    adds = [Instr("IADD3", (k,), (9,)) for k in range(4)]
    assert {r.op for r in balance([[*adds, *[Instr("LOP3", (20,), (9,))] * 6]])[0][:4]} == {"VIADD"}
    assert {r.op for r in balance([[*adds, *[Instr("FFMA", (20,), (9,))] * 6]])[0][:4]} == {"IADD3"}


def test_an_add_with_carry_or_of_three_values_has_no_choice() -> None:
    rows = [Instr("IADD3", (1, 2), (9,)), Instr("IADD3", (3,), (7, 8, 9)), *[Instr("LOP3", (20,), (9,))] * 6]
    assert [r.op for r in balance([rows])[0][:2]] == ["IADD3", "IADD3"]


def test_registers_count_what_lives_at_once() -> None:
    loads = [Instr("LDG", (k,), (100,)) for k in range(40)]
    together = [*loads, *[Instr("STG", (), (100, k)) for k in range(40)]]
    apart = [row for k in range(40) for row in (loads[k], Instr("STG", (), (100, k)))]
    size = dict.fromkeys(range(101), 1)
    assert estimate([together], [()], size) - estimate([apart], [()], size) >= 24
    assert estimate([together], [()], {**size, 5: 2}) == estimate([together], [()], size) + 1
    assert [allocated(n) for n in (16, 17, 33)] == [16, 24, 40]


def test_immediates_of_a_multiply_add_share_one_slot() -> None:
    m = Maker()
    x = m.load(m.buffer(), m.op("tid.x"))
    m.store(m.buffer(), i32(0), m.op("fma", x, f32(0.5), f32(1.5)))
    found = Counter(row.op for b in m.select().blocks for row in b.instrs)
    assert found["FFMA"] == 1 and found["IMAD.MOV"] + found["MOV"] == 1
    assert Imm(0.5, "float32") == f32(0.5)


def handed_on(maker: Maker) -> Code:
    """Nested ifs whose sides each leave a value in a variable of their own, which is then copied outwards."""
    a, tid = maker.buffer(), maker.op("tid.x")
    outer, inner = maker.reg("float32", "outer"), maker.reg("float32", "inner")
    x = maker.load(a, tid)
    low: list[Stmt] = []
    maker.op("add", x, f32(1), body=low, dst=outer)
    high: list[Stmt] = []
    one: list[Stmt] = []
    maker.op("mul", x, f32(2), body=one, dst=inner)
    two: list[Stmt] = []
    maker.op("mul", x, f32(3), body=two, dst=inner)
    high.append(If(maker.op("lt", tid, i32(20), body=high), tuple(one), tuple(two)))
    maker.op("mov", inner, body=high, dst=outer)
    maker.body.append(If(maker.op("lt", tid, i32(10)), tuple(low), tuple(high)))
    maker.store(a, tid, outer)
    return cfg.build(maker.program())


def swapped(maker: Maker) -> Code:
    """Two variables that change places in every pass of a loop: their copies are needed."""
    a, tid = maker.buffer(), maker.op("tid.x")
    x, y, t, var = maker.reg("float32", "x"), maker.reg("float32", "y"), maker.reg("float32", "t"), maker.reg("int32", "k")
    maker.op("mov", f32(1), dst=x)
    maker.op("mov", f32(2), dst=y)
    inside: list[Stmt] = []
    maker.op("mov", x, body=inside, dst=t)
    maker.op("mov", y, body=inside, dst=x)
    maker.op("mov", t, body=inside, dst=y)
    maker.body.append(For(var, i32(0), tid, i32(1), tuple(inside), unroll=1))
    maker.store(a, tid, maker.op("sub", x, y))
    return cfg.build(maker.program())


@pytest.mark.parametrize("make", [handed_on, swapped, reused])
def test_sharing_registers_keeps_values(make: Callable[[Maker], Code]) -> None:
    values = np.arange(32, dtype=np.float32)
    assert np.array_equal(run(coalesced(split(make(Maker()))), values), run(make(Maker()), values))


def test_nested_branches_meet_in_one_place_without_copies() -> None:
    code = select(handed_on(Maker()))
    found = Counter(row.op for b in code.blocks for row in b.instrs)
    assert found["BSSY"] == found["BSYNC"] == 1 and found["MOV"] + found["IMAD.MOV"] == 0
