"""What selection must know about a control-flow graph: order, dominance, loops, definitions and uses, live variables.

Sets of blocks and of registers are Python integers used as bit masks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import If, Reg, Simple, Value
from gpusim.ir.simt.walk import memory, reads, writes
from gpusim.lower.simt.code import Block, Branch, Code, Jump

Guard = tuple[Value, bool]


@dataclass(frozen=True, slots=True)
class Item:
    """A statement where it stands. guards: conditions of the predicated Ifs around it. part: of the block; a new one begins where the
    source had a branch that became a predicate. access: its Access."""

    stmt: Simple
    block: int
    guards: tuple[Guard, ...] = ()
    part: int = 0
    access: int | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop. blocks: mask. entry: the block in front of it, that what the loop does not change is computed in. latch: the last
    block that goes back."""

    header: int
    blocks: int
    entry: int
    latch: int


@dataclass(slots=True)
class Flow:
    """Facts of one Code. `defs` and `uses` map a register to the items that write and read it; a block's own condition is a use by a
    block (`cond_uses`). `loops[b]`: the loops around block b, innermost first. `live_out[b]`: mask of registers with several definitions.
    nests: headers of loops that hold other loops. ahead[b]: mask of the blocks that lanes reach from b without going back."""

    code: Code
    items: tuple[tuple[Item, ...], ...]
    succ: tuple[tuple[int, ...], ...]
    pred: tuple[tuple[int, ...], ...]
    dominators: tuple[int, ...]
    joins: tuple[int | None, ...]
    loops: tuple[tuple[Loop, ...], ...]
    defs: dict[int, list[Item]] = field(default_factory=dict)
    uses: dict[int, list[Item]] = field(default_factory=dict)
    cond_uses: dict[int, list[int]] = field(default_factory=dict)
    live_out: tuple[int, ...] = ()
    nests: frozenset[int] = frozenset()
    ahead: tuple[int, ...] = ()

    def single(self, reg: int) -> Item | None:
        """The only definition of a register, if it has one that always happens."""
        found = self.defs.get(reg, ())
        return found[0] if len(found) == 1 and not found[0].guards else None

    def dominates(self, above: int, below: int) -> bool:
        return bool(self.dominators[below] >> above & 1)

    def keeps(self, above: int, below: int, in_register: bool) -> bool:
        """Whether a constant that was loaded in block `above` is still there in `below`, which it dominates."""
        if any(loop.header in self.nests and not loop.blocks >> above & 1 for loop in self.loops[below]):
            return False
        return in_register or not self._loop_between(above, below)

    def _loop_between(self, above: int, below: int) -> bool:
        """Whether lanes may run a whole loop on the way from one block to the other."""
        loops = {row[0].header: row[0] for row in self.loops[above + 1 : below] if row}
        outside = (loop for loop in loops.values() if not (loop.blocks >> above | loop.blocks >> below) & 1)
        return any(self.ahead[above] >> loop.header & 1 and self.ahead[loop.header] >> below & 1 for loop in outside)

    def changes(self, loop: Loop, reg: int) -> bool:
        """Whether the loop writes the register."""
        return any(loop.blocks >> item.block & 1 for item in self.defs.get(reg, ()))


def analyse(code: Code) -> Flow:
    """Facts of `code`. Blocks that nobody reaches have no dominators but themselves."""
    blocks = code.blocks
    succ = tuple(successors(b) for b in blocks)
    pred = _inverse(succ)
    dominators = _dominators(pred)
    flow = Flow(code, tuple(tuple(_items(b)) for b in blocks), succ, pred, dominators, _joins(succ), _loops(succ, pred, dominators))
    for row in flow.items:
        for item in row:
            for reg in writes(item.stmt):
                flow.defs.setdefault(reg.id, []).append(item)
            for value in (*reads(item.stmt), *(g[0] for g in item.guards)):
                if isinstance(value, Reg):
                    flow.uses.setdefault(value.id, []).append(item)
    for block in blocks:
        if isinstance(block.end, Branch) and isinstance(block.end.cond, Reg):
            flow.cond_uses.setdefault(block.end.cond.id, []).append(block.id)
    flow.live_out = _live_out(flow)
    flow.nests = frozenset(outer.header for row in flow.loops for outer in row[1:])
    flow.ahead = _ahead(succ)
    return flow


def successors(block: Block) -> tuple[int, ...]:
    end = block.end
    if isinstance(end, Jump):
        return (end.to,)
    return tuple(dict.fromkeys((end.yes, end.no))) if isinstance(end, Branch) else ()


def _items(block: Block) -> Iterator[Item]:
    accesses = iter(block.accesses)
    part = [0]

    def walk(ops: tuple[Simple | If, ...], guards: tuple[Guard, ...]) -> Iterator[Item]:
        for stmt in ops:
            if isinstance(stmt, If):
                part[0] += bool(memory((stmt,)))
                yield from walk(stmt.then, (*guards, (stmt.cond, True)))  # type: ignore[arg-type]
                yield from walk(stmt.orelse, (*guards, (stmt.cond, False)))  # type: ignore[arg-type]
                part[0] += bool(memory((stmt,)))
            else:
                yield Item(stmt, block.id, guards, part[0], next(accesses) if memory((stmt,)) else None)

    yield from walk(block.ops, ())


def _inverse(edges: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    out: list[list[int]] = [[] for _ in edges]
    for source, targets in enumerate(edges):
        for target in targets:
            out[target].append(source)
    return tuple(map(tuple, out))


def _ahead(succ: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    masks = [0] * len(succ)
    for b in reversed(range(len(succ))):
        for s in succ[b]:
            if s > b:
                masks[b] |= 1 << s | masks[s]
    return tuple(masks)


def _dominators(pred: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    everything = (1 << len(pred)) - 1
    dom = [1 if b == 0 else everything for b in range(len(pred))]
    changed = True
    while changed:
        changed = False
        for b in range(1, len(pred)):
            mask = everything if pred[b] else 0
            for p in pred[b]:
                mask &= dom[p]
            mask |= 1 << b
            changed |= mask != dom[b]
            dom[b] = mask
    return tuple(dom)


def _joins(succ: tuple[tuple[int, ...], ...]) -> tuple[int | None, ...]:
    """Immediate post-dominator of every block; None: the end of the program."""
    n = len(succ)
    everything = (1 << n) - 1
    post = [everything] * n
    changed = True
    while changed:
        changed = False
        for b in reversed(range(n)):
            mask = everything if succ[b] else 0
            for s in succ[b]:
                mask &= post[s]
            mask |= 1 << b
            changed |= mask != post[b]
            post[b] = mask
    sizes = [mask.bit_count() for mask in post]
    return tuple(next((c for c in range(n) if c != b and post[b] >> c & 1 and sizes[c] == sizes[b] - 1), None) for b in range(n))


def _loops(succ: tuple[tuple[int, ...], ...], pred: tuple[tuple[int, ...], ...], dom: tuple[int, ...]) -> tuple[tuple[Loop, ...], ...]:
    members: dict[int, int] = {}
    for latch, targets in enumerate(succ):
        for header in targets:
            if dom[latch] >> header & 1:
                members[header] = members.get(header, 1 << header) | _body(latch, header, pred)
    found = [Loop(h, mask, next((p for p in pred[h] if not mask >> p & 1), 0), max(p for p in pred[h] if mask >> p & 1)) for h, mask in members.items()]
    found.sort(key=lambda loop: loop.blocks.bit_count())
    return tuple(tuple(loop for loop in found if loop.blocks >> b & 1) for b in range(len(succ)))


def _body(latch: int, header: int, pred: tuple[tuple[int, ...], ...]) -> int:
    mask, todo = 1 << header | 1 << latch, [latch] if latch != header else []
    while todo:
        for p in pred[todo.pop()]:
            if not mask >> p & 1:
                mask |= 1 << p
                todo.append(p)
    return mask


def _live_out(flow: Flow) -> tuple[int, ...]:
    several = {reg for reg, items in flow.defs.items() if len(items) > 1 or items[0].guards}
    use, kill = [0] * len(flow.items), [0] * len(flow.items)
    for b, row in enumerate(flow.items):
        for item in row:
            for value in (*reads(item.stmt), *(g[0] for g in item.guards)):
                if isinstance(value, Reg) and value.id in several and not kill[b] >> value.id & 1:
                    use[b] |= 1 << value.id
            for reg in writes(item.stmt):
                if not item.guards:
                    kill[b] |= 1 << reg.id
                elif not kill[b] >> reg.id & 1:
                    use[b] |= 1 << reg.id
        end = flow.code.blocks[b].end
        if isinstance(end, Branch) and isinstance(end.cond, Reg) and end.cond.id in several and not kill[b] >> end.cond.id & 1:
            use[b] |= 1 << end.cond.id
    out = [0] * len(use)
    changed = True
    while changed:
        changed = False
        for b in reversed(range(len(use))):
            mask = 0
            for s in flow.succ[b]:
                mask |= use[s] | out[s] & ~kill[s]
            changed |= mask != out[b]
            out[b] = mask
    return tuple(out)
