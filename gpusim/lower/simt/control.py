"""Branches, exits, and the points of reconvergence (BSSY, BSYNC) that a split of a warp needs."""

from __future__ import annotations

from gpusim.ir.simt.nodes import Reg
from gpusim.lower.simt.code import Branch, Exit, Instr, Jump, targets
from gpusim.lower.simt.flow import Flow
from gpusim.lower.simt.writer import Writer


def ends(flow: Flow) -> tuple[bool, ...]:
    """Which blocks only end the lane."""
    return tuple(isinstance(b.end, Exit) and not b.ops for b in flow.code.blocks)


def barriers(flow: Flow, splits: frozenset[int]) -> tuple[dict[int, int], dict[int, int]]:
    """(BSSY per block, BSYNC per block): a split whose sides meet again before the end needs one of each.

    Where lanes leave a loop one by one, the BSSY stands in front of the loop, once. Nested splits that meet in one block share theirs.
    """
    only_exit = ends(flow)
    pairs: set[tuple[int, int]] = set()
    for block in splits:
        join = flow.joins[block]
        if join is None or only_exit[join]:
            continue
        at = block
        for loop in flow.loops[block]:
            if not loop.blocks >> join & 1:
                at = loop.entry
        pairs.add((at, join))
    pairs = {(at, join) for at, join in pairs if not any(j == join and a != at and flow.dominates(a, at) for a, j in pairs)}
    opens: dict[int, int] = {}
    closes: dict[int, int] = {}
    for at, join in pairs:
        opens[at] = opens.get(at, 0) + 1
        closes[join] = closes.get(join, 0) + 1
    return opens, closes


def ending(w: Writer, block: int) -> list[Instr]:
    """What a block ends with: a branch where the next block is not the only way, an exit, or nothing."""
    end = w.flow.code.blocks[block].end
    line = getattr(end, "line", 0) or w.flow.code.blocks[block].line
    only_exit = ends(w.flow)
    if isinstance(end, Exit):
        return [] if _left(w, block, only_exit) else [Instr("EXIT", line=line)]
    if isinstance(end, Jump):
        back = end.to <= block
        return [Instr("BRA", line=line)] if back or not _falls(w, block, end.to, only_exit) else []
    assert isinstance(end, Branch)
    cond = w.operands((end.cond,)) if isinstance(end.cond, Reg) else ()
    rows = [Instr("EXIT" if _leaves(end, block, only_exit) else "BRA", (), cond, line)]
    if not any(_falls(w, block, t, only_exit) or t <= block for t in (end.yes, end.no)):
        rows.append(Instr("BRA", line=line))
    return rows


def _leaves(end: Branch, block: int, only_exit: tuple[bool, ...]) -> bool:
    """Whether the branch itself is a predicated EXIT."""
    return (only_exit[end.yes] or only_exit[end.no]) and min(end.yes, end.no) > block


def _left(w: Writer, block: int, only_exit: tuple[bool, ...]) -> bool:
    """Whether all lanes of an empty last block ended already, in the predicated EXIT of the branch to it."""
    ways = [b for b in w.flow.code.blocks if not isinstance(b.end, Exit) and block in targets(b.end)]
    return only_exit[block] and bool(ways) and all(isinstance(b.end, Branch) and _leaves(b.end, b.id, only_exit) for b in ways)


def _falls(w: Writer, block: int, target: int, only_exit: tuple[bool, ...]) -> bool:
    """Whether the target follows in memory: all blocks between are empty, or end the program (those stand last)."""
    return all(only_exit[b] or _empty(w, b) for b in range(block + 1, target))


def _empty(w: Writer, block: int) -> bool:
    b = w.flow.code.blocks[block]
    return not b.ops and isinstance(b.end, Jump)
