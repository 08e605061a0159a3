"""What decides the way of a thread, proved from the code alone: data that it loads, and the number of its CTA.

Registers are followed through all blocks, without regard to order: a register holds whatever any of its assignments gives. So what is
claimed here holds for every run; what cannot be proved is reported as if it were so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpusim.ir.simt.nodes import (
    Assert,
    AsyncCopy,
    Atomic,
    Buffer,
    BulkCopy,
    If,
    LdMatrix,
    Load,
    Mbarrier,
    Op,
    Reg,
    Simple,
    Sleep,
    Store,
    Value,
    Warp,
    Wgmma,
)
from gpusim.ir.simt.walk import memory, reads, writes
from gpusim.lower.simt.code import Branch, Code

#: values that no run need repeat
CLOCKS = ("clock", "globaltimer", "smid")
CLOCK = "the clock"

Origins = frozenset[str]
NOTHING: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class Dependence:
    """`what` at `line` depends on what the buffers `origins` hold."""

    line: int
    what: str
    origins: Origins


@dataclass(frozen=True, slots=True)
class Item:
    """A simple statement, and the conditions of the predicated Ifs around it."""

    stmt: Simple
    guards: tuple[Value, ...] = ()


def items(ops: Iterable[Simple | If], guards: tuple[Value, ...] = ()) -> Iterator[Item]:
    """The statements of a block, those under predicates with their conditions."""
    for op in ops:
        if isinstance(op, If):
            yield from items(op.then, (*guards, op.cond))  # type: ignore[arg-type]
            yield from items(op.orelse, (*guards, op.cond))  # type: ignore[arg-type]
        else:
            yield Item(op, guards)


def index_of(stmt: Simple) -> tuple[tuple[Buffer, Value], ...]:
    """The buffers that the statement touches, each with the index."""
    if isinstance(stmt, AsyncCopy):
        return ((stmt.target, stmt.target_index), (stmt.source, stmt.source_index))
    if isinstance(stmt, BulkCopy):
        return ((stmt.source, stmt.source_index), (stmt.target, stmt.target_index), (stmt.barrier, stmt.barrier_index))
    if isinstance(stmt, Load | Store | Atomic | LdMatrix | Mbarrier):
        return ((stmt.buffer, stmt.index),)
    if isinstance(stmt, Wgmma):
        return ((stmt.buffer, stmt.at), *(((stmt.left, stmt.start),) if stmt.left is not None and stmt.start is not None else ()))
    return ()


def data_dependence(code: Code) -> Dependence | None:
    """The first branch, address or predicate of an access that depends on loaded data; None proves that there is none."""
    return min(dependences(code), key=lambda d: d.line, default=None)


def dependences(code: Code) -> list[Dependence]:
    """Every branch, address or predicate of an access that depends on loaded data."""
    taint = _Taint(code)
    found = [d for block in code.blocks for item in items(block.ops) if (d := taint.of_item(item)) is not None]
    for block in code.blocks:
        if isinstance(block.end, Branch) and (origins := taint.of(block.end.cond)):
            found.append(Dependence(block.end.line or block.line, "a branch", origins))
    return found


class _Taint:
    """Register and buffer -> the buffers whose contents may reach it, as the least fixed point."""

    def __init__(self, code: Code) -> None:
        self.regs: dict[int, Origins] = {}
        self.held: dict[int, Origins] = {}
        self.changed = True
        everything = [item for block in code.blocks for item in items(block.ops)]
        while self.changed:
            self.changed = False
            for item in everything:
                self._step(item)

    def of(self, *values: Value | str | None) -> Origins:
        return NOTHING.union(*(self.regs.get(v.id, NOTHING) for v in values if isinstance(v, Reg)))

    def of_item(self, item: Item) -> Dependence | None:
        """Whether the way of the thread, or where it goes in memory, depends on data here."""
        stmt, line = item.stmt, item.stmt.line
        for buffer, index in index_of(stmt):
            if origins := self.of(index):
                return Dependence(line, f"an index of {buffer.name}", origins)
        if (memory([stmt]) or isinstance(stmt, Assert)) and (origins := self.of(*item.guards)):
            return Dependence(line, "whether memory is touched", origins)
        if isinstance(stmt, Assert | Sleep) and (origins := self.of(*reads(stmt))):
            return Dependence(line, "an assertion" if isinstance(stmt, Assert) else "a sleep", origins)
        if isinstance(stmt, AsyncCopy | BulkCopy) and (origins := self.of(stmt.valid if isinstance(stmt, AsyncCopy) else stmt.count)):
            return Dependence(line, "how much is copied", origins)
        if isinstance(stmt, Mbarrier) and (origins := self.of(stmt.value)):
            return Dependence(line, "what an mbarrier waits for", origins)
        return None

    def _step(self, item: Item) -> None:
        stmt = item.stmt
        origins = self.of(*reads(stmt), *item.guards)
        for buffer, _ in index_of(stmt):
            if isinstance(stmt, Load | LdMatrix | Atomic | Wgmma):
                origins |= self._content(buffer)
        if isinstance(stmt, Op) and stmt.op in CLOCKS:
            origins |= {CLOCK}
        if isinstance(stmt, Warp) and stmt.op == "activemask":
            origins = NOTHING
        for reg in writes(stmt):
            self._grow(self.regs, reg.id, origins)
        if isinstance(stmt, Store | Atomic) and stmt.buffer.space != "global":
            self._grow(self.held, stmt.buffer.id, origins)
        if isinstance(stmt, AsyncCopy | BulkCopy):
            self._grow(self.held, stmt.target.id, origins | self._content(stmt.source))

    def _content(self, buffer: Buffer) -> Origins:
        if buffer.space == "const":
            return NOTHING
        return frozenset({buffer.name}) if buffer.space == "global" else self.held.get(buffer.id, NOTHING)

    def _grow(self, table: dict[int, Origins], key: int, more: Origins) -> None:
        was = table.get(key, NOTHING)
        if not more <= was:
            table[key] = was | more
            self.changed = True
