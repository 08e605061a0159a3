"""Where a value that several blocks need is computed: in the last block that comes before all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import AsyncCopy, Buffer, BulkCopy, Value
from gpusim.lower.simt.expr import Numbers
from gpusim.lower.simt.flow import Flow, Item
from gpusim.lower.simt.fuse import indices


@dataclass(slots=True)
class Places:
    """blocks: mask of the blocks that dominate every use of a key. buffers: arrays of global memory by the number of an index."""

    flow: Flow
    blocks: dict[object, int] = field(default_factory=dict)
    buffers: dict[int, set[int]] = field(default_factory=dict)

    def note(self, key: object, block: int) -> None:
        mask = self.flow.dominators[block]
        self.blocks[key] = self.blocks.get(key, mask) & mask

    def of(self, key: object, at: int, leaves: Iterable[int] = ()) -> int:
        """The block to compute `key` in, at the latest `at`; the registers it rests on must be there."""
        common = self.blocks.get(key)
        if not common:
            return at
        place = max((b for b in range(common.bit_length()) if common >> b & 1), key=lambda b: self.flow.dominators[b].bit_count())
        if place == at or not self.flow.dominates(place, at) or not all(self._there(r, place) for r in leaves):
            return at
        return place

    def _there(self, reg: int, block: int) -> bool:
        if not self.flow.defs.get(reg):
            return True
        item = self.flow.single(reg)
        return item is not None and self.flow.dominates(item.block, block)


def places(flow: Flow, numbers: Numbers) -> Places:
    """Uses of array pointers and of addresses."""
    found = Places(flow)
    for row in flow.items:
        for item in row:
            for buffer, index in zip(_buffers(item), indices(item.stmt), strict=True):
                _access(found, numbers, item.block, buffer, index)
    return found


def _buffers(item: Item) -> tuple[Buffer, ...]:
    stmt = item.stmt
    if isinstance(stmt, AsyncCopy):
        return stmt.target, stmt.source
    if isinstance(stmt, BulkCopy):
        return stmt.target, stmt.source, stmt.barrier
    return (stmt.buffer,) if indices(stmt) else ()  # type: ignore[union-attr]


def _access(found: Places, numbers: Numbers, block: int, buffer: Buffer, index: Value) -> None:
    if buffer.space != "global":
        return
    part = numbers.split(numbers.of(index))
    found.note("descriptor", block)
    for key in (("pointer64", buffer.id), ("pointer", buffer.id), ("address", buffer.id, part.base, part.strides)):
        found.note(key, block)
    for cut in range(len(part.strides)):
        found.note(("address", buffer.id, part.base, part.strides[:cut]), block)
    if part.base is not None and not part.strides:
        found.buffers.setdefault(part.base, set()).add(buffer.id)
