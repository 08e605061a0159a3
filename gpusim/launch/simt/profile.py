"""Code + counts + timed SMs -> Profile: what each source line and each access cost."""

from __future__ import annotations

from collections.abc import Iterable

from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.counting import access_costs, line_counts
from gpusim.lower.simt.code import Block, Branch, Code, End, Jump
from gpusim.trace.profile import BlockPlace, LineCost, Profile, Track
from gpusim.trace.simt import Counts, CtaPath


def profile(
    code: Code,
    geometry: Geometry,
    counts: Counts,
    stalls: dict[int, dict[str, float]],
    paths: Iterable[CtaPath],
    tracks: tuple[Track, ...] = (),
) -> Profile:
    """stalls: source line -> reason -> warp-cycles of the launch. paths: the timed CTAs."""
    program = code.program
    counted = line_counts(code, counts)
    lines = sorted(set(counted) | set(stalls))
    costs = tuple(LineCost(line, *counted.get(line, (0, 0)), stalls.get(line, {})) for line in lines)
    return Profile(
        file=program.file,
        first_line=program.first_line,
        source=program.source,
        grid=geometry.grid,
        block=geometry.block,
        lines=costs,
        accesses=access_costs(code, counts),
        blocks=places(code),
        same_address=same_address(code, paths),
        tracks=tracks,
    )


def places(code: Code) -> tuple[BlockPlace, ...]:
    """Every block with its lines. Ways join where a block has several predecessors that are not its own loop."""
    before: dict[int, set[int]] = {block.id: set() for block in code.blocks}
    for block in code.blocks:
        for to in successors(block.end):
            if to > block.id:
                before[to].add(block.id)
    return tuple(_place(block, len(before[block.id]) > 1) for block in code.blocks)


def _place(block: Block, joins: bool) -> BlockPlace:
    lines = tuple(sorted({i.line for i in block.instrs if i.line}))
    return BlockPlace(block.id, block.line or (lines[0] if lines else 0), lines, joins, len(block.instrs))


def successors(end: End) -> tuple[int, ...]:
    """Blocks where lanes may go."""
    if isinstance(end, Branch):
        return (end.yes, end.no)
    return (end.to,) if isinstance(end, Jump) else ()


def same_address(code: Code, paths: Iterable[CtaPath]) -> dict[int, int]:
    """Line of an atomic -> most lanes of one instruction on one address."""
    atomic = {i: a.line for i, a in enumerate(code.accesses) if a.kind in ("atomic", "red")}
    out: dict[int, int] = {}
    if not atomic:
        return out
    for path in paths:
        for warp in path.warps:
            for touches in warp.touches:
                for t in touches:
                    if t.access in atomic:
                        out[atomic[t.access]] = max(out.get(atomic[t.access], 0), t.same)
    return out
