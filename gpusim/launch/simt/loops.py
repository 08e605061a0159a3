"""Repeated iterations in recorded paths: found, and all but some left out.

Blocks of a loop are numbered from its head to its latch, so a path parses into iterations without search: an iteration begins at the
head and ends where the path comes back to it or leaves the loop. Iterations in a row that run the same blocks with the same masks are a
run. Of a run, the first few are kept and some in its middle: as many as `caps[0]` says in outer loops, `caps[1]` in loops inside these, and
all in loops deeper than `caps`. What the first ones find in memory is not what the others do: CTAs are in step, and caches are cold.
Where a loop holds a barrier of the CTA, its warps keep the same iterations, or they would wait for each other for ever: there,
iterations are the same if they are for every warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from gpusim.ir.simt.nodes import Barrier, Mbarrier
from gpusim.launch.simt.profile import successors
from gpusim.lower.simt.code import Code
from gpusim.trace.simt import CtaPath, WarpPath


@dataclass(frozen=True, slots=True)
class Shape:
    """The loops of a code: `latch[h]`: last block of the loop with head h; `joint`: heads of loops with a barrier of the CTA in them."""

    latch: dict[int, int]
    joint: frozenset[int]


@dataclass(slots=True)
class Leaf:
    """Step `at` of a path."""

    at: int
    key: Any


@dataclass(slots=True)
class Loop:
    """One visit of a loop: its iterations, each a list of nodes; `keys[i]` is equal for iterations that do the same."""

    head: int
    iterations: list[list[Leaf | Loop]] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)

    @property
    def key(self) -> Any:
        return (self.head, tuple(self.keys))


Nodes = list[Leaf | Loop]
#: for each depth of loops, iterations kept of a run: at its start, in its middle
Caps = Sequence[tuple[int, int]]


def shape(code: Code) -> Shape:
    """Every back edge makes a loop."""
    latch: dict[int, int] = {}
    for block in code.blocks:
        for to in successors(block.end):
            if to <= block.id:
                latch[to] = max(latch.get(to, 0), block.id)
    barriers = [b.id for b in code.blocks if any(isinstance(op, Mbarrier) or isinstance(op, Barrier) and op.kind != "warp" for op in b.ops)]
    return Shape(latch, frozenset(head for head, last in latch.items() if any(head <= b <= last for b in barriers)))


def parse(path: WarpPath, s: Shape) -> Nodes:
    """The path as leaves and loops."""
    return _nodes(path, 0, len(path.blocks), s)


def _nodes(path: WarpPath, at: int, end: int, s: Shape, inside: int = -1) -> Nodes:
    """Steps [at, end); `inside`: the head of the loop whose iteration this is."""
    blocks, masks = path.blocks, path.masks
    out: Nodes = []
    while at < end:
        head = blocks[at]
        last = s.latch.get(head)
        if last is None or (head == inside and not out):
            out.append(Leaf(at, (head, masks[at])))
            at += 1
            continue
        stop = at
        while stop < end and head <= blocks[stop] <= last:
            stop += 1
        out.append(_loop(path, at, stop, s))
        at = stop
    return out


def _loop(path: WarpPath, at: int, stop: int, s: Shape) -> Loop:
    blocks = path.blocks
    head = blocks[at]
    loop = Loop(head)
    starts = [i for i in range(at, stop) if blocks[i] == head]
    for first, last in zip(starts, [*starts[1:], stop], strict=True):
        nodes = _nodes(path, first, last, s, head)
        loop.iterations.append(nodes)
        loop.keys.append(tuple(n.key for n in nodes))
    return loop


def returns(cta: CtaPath, parsed: Sequence[Nodes]) -> int:
    """Lines of memory that warps of the CTA touch in one loop and come back to in another. parsed: its warps, by `parse`."""
    back: set[int] = set()
    for warp, nodes in zip(cta.warps, parsed, strict=True):
        before: set[int] = set()
        for loop in (n for n in nodes if isinstance(n, Loop)):
            found = {sector >> 2 for at in _steps(loop) for touch in warp.touches[at] for sector in touch.sectors}
            back |= before & found
            before |= found
    return len(back)


def _steps(loop: Loop) -> Iterator[int]:
    for node in (n for nodes in loop.iterations for n in nodes):
        if isinstance(node, Leaf):
            yield node.at
        else:
            yield from _steps(node)


def shortened(cta: CtaPath, parsed: Sequence[Nodes], s: Shape, caps: Caps) -> CtaPath:
    """`cta` with at most so many iterations of every run. parsed: its warps, by `parse`."""
    kept = _joint(list(parsed), s, caps)
    return CtaPath(cta.cta, [_pick(warp, steps) for warp, steps in zip(cta.warps, kept, strict=True)])


def _pick(path: WarpPath, steps: list[int]) -> WarpPath:
    if len(steps) == len(path.blocks):
        return path
    return WarpPath([path.blocks[i] for i in steps], [path.masks[i] for i in steps], [path.touches[i] for i in steps])


def _joint(warps: list[Nodes], s: Shape, caps: Caps) -> list[list[int]]:
    """Steps kept of each warp. The n-th loop with a barrier of one warp is the n-th of the others."""
    kept: list[list[int]] = [[] for _ in warps]
    meeting = [[n for n in nodes if isinstance(n, Loop) and n.head in s.joint] for nodes in warps]
    inside: dict[int, list[int]] = {}
    for rank in range(max((len(m) for m in meeting), default=0)):
        members = [m[rank] for m in meeting if len(m) > rank]
        for loop, steps in zip(members, _together(members, s, caps), strict=True):
            inside[id(loop)] = steps
    for nodes, steps in zip(warps, kept, strict=True):
        for node in nodes:
            if isinstance(node, Leaf):
                steps.append(node.at)
            else:
                steps += inside[id(node)] if id(node) in inside else _alone(node, s, caps)
    return kept


def _together(loops: list[Loop], s: Shape, caps: Caps) -> list[list[int]]:
    """Steps kept of each of the loops, which run side by side."""
    longest = max(len(loop.keys) for loop in loops)
    keys = [tuple(loop.keys[i] if i < len(loop.keys) else None for loop in loops) for i in range(longest)]
    out: list[list[int]] = [[] for _ in loops]
    for i in _kept_of_runs(keys, caps):
        members = [n for n, loop in enumerate(loops) if i < len(loop.keys)]
        for n, steps in zip(members, _joint([loops[n].iterations[i] for n in members], s, caps[1:]), strict=True):
            out[n] += steps
    return out


def _alone(loop: Loop, s: Shape, caps: Caps) -> list[int]:
    return [step for i in _kept_of_runs(loop.keys, caps) for step in _joint([loop.iterations[i]], s, caps[1:])[0]]


def _kept_of_runs(keys: Sequence[Any], caps: Caps) -> Iterator[int]:
    """Indices of each run of equal keys that are kept."""
    if not caps:
        yield from range(len(keys))
        return
    first, middle = caps[0]
    start = 0
    for _, run in groupby(keys):
        number = len(list(run))
        behind = max(first, (number - middle) // 2)
        yield from range(start, start + min(first, number))
        yield from range(start + behind, start + min(behind + middle, number))
        start += number
