"""Blocks: the numbering law, the form of loops, and the same values as the statements."""

from __future__ import annotations

import pytest

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Break, Buffer, Continue, For, If, Imm, Load, Op, Reg, Return, SimtProgram, Stmt, Store, While
from gpusim.lower.simt.cfg import build
from gpusim.lower.simt.code import Block, Branch, Code, Exit, Jump
from gpusim.lower.simt.tidy import targets
from tests.unit.simt_programs import PARAMS, random_program, run_code, run_program

OUT = Buffer(0, "out", "global", "int32", None, 0)
N = Reg(0, "int32", "n")
P = Reg(1, "bool")
Q = Reg(4, "bool")
I = Reg(2, "int32", "i")
ACC = Reg(3, "int32", "acc")


def program(*body: Stmt) -> SimtProgram:
    return SimtProgram("t", (), (), (OUT,), body, 10, file="t.py")


def ends(code: Code) -> list[object]:
    return [b.end for b in code.blocks]


def imm(value: int) -> Imm:
    return Imm(value, "int32")


ADD = Op(ACC, "add", (ACC, I), 5)
STORE = Store(OUT, imm(0), (ACC,), 6)


def test_straight_code_is_one_block() -> None:
    code = build(program(ADD, STORE))
    assert [b.ops for b in code.blocks] == [(ADD, STORE)]
    assert ends(code) == [Exit()]


def test_branch_has_sides_before_join() -> None:
    code = build(program(If(P, (ADD,), (STORE,), 3), STORE))
    assert ends(code) == [Branch(P, 1, 2, 3), Jump(3), Jump(3), Exit()]


def test_early_return_ends_in_a_block_of_its_own_before_the_rest() -> None:
    code = build(program(If(P, (Return(2),), (), 2), STORE))
    assert ends(code) == [Branch(P, 1, 2, 2), Exit(), Exit()]
    assert code.blocks[1].ops == ()


def test_tail_under_a_condition_exits_the_other_lanes_at_once() -> None:
    code = build(program(ADD, If(P, (STORE,), (), 2)))
    assert ends(code) == [Branch(P, 2, 1, 2), Exit(), Exit()]
    assert code.blocks[1].ops == () and code.blocks[2].ops == (STORE,)


def test_counted_loop_is_one_block_with_guard() -> None:
    code = build(program(For(I, imm(0), N, imm(1), (ADD,), 4, 1), STORE))
    first, begin, body, last = code.blocks
    assert isinstance(first.end, Branch) and (first.end.yes, first.end.no) == (1, 3)
    assert [type(op) for op in first.ops] == [Op] and first.ops[0].args == (imm(0), N)
    assert [op.op for op in begin.ops if isinstance(op, Op)] == ["mov"] and begin.end == Jump(2)
    assert isinstance(body.end, Branch) and (body.end.yes, body.end.no) == (2, 3)
    assert [op.op for op in body.ops if isinstance(op, Op)] == ["add", "add", "lt"]
    assert last.ops == (STORE,)


def test_guard_left_out_where_constants_prove_an_iteration() -> None:
    code = build(program(For(I, imm(0), imm(9), imm(1), (ADD,), 4, 1), STORE))
    assert ends(code)[0] == Jump(1)
    assert isinstance(code.blocks[1].end, Branch) and code.blocks[1].end.yes == 1


def test_while_head_stands_in_guard_and_at_the_bottom() -> None:
    head = (Load((I,), OUT, imm(1), 4), Op(P, "lt", (I, N), 4))
    code = build(program(While(head, P, (ADD,), 4), STORE))
    assert code.blocks[0].ops == head
    assert code.blocks[1].ops == () and code.blocks[2].ops == (ADD, *head)
    assert [a.block for a in code.accesses] == [0, 2, 3]
    assert [b.accesses for b in code.blocks] == [(0,), (), (1,), (2,)]


def test_break_waits_behind_the_loop_and_continue_at_its_bottom() -> None:
    body = (If(P, (Break(5),), (), 5), ADD, If(P, (Continue(6),), (), 6), STORE)
    code = build(program(For(I, imm(0), N, imm(1), body, 4, 1), ADD))
    after = len(code.blocks) - 1
    assert code.blocks[1].end == Jump(2)
    assert isinstance(code.blocks[2].end, Branch) and code.blocks[2].end.yes == after
    latch = code.blocks[after - 1]
    assert isinstance(code.blocks[3].end, Branch) and code.blocks[3].end.yes == latch.id
    assert isinstance(latch.end, Branch) and latch.end.yes == 2


def test_two_tests_that_lead_to_one_place_are_one_branch() -> None:
    """Also the guard of a loop inside an if; not where the second test needs more than a compare, or where its result is read behind."""
    test = Op(Q, "lt", (I, N), 4)
    blocks = build(program(If(P, (test, If(Q, (ADD,), (), 4)), (), 3), STORE)).blocks
    assert len(blocks) == 3 and [op.op for op in blocks[0].ops if isinstance(op, Op)] == ["lt", "and"]
    assert len(build(program(If(P, (For(I, imm(0), N, imm(1), (ADD,), 4, 1),), (), 3), STORE)).blocks) == 4
    load = Load((I,), OUT, imm(1), 4)
    assert len(build(program(If(P, (load, test, If(Q, (ADD,), (), 4)), (), 3), STORE)).blocks) == 4
    seen = Op(ACC, "select", (Q, ACC, ACC), 9)
    assert len(build(program(If(P, (test, If(Q, (ADD,), (), 4)), (), 3), seen, STORE)).blocks) == 4


def test_a_loop_of_several_blocks_counts_at_its_begin() -> None:
    """Unless the body reads the count behind its first block."""
    blocks = build(program(For(I, imm(0), N, imm(1), (If(P, (STORE,), (STORE,), 5),), 4, 1), STORE)).blocks
    first = next(b for b in blocks if isinstance(b.end, Branch) and b.end.cond == P)
    assert [op.op for op in first.ops if isinstance(op, Op)] == ["add", "lt"]
    blocks = build(program(For(I, imm(0), N, imm(1), (If(P, (ADD,), (STORE,), 5),), 4, 1), STORE)).blocks
    assert next(b for b in blocks if isinstance(b.end, Branch) and b.end.cond == P).ops == ()


def test_zero_step_and_stray_break_are_refused() -> None:
    with pytest.raises(GpusimError, match="t.py:4: the step of a range is 0"):
        build(program(For(I, imm(0), N, imm(0), (ADD,), 4)))
    with pytest.raises(GpusimError, match="t.py:8: break outside"):
        build(program(Break(8)))


def test_predicated_if_stays_in_its_block() -> None:
    small = If(P, (STORE,), (), 3, predicated=True)
    code = build(program(small, STORE))
    assert [b.ops for b in code.blocks] == [(small, STORE)]
    assert code.blocks[0].accesses == (0, 1)


def postdominator(blocks: tuple[Block, ...], start: int) -> int:
    """By sets: the nearest block that every way from `start` to an end passes; len(blocks) stands for the end of all."""
    end = len(blocks)
    after = {b.id: set(range(end + 1)) for b in blocks} | {end: {end}}
    changed = True
    while changed:
        changed = False
        for b in reversed(blocks):
            new = {b.id} | set.intersection(*(after[t] for t in targets(b.end) or (end,)))
            changed |= new != after[b.id]
            after[b.id] = new
    strict = after[start] - {start}
    return max(strict, key=lambda b: len(after[b]))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_keep_values_and_the_numbering_law(seed: int) -> None:
    program = random_program(seed)
    code = build(program)
    assert run_code(code, PARAMS, seed)[0] == run_program(program, PARAMS, seed)[0]
    blocks = code.blocks
    assert [b.id for b in blocks] == list(range(len(blocks)))
    for b in blocks:
        if isinstance(b.end, Branch) and b.end.yes > b.id and b.end.no > b.id:
            join = postdominator(blocks, b.id)
            assert join > max(x for x in targets(b.end) if x != join), "a join stands behind both sides"
    used = [a for b in blocks for a in b.accesses]
    assert used == list(range(len(code.accesses)))
