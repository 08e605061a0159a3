"""Which registers hold the same value in all lanes that are active, so that a uniform pipe can compute them and a branch on them does not
split a warp."""

from __future__ import annotations

from gpusim.ir.simt.nodes import Load, Op, Reg, Warp
from gpusim.ir.simt.walk import reads
from gpusim.lower.simt.code import Branch
from gpusim.lower.simt.flow import Flow, Item

_PER_LANE = ("tid.", "laneid", "warpid", "clock", "globaltimer")
_UNIFORM_WARP = ("ballot", "any", "all", "activemask", "redux")


def divergent(flow: Flow) -> tuple[frozenset[int], frozenset[int]]:
    """(registers whose value may differ between active lanes, blocks whose branch may split a warp)."""
    regs: set[int] = set()
    splits: set[int] = set()
    regions: dict[int, int] = {}
    changed = True
    while changed:
        before = len(regs), len(splits)
        for reg, items in flow.defs.items():
            if reg not in regs and any(_varies(item, regs) for item in items):
                regs.add(reg)
        for block in flow.code.blocks:
            end = block.end
            if block.id not in splits and isinstance(end, Branch) and isinstance(end.cond, Reg) and end.cond.id in regs:
                splits.add(block.id)
                regions[block.id] = _region(flow, block.id)
        for block_id, region in regions.items():
            _spread(flow, block_id, region, regs)
        changed = before != (len(regs), len(splits))
    return frozenset(regs), frozenset(splits)


def _varies(item: Item, regs: set[int]) -> bool:
    stmt = item.stmt
    if any(isinstance(cond, Reg) and cond.id in regs for cond, _ in item.guards):
        return True
    if isinstance(stmt, Op):
        return stmt.op.startswith(_PER_LANE) or any(isinstance(v, Reg) and v.id in regs for v in stmt.args)
    if isinstance(stmt, Load) and stmt.buffer.space == "const":
        return isinstance(stmt.index, Reg) and stmt.index.id in regs
    if isinstance(stmt, Warp):
        return not stmt.op.startswith(_UNIFORM_WARP)
    return bool(reads(stmt)) or not isinstance(stmt, Op)


def _region(flow: Flow, block: int) -> int:
    """Mask of the blocks between a branch and its join."""
    join, mask = flow.joins[block], 0
    todo = list(flow.succ[block])
    while todo:
        b = todo.pop()
        if b != join and not mask >> b & 1:
            mask |= 1 << b
            todo += flow.succ[b]
    return mask


def _spread(flow: Flow, block: int, region: int, regs: set[int]) -> None:
    """What is written under a split and read behind it differs; so do the counters of a loop that lanes leave one by one."""
    left = 0
    for loop in flow.loops[block]:
        if any(not loop.blocks >> s & 1 for s in flow.succ[block]):
            left |= loop.blocks
    for reg, items in flow.defs.items():
        if reg in regs or len(items) < 2:
            continue
        inside = [item for item in items if region >> item.block & 1]
        if any(left >> item.block & 1 for item in inside):
            regs.add(reg)
        elif inside and any(not region >> u.block & 1 for u in flow.uses.get(reg, ())):
            regs.add(reg)
