"""Two branches in a row to one place become one: `if a: if b: ...` tests a and b together where b costs one compare.

So is a loop inside an if: its guard is tested with the condition of the if. All lanes then compute the second condition, so nothing else
may stand in front of it, and nobody may see what it computes where the first condition fails.
"""

from __future__ import annotations

from dataclasses import replace

from gpusim.ir.simt.nodes import Imm, Op, Reg
from gpusim.ir.simt.walk import writes
from gpusim.lower.simt.code import Block, Branch, targets
from gpusim.lower.simt.tidy import later_reads, without

_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def merged(blocks: list[Block], registers: int) -> tuple[list[Block], int]:
    """`blocks` (the id of each is its place) with such pairs merged, and the number of registers after that."""
    at = 0
    while at < len(blocks):
        found = _second(blocks, at)
        if found is None:
            at += 1
            continue
        blocks = without(_pair(blocks, at, found, registers), found)
        registers += 2
    return blocks, registers


def _second(blocks: list[Block], at: int) -> int | None:
    """The block that holds nothing but the second test."""
    end = blocks[at].end
    if not isinstance(end, Branch) or not isinstance(end.cond, Reg) or min(end.yes, end.no) <= at:
        return None
    for second, other in ((end.yes, end.no), (end.no, end.yes)):
        then = blocks[second].end
        alone = sum(second in targets(b.end) for b in blocks) == 1
        if alone and isinstance(then, Branch) and isinstance(then.cond, Reg) and other in targets(then) and min(targets(then)) > second:
            if _cheap(blocks[second], then.cond) and not later_reads(blocks, other, {w.id for s in blocks[second].ops for w in writes(s)}):
                return second
    return None


def _cheap(block: Block, cond: Reg) -> bool:
    """One compare; constants that a loop begins with need no instruction here."""
    tests = [s for s in block.ops if not (isinstance(s, Op) and s.op == "mov" and isinstance(s.args[0], Imm))]
    return len(tests) == 1 and isinstance(tests[0], Op) and tests[0].op in _COMPARES and tests[0].dst == cond


def _pair(blocks: list[Block], at: int, second: int, registers: int) -> list[Block]:
    first, then = blocks[at], blocks[second]
    a, b = first.end, then.end
    assert isinstance(a, Branch) and isinstance(b, Branch) and isinstance(a.cond, Reg)
    other = a.no if a.yes == second else a.yes
    go = b.yes if b.no == other else b.no
    both = Reg(registers, "bool")
    ops = (*then.ops, Op(both, "and" if a.yes == second else "or", (b.cond, a.cond), a.line))
    # or: the first condition leads away, so the second one must as well
    yes, no = (go, other) if a.yes == second else (other, go)
    if (b.yes == go) != (a.yes == second):
        flip = Reg(registers + 1, "bool")
        ops = (*then.ops, Op(flip, "not", (b.cond,), a.line), Op(both, ops[-1].op, (flip, a.cond), a.line))  # type: ignore[union-attr]
    out = list(blocks)
    out[at] = replace(first, ops=(*first.ops, *ops), end=Branch(both, yes, no, a.line))
    return out
