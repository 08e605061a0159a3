"""Facts about the control flow graph that the scheduler needs: loops in which lanes may wait for others, and what can still reach what."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.interp.simt.liveness import exposed, meets, targets, walk
from gpusim.ir.simt.nodes import Atomic, Barrier, Load, Reg, Sleep
from gpusim.lower.simt.code import Block, Code, Exit, Jump


@dataclass(frozen=True)
class Flow:
    """waiting: per block, "" | "atomic" (in a loop with an atomic whose old value is used) | "load" (in a loop that reads memory which others
    may write). resident: CTAs may wait for CTAs. reach[b]: blocks that b can get to over at least one edge. idle[b]: from b a lane does
    nothing more but exit. carried[b]: registers written in the loop that ends at b. together: the code has a barrier of the grid."""

    waiting: tuple[str, ...]
    reach: tuple[frozenset[int], ...]
    idle: tuple[bool, ...]
    carried: dict[int, frozenset[int]]
    resident: bool
    together: bool = False


def analyse(code: Code) -> Flow:
    n = len(code.blocks)
    succ = [targets(block.end) for block in code.blocks]
    waiting = [""] * n
    carried: dict[int, frozenset[int]] = {}
    resident = False
    for block in code.blocks:
        for head in succ[block.id]:
            if head <= block.id:
                kind = _kind([code.blocks[i] for i in range(head, block.id + 1)])
                for i in range(head, block.id + 1):
                    waiting[i] = waiting[i] or kind
                if kind:
                    regs = [exposed(code.blocks[i].ops) for i in range(head, block.id + 1)]
                    carried[block.id] = frozenset(r for _, defs in regs for r in defs)
                    resident |= kind == "atomic" or _polls(code.blocks[head : block.id + 1], carried[block.id])
    together = any(isinstance(s, Barrier) and s.kind == "grid" for block in code.blocks for s in walk(block.ops))
    return Flow(tuple(waiting), _reach(succ), _idle(code), carried, resident or together, together)


def _polls(blocks: tuple[Block, ...], changing: frozenset[int]) -> bool:
    """Reads a place of global memory that stays the same in the loop."""
    loads = (s for block in blocks for s in walk(block.ops) if isinstance(s, Load) and s.buffer.space == "global")
    return any(not isinstance(s.index, Reg) or s.index.id not in changing for s in loads)


def _kind(blocks: list[Block]) -> str:
    stmts = [stmt for block in blocks for stmt in walk(block.ops)]
    if any(meets(s) for s in stmts):
        return ""
    if any(isinstance(s, Sleep) or isinstance(s, Atomic) and s.dst is not None for s in stmts):
        return "atomic"
    return "load" if any(isinstance(s, Load) and s.buffer.space in ("global", "shared") for s in stmts) else ""


def _reach(succ: list[tuple[int, ...]]) -> tuple[frozenset[int], ...]:
    reach = [set(s) for s in succ]
    changed = True
    while changed:
        changed = False
        for b in reversed(range(len(succ))):
            new = set().union(reach[b], *(reach[s] for s in succ[b]))
            if len(new) != len(reach[b]):
                reach[b], changed = new, True
    return tuple(frozenset(r) for r in reach)


def _idle(code: Code) -> tuple[bool, ...]:
    idle = [False] * len(code.blocks)
    for block in reversed(code.blocks):
        if not block.ops:
            idle[block.id] = isinstance(block.end, Exit) or (isinstance(block.end, Jump) and block.end.to > block.id and idle[block.end.to])
    return tuple(idle)
