"""Which registers a piece of straight-line code reads before it writes them, and which are read after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TypeGuard

from gpusim.ir.simt.nodes import Barrier, If, Mbarrier, Reg
from gpusim.lower.simt.code import Block, Branch, Code, End, Jump

Ops = tuple[Any, ...]


def written(stmt: Any) -> tuple[Reg, ...]:
    dst = getattr(stmt, "dst", None)
    if dst is None:
        return ()
    return dst if isinstance(dst, tuple) else (dst,)


def read(stmt: Any) -> Iterator[Reg]:
    """Registers among the operands of one statement (not those inside of an If's sides)."""
    for field in fields(stmt):
        if field.name in ("dst", "then", "orelse"):
            continue
        value = getattr(stmt, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Reg):
                yield item


def walk(ops: Ops) -> Iterator[Any]:
    """All statements, depth first; an If before what is in it."""
    for stmt in ops:
        yield stmt
        if isinstance(stmt, If):
            yield from walk(stmt.then)
            yield from walk(stmt.orelse)


def exposed(ops: Ops) -> tuple[dict[int, Reg], dict[int, Reg]]:
    """(read before written, written) by register number. What is written under a predicate counts as read, too."""
    uses: dict[int, Reg] = {}
    defs: dict[int, Reg] = {}
    sure: set[int] = set()

    def visit(ops: Ops, predicated: bool) -> None:
        for stmt in ops:
            for reg in read(stmt):
                if reg.id not in sure:
                    uses.setdefault(reg.id, reg)
            if isinstance(stmt, If):
                visit(stmt.then, True)
                visit(stmt.orelse, True)
            for reg in written(stmt):
                defs[reg.id] = reg
                if not predicated:
                    sure.add(reg.id)
                elif reg.id not in sure:
                    uses.setdefault(reg.id, reg)

    visit(ops, False)
    return uses, defs


Stop = Barrier | Mbarrier


def meets(stmt: Any) -> TypeGuard[Stop]:
    """A barrier for more than one warp at which lanes wait."""
    if isinstance(stmt, Barrier):
        return stmt.kind not in ("warp", "cluster.arrive")
    return isinstance(stmt, Mbarrier) and stmt.op == "wait"


def segments(block: Block) -> list[tuple[Ops, Stop | None]]:
    """The block cut behind every statement at which lanes wait for others."""
    out: list[tuple[Ops, Stop | None]] = []
    part: list[Any] = []
    for stmt in block.ops:
        if meets(stmt):
            out.append((tuple(part), stmt))
            part = []
        else:
            part.append(stmt)
    return [*out, (tuple(part), None)]


def targets(end: End) -> tuple[int, ...]:
    if isinstance(end, Jump):
        return (end.to,)
    return (end.yes, end.no) if isinstance(end, Branch) else ()


def live_out(code: Code) -> dict[tuple[int, int], set[int]]:
    """Per (block, segment): registers that something behind it may read."""
    use: dict[tuple[int, int], set[int]] = {}
    kill: dict[tuple[int, int], set[int]] = {}
    succ: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for block in code.blocks:
        parts = segments(block)
        for i, (ops, barrier) in enumerate(parts):
            key = (block.id, i)
            uses, defs = exposed(ops)
            use[key] = set(uses)
            kill[key] = set(defs)
            if barrier is not None:
                use[key] |= {r.id for r in read(barrier) if r.id not in defs}
                succ[key] = [(block.id, i + 1)]
            else:
                end = block.end
                if isinstance(end, Branch) and isinstance(end.cond, Reg) and end.cond.id not in defs:
                    use[key].add(end.cond.id)
                succ[key] = [(t, 0) for t in targets(end)]
    return _fixpoint(use, kill, succ, code)


def _fixpoint(use: dict[Any, set[int]], kill: dict[Any, set[int]], succ: dict[Any, list[Any]], code: Code) -> dict[Any, set[int]]:
    live_in: dict[Any, set[int]] = {key: set(regs) for key, regs in use.items()}
    out: dict[Any, set[int]] = {key: set() for key in use}
    changed = True
    while changed:
        changed = False
        for key in sorted(use, reverse=True):
            new = set().union(*(live_in[s] for s in succ[key]))
            if new != out[key]:
                out[key] = new
                live_in[key] = use[key] | (new - kill[key])
                changed = True
    for block in code.blocks:
        for i, (_, barrier) in enumerate(segments(block)):
            if barrier is not None:
                out[(block.id, i)] |= {r.id for r in read(barrier)}
    return out
