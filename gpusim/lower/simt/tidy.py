"""Blocks without detours: empty blocks are skipped, blocks that only follow each other become one, the rest is renumbered in order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gpusim.ir.simt.nodes import Reg
from gpusim.ir.simt.walk import reads, walk, writes
from gpusim.lower.simt.code import Block, Branch, End, Exit, Jump, targets


def moved(end: End, place: Callable[[int], int]) -> End:
    """The end with every target changed; a branch to one place is a jump."""
    if isinstance(end, Jump):
        return Jump(place(end.to))
    if isinstance(end, Branch):
        yes, no = place(end.yes), place(end.no)
        return Jump(yes) if yes == no else Branch(end.cond, yes, no, end.line)
    return end


def tidy(blocks: list[Block]) -> list[Block]:
    """`blocks` stand in order, and a block's id is its place. Block 0 is the entry."""
    shortcut = _shortcuts(blocks)
    blocks = [replace(b, end=moved(b.end, shortcut.__getitem__)) for b in blocks]
    return renumbered(_merged(_reachable(_exits(blocks))))


def _shortcuts(blocks: list[Block]) -> dict[int, int]:
    """Where a jump to each block ends up. An empty block that jumps backward stays: the lanes of an iteration gather there."""
    final: dict[int, int] = {}
    for block in reversed(blocks):
        skipped = not block.ops and isinstance(block.end, Jump) and block.end.to > block.id
        final[block.id] = final[block.end.to] if skipped and isinstance(block.end, Jump) else block.id
    return final


def _exits(blocks: list[Block]) -> list[Block]:
    """Lanes with nothing left to do end where they are. A branch to an empty end gets one of its own right behind it, so that its lanes
    wait for nobody; a jump to one is one."""
    empty = {b.id for b in blocks if not b.ops and isinstance(b.end, Exit)}
    fresh = itertools.count(len(blocks))
    out: list[Block] = []
    for block in blocks:
        out.append(block)
        if isinstance(block.end, Jump) and block.end.to in empty:
            out[-1] = replace(block, end=Exit())
        elif isinstance(block.end, Branch) and empty.intersection(targets(block.end)):
            own = next(fresh)
            out[-1] = replace(block, end=moved(block.end, partial(_instead, empty, own)))
            out.append(Block(own, (), Exit(), line=block.end.line))
    return out


def _instead(empty: set[int], own: int, target: int) -> int:
    return own if target in empty else target


def _reachable(blocks: list[Block]) -> list[Block]:
    by_id = {b.id: b for b in blocks}
    seen, queue = {0}, [0]
    while queue:
        for target in targets(by_id[queue.pop()].end):
            if target not in seen:
                seen.add(target)
                queue.append(target)
    return [b for b in blocks if b.id in seen]


def _merged(blocks: list[Block]) -> list[Block]:
    """Only neighbours become one: code behind a loop must not move into the loop, where lanes would not wait for each other."""
    entries = Counter(t for b in blocks for t in targets(b.end))
    out: list[Block] = []
    for block in blocks:
        last = out[-1] if out else None
        if last is not None and last.end == Jump(block.id) and entries[block.id] == 1:
            out[-1] = replace(last, ops=last.ops + block.ops, end=block.end, line=last.line or block.line)
        else:
            out.append(block)
    return out


def renumbered(blocks: list[Block]) -> list[Block]:
    number = {b.id: i for i, b in enumerate(blocks)}
    return [replace(b, id=number[b.id], end=moved(b.end, number.__getitem__)) for b in blocks]


def without(blocks: list[Block], gone: int) -> list[Block]:
    """`blocks` without one that nobody goes to any more."""
    return renumbered([b for b in blocks if b.id != gone])


def later_reads(blocks: list[Block], start: int, registers: set[int]) -> bool:
    """Whether one of the registers may be read from block `start` on before it is written."""
    todo, done = [start], {start}
    while todo:
        block = blocks[todo.pop()]
        open_ = set(registers)
        for stmt in walk(block.ops):
            if any(isinstance(v, Reg) and v.id in open_ for v in reads(stmt)):
                return True
        written = {w.id for s in block.ops for w in writes(s)}
        if isinstance(block.end, Branch) and isinstance(block.end.cond, Reg) and block.end.cond.id in registers - written:
            return True
        if registers <= written:
            continue
        for target in targets(block.end):
            if target not in done:
                done.add(target)
                todo.append(target)
    return False
