"""Where a lock may order accesses to shared memory, so that the shadow must not call them races."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.interp.simt.liveness import targets, walk
from gpusim.ir.simt.nodes import Atomic
from gpusim.lower.simt.code import Code

TAKES = ("cas", "exch")


@dataclass(frozen=True)
class Locks:
    """guarded[b]: block b lies between the loop that takes a lock and the atomic that gives it back. swapped: ids of buffers with a
    compare-and-swap, whose first guess is commonly a plain load."""

    guarded: tuple[bool, ...] = ()
    swapped: frozenset[int] = frozenset()


def find_locks(code: Code, reach: tuple[frozenset[int], ...]) -> Locks:
    atomics = [[s for s in walk(block.ops) if isinstance(s, Atomic)] for block in code.blocks]
    guarded = [False] * len(code.blocks)
    for block in code.blocks:
        for head in (t for t in targets(block.end) if t <= block.id):
            loop = range(head, block.id + 1)
            taken = {s.buffer.id for b in loop for s in atomics[b] if s.op in TAKES and s.dst is not None}
            gives = [b for b, rows in enumerate(atomics) for s in rows if s.buffer.id in taken and (s.dst is None or s.op == "exch")]
            for b in range(len(guarded)):
                behind = b in loop or any(b in reach[x] for x in loop)
                guarded[b] |= behind and any(g == b or g in reach[b] for g in gives)
    return Locks(tuple(guarded), frozenset(s.buffer.id for rows in atomics for s in rows if s.op == "cas"))
