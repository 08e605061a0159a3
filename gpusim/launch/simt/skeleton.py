"""A code without what only makes values: the ways of the threads, their addresses and all counts stay as they are.

A backward slice from branches, predicates and indices. What is left out are operations, matrix instructions and shuffles whose results decide
nothing. Loads and stores stay, because they are counted; stores write zeros where nobody needs what they held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusim.ir.simt.nodes import (
    Assert,
    AsyncCopy,
    Atomic,
    BulkCopy,
    If,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Mma,
    Op,
    Print,
    Reg,
    Simple,
    Sleep,
    Store,
    Value,
    Warp,
    Wgmma,
)
from gpusim.ir.simt.walk import memory, reads, writes
from gpusim.launch.simt.static import Item, index_of, items
from gpusim.lower.simt.code import Branch, Code

#: statements that do nothing but make their results
MAKERS = Op | Mma | Wgmma | Warp


def skeleton(code: Code) -> Code:
    """`code` for a run whose values nobody wants and whose ways do not depend on loaded data."""
    needed = _Needed(code)
    return replace(code, blocks=tuple(replace(block, ops=needed.kept(block.ops)) for block in code.blocks))


class _Needed:
    """Registers, and buffers whose contents are needed, as the least fixed point."""

    def __init__(self, code: Code) -> None:
        self.regs: set[int] = set()
        self.buffers: set[int] = set()
        everything = [item for block in code.blocks for item in items(block.ops)]
        self._need(*(block.end.cond for block in code.blocks if isinstance(block.end, Branch)))
        for item in everything:
            self._need(*item.guards, *self._deciding(item.stmt))
        before = -1
        while before != (before := len(self.regs) + len(self.buffers)):
            for item in everything:
                self._step(item)

    def kept(self, ops: Sequence[Simple | If]) -> tuple[Simple | If, ...]:
        """The statements without those that make what nobody needs."""
        made: list[Simple | If] = []
        for op in ops:
            if isinstance(op, If):
                made.append(replace(op, then=self.kept(op.then), orelse=self.kept(op.orelse)))  # type: ignore[arg-type]
            elif self._decides(op):
                made.append(self._emptied(op))
        return tuple(made)

    def _deciding(self, stmt: Simple) -> tuple[Value | str | None, ...]:
        """What of a statement decides where it goes or what is counted."""
        found: list[Value | str | None] = [index for _, index in index_of(stmt)]
        if isinstance(stmt, AsyncCopy):
            found.append(stmt.valid)
        elif isinstance(stmt, BulkCopy):
            found.append(stmt.count)
        elif isinstance(stmt, Mbarrier):
            found.append(stmt.value)
        if isinstance(stmt, Assert | Sleep) or not (memory([stmt]) or isinstance(stmt, MAKERS | Print)):
            found += reads(stmt)
        return tuple(found)

    def _step(self, item: Item) -> None:
        stmt = item.stmt
        if any(reg.id in self.regs for reg in writes(stmt)):
            self._need(*reads(stmt))
            if isinstance(stmt, Load | LdMatrix | Atomic | Wgmma):
                self.buffers.add(stmt.buffer.id)
            if isinstance(stmt, Wgmma) and stmt.left is not None:
                self.buffers.add(stmt.left.id)
        if isinstance(stmt, Store | Atomic) and stmt.buffer.id in self.buffers:
            self._need(*reads(stmt))
        if isinstance(stmt, AsyncCopy | BulkCopy) and stmt.target.id in self.buffers:
            self.buffers.add(stmt.source.id)

    def _decides(self, stmt: Simple) -> bool:
        if isinstance(stmt, Print):
            return False
        return not isinstance(stmt, MAKERS) or any(reg.id in self.regs for reg in writes(stmt))

    def _emptied(self, stmt: Simple) -> Simple:
        if isinstance(stmt, Store) and stmt.buffer.id not in self.buffers:
            return replace(stmt, values=tuple(Imm(0, stmt.buffer.dtype) for _ in stmt.values))
        return stmt

    def _need(self, *values: Value | str | None) -> None:
        self.regs.update(v.id for v in values if isinstance(v, Reg))
