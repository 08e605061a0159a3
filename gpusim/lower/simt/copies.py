"""Copies between variables that are never needed at once: both get one register, and the copy is gone.

The sides of a branch that hand on the same value then write the same register, and blocks that held nothing but such copies are empty:
what goes there goes on to the next block, so that nested branches meet in one place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gpusim.ir.simt.nodes import If, Op, Reg, Simple, Value
from gpusim.ir.simt.walk import bodies, reads, walk, with_bodies, with_reads, with_writes, writes
from gpusim.lower.simt.code import Block, Branch, Code, End, Jump
from gpusim.lower.simt.flow import successors


def coalesced(code: Code) -> Code:
    """`code` without copies between registers whose lives do not overlap, and with empty blocks passed by. Values stay the same."""
    pairs = _pairs(code)
    names = _merged(pairs, _clashes(code, frozenset(r for pair in pairs for r in pair))) if pairs else {}
    return replace(code, blocks=_passed(tuple(_renamed(b, names) for b in code.blocks)))


def _pairs(code: Code) -> list[tuple[int, int]]:
    """(written, read) of copies between variables with several definitions, or from a float with one."""
    count = Counter(reg.id for block in code.blocks for stmt in walk(block.ops) for reg in writes(stmt))
    found = []
    for block in code.blocks:
        for stmt in block.ops:
            if isinstance(stmt, Op) and stmt.op == "mov" and isinstance(stmt.args[0], Reg) and stmt.args[0].dtype == stmt.dst.dtype:
                source = stmt.args[0]
                if count[stmt.dst.id] > 1 and (count[source.id] > 1 or count[source.id] == 1 and "float" in source.dtype):
                    found.append((stmt.dst.id, source.id))
    return found


def _flat(ops: tuple[Simple | If, ...], sure: bool = True) -> Iterator[tuple[Simple | If, bool]]:
    """Statements in order, and whether they happen in all lanes."""
    for stmt in ops:
        yield stmt, sure
        for body in bodies(stmt):
            yield from _flat(body, False)  # type: ignore[arg-type]


def _clashes(code: Code, regs: frozenset[int]) -> dict[int, set[int]]:
    """Registers that hold different values that are both needed later."""
    rows = [list(_flat(block.ops)) for block in code.blocks]
    live: list[set[int]] = [set() for _ in rows]
    clash: dict[int, set[int]] = {r: set() for r in regs}
    changed = True
    while changed:
        changed = False
        for block in reversed(code.blocks):
            now = set().union(*(live[s] for s in successors(block))) if successors(block) else set()
            if isinstance(block.end, Branch) and isinstance(block.end.cond, Reg) and block.end.cond.id in regs:
                now.add(block.end.cond.id)
            for stmt, sure in reversed(rows[block.id]):
                _step(stmt, sure, now, regs, clash)
            changed |= now != live[block.id]
            live[block.id] = now
    return clash


def _step(stmt: Simple | If, sure: bool, now: set[int], regs: frozenset[int], clash: dict[int, set[int]]) -> None:
    """Go back over one statement: `now` is what lives behind it, then before it."""
    copied = stmt.args[0].id if isinstance(stmt, Op) and stmt.op == "mov" and sure and isinstance(stmt.args[0], Reg) else -1
    written = [reg.id for reg in writes(stmt) if reg.id in regs]
    for reg in written:
        for other in (*now, *written):
            if other not in (reg, copied):
                clash[reg].add(other)
                clash[other].add(reg)
    if sure:
        now.difference_update(written)
    else:
        now.update(written)
    now.update(v.id for v in reads(stmt) if isinstance(v, Reg) and v.id in regs)


def _merged(pairs: list[tuple[int, int]], clash: dict[int, set[int]]) -> dict[int, int]:
    """register -> the one it shares."""
    group: dict[int, set[int]] = {r: {r} for r in clash}
    for written, read in pairs:
        a, b = group[written], group[read]
        if a is not b and not any(clash[x] & b for x in a):
            a |= b
            for r in b:
                group[r] = a
    return {r: min(members) for r, members in group.items()}


def _renamed(block: Block, names: dict[int, int]) -> Block:
    def value(v: Value) -> Value:
        return replace(v, id=names[v.id]) if isinstance(v, Reg) and names.get(v.id, v.id) != v.id else v

    def change(ops: tuple[Simple | If, ...]) -> tuple[Simple | If, ...]:
        out: list[Simple | If] = []
        for stmt in ops:
            new = with_bodies(with_reads(stmt, value), change)  # type: ignore[arg-type]
            new = with_writes(new, value)  # type: ignore[arg-type]
            if not (isinstance(new, Op) and new.op == "mov" and isinstance(new.args[0], Reg) and new.args[0].id == new.dst.id):
                out.append(new)
        return tuple(out)

    end = block.end
    return replace(block, ops=change(block.ops), end=replace(end, cond=value(end.cond)) if isinstance(end, Branch) else end)


def _passed(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Ends that lead to the first block with something in it. Behind a branch back, an empty block stays: it is the jump over what
    follows the loop in memory. So does one in front of a loop, where selection puts what the loop does not change."""
    headers = {to for block in blocks for to in successors(block) if to <= block.id}

    def beyond(to: int) -> int:
        while to and not blocks[to].ops and isinstance(end := blocks[to].end, Jump) and end.to > to and end.to not in headers:
            to = end.to
        return to

    def ended(block: Block) -> End:
        end = block.end
        if isinstance(end, Jump):
            return Jump(beyond(end.to))
        if isinstance(end, Branch) and min(end.yes, end.no) > block.id:
            return replace(end, yes=beyond(end.yes), no=beyond(end.no))
        return end

    return tuple(replace(b, end=ended(b)) for b in blocks)
