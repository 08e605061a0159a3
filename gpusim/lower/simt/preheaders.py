"""A block in front of every loop that a guard may skip, for what is computed once on the way into the loop.

Without it, lanes that skip the loop would compute that as well. What a counter begins with moves there too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpusim.ir.simt.nodes import If, Op, Reg, Simple, Value
from gpusim.ir.simt.walk import bodies, reads, walk, with_reads, writes
from gpusim.lower.simt.code import Block, Branch, Jump, targets
from gpusim.lower.simt.tidy import later_reads, moved, renumbered


def preheaders(blocks: list[Block]) -> list[Block]:
    """`blocks` (the id of each is its place) with such a block behind each guard."""
    headers = sorted({t for b in blocks for t in targets(b.end) if t <= b.id})
    fresh = len(blocks)
    rows = {b.id: b for b in blocks}
    before: dict[int, Block] = {}
    for header in headers:
        entries = [b.id for b in blocks if header in targets(b.end) and b.id < header]
        if len(entries) != 1 or not isinstance(rows[entries[0]].end, Branch):
            continue
        guard = rows[entries[0]]
        guard, sunk = _sunk(blocks, guard, header)
        rows[guard.id] = replace(guard, end=moved(guard.end, partial(_instead, header, fresh + header)))
        before[header] = Block(fresh + header, sunk, Jump(header), line=blocks[header].line)
    return renumbered([b for row in rows.values() for b in (*((before[row.id],) if row.id in before else ()), row)])


def _instead(old: int, new: int, target: int) -> int:
    return new if target == old else target


def _sunk(blocks: list[Block], guard: Block, header: int) -> tuple[Block, tuple[Simple | If, ...]]:
    """The guard without copies that only the loop reads, and these. The guard itself reads what they copy."""
    end = guard.end
    assert isinstance(end, Branch)
    other = end.no if end.yes == header else end.yes
    sunk: list[Simple | If] = []
    for at in reversed(range(len(guard.ops))):
        stmt, behind = guard.ops[at], guard.ops[at + 1 :]
        if not isinstance(stmt, Op) or stmt.op != "mov" or later_reads(blocks, other, {stmt.dst.id}):
            continue
        changed = {reg.id for later in walk(behind) for reg in writes(later)}
        if stmt.dst.id in changed or isinstance(stmt.args[0], Reg) and stmt.args[0].id in changed:
            continue
        if isinstance(stmt.args[0], Reg) and not _read_elsewhere(blocks, guard, stmt):
            continue
        instead = partial(_instead_of, stmt.dst.id, stmt.args[0])
        if isinstance(end.cond, Reg) and end.cond.id == stmt.dst.id or any(bodies(s) for s in behind):
            continue
        guard = replace(guard, ops=(*guard.ops[:at], *(with_reads(s, instead) for s in behind)))
        sunk.insert(0, stmt)
    return guard, tuple(sunk)


def _instead_of(reg: int, source: Value, value: Value) -> Value:
    return source if isinstance(value, Reg) and value.id == reg else value


def _read_elsewhere(blocks: list[Block], guard: Block, copy: Op) -> bool:
    """Whether something but the copy reads its source: then both stay, and the copy is an instruction."""
    others = [stmt for block in blocks for stmt in walk(guard.ops if block.id == guard.id else block.ops) if stmt is not copy]
    return any(value == copy.args[0] for stmt in others for value in reads(stmt))
