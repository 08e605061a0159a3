"""Registers that are read again: a warp goes on where its operands are at hand, also over an instruction of another pipe in between."""

from __future__ import annotations

from gpusim.devices.simt.costs import compile_code
from gpusim.lower.simt.code import Instr
from tests.unit.simt_code import code, machine

FIRST, AGAIN, GOES_ON = 9, 10, 14
SHARED = (100, 101)


def compiled(*ops: str) -> list[tuple[int, int, bool]]:
    """(issue cycles, those with operands at hand, goes on) of instructions that all read the same two registers and one of their own."""
    moves = [Instr("MOV", (r,), (), 1) for r in (*SHARED, *range(len(ops)))]
    instrs = [Instr(op, (i,), (*SHARED, i), 1) for i, op in enumerate(ops)]
    rows = compile_code(code([*moves, *instrs]), machine()).blocks[0][len(moves) :]
    return [(row[FIRST], row[AGAIN], row[GOES_ON]) for row in rows]


def test_the_second_of_two_has_its_operands_at_hand() -> None:
    assert compiled("FFMA", "FFMA") == [(2, 2, False), (2, 1, True)]


def test_another_pipe_in_between_keeps_the_operands() -> None:
    assert compiled("FFMA", "DFMA", "FFMA") == [(2, 2, False), (1, 1, True), (2, 1, True)]


def test_operands_of_another_pipe_are_not_at_hand() -> None:
    assert compiled("FFMA", "LOP3") == [(2, 2, False), (2, 2, False)]


def test_far_behind_nothing_is_at_hand() -> None:
    assert compiled("FFMA", *["MUFU.EX2"] * 6, "FFMA")[-1] == (2, 2, False)
