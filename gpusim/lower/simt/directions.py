"""Loops whose step is a register: which way they go is known at launch, and then one comparison ends them.

A range in Python stops on either side, by the sign of its step. In a grid-stride loop the step is a product of grid and block sizes.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import If, Imm, Op, Reg, Simple
from gpusim.lower.simt.code import Code
from gpusim.lower.simt.expr import Numbers
from gpusim.lower.simt.flow import analyse

_LENGTH = 4


def directed(code: Code, facts: LaunchFacts | None) -> Code:
    """`code` with the tests of both directions cut to the one that the launch goes."""
    if facts is None or not any(_tests(b.ops) for b in code.blocks):
        return code
    numbers = Numbers(analyse(code))
    return replace(code, blocks=tuple(replace(b, ops=_cut(b.ops, numbers, facts)) for b in code.blocks))


def _tests(ops: tuple[Simple | If, ...]) -> list[int]:
    """Where the four operations of such a test begin: step > 0, counter < stop, counter > stop, the choice."""
    found = []
    for at in range(len(ops) - _LENGTH + 1):
        up, below, above, choice = ops[at : at + _LENGTH]
        if all(isinstance(op, Op) for op in (up, below, above, choice)):
            names = tuple(op.op for op in (up, below, above, choice))  # type: ignore[union-attr]
            if names == ("gt", "lt", "gt", "select") and choice.args == (up.dst, below.dst, above.dst) and below.args == above.args:  # type: ignore[union-attr]
                found.append(at)
    return found


def _cut(ops: tuple[Simple | If, ...], numbers: Numbers, facts: LaunchFacts) -> tuple[Simple | If, ...]:
    rows = list(ops)
    for at in reversed(_tests(ops)):
        up, below, above, choice = rows[at : at + _LENGTH]
        assert isinstance(up, Op) and isinstance(below, Op) and isinstance(above, Op) and isinstance(choice, Op)
        step = _value(numbers, numbers.of(up.args[0]), facts) if isinstance(up.args[1], Imm) and up.args[1].value == 0 else None
        if step:
            test = below if step > 0 else above
            rows[at : at + _LENGTH] = [replace(test, dst=choice.dst)]
    return tuple(rows)


def _value(numbers: Numbers, number: int, facts: LaunchFacts) -> int | None:
    """The value that a number has in every thread of the launch, if it has one."""
    node = numbers.table[number]
    if node.op == "imm":
        return node.value
    if node.op == "reg":
        return _parameter(numbers, node.value, facts)
    if node.op.startswith(("ntid.", "nctaid.")):
        extents = facts.geometry.block if node.op.startswith("ntid") else facts.geometry.grid
        return extents["xyz".index(node.op[-1])]
    parts = [_value(numbers, a, facts) for a in node.args]
    if node.op not in ("add", "mul") or None in parts:
        return None
    return sum(p or 0 for p in parts) if node.op == "add" else prod(p or 0 for p in parts)


def _parameter(numbers: Numbers, reg: int, facts: LaunchFacts) -> int | None:
    for param in numbers.flow.code.program.params:
        if param.reg == Reg(reg, param.reg.dtype, param.reg.name):
            value = facts.params.get((param.arg, param.what))
            return int(value) if value is not None else None
    return None
