"""The paths of the CTAs that timing asked for: blocks, masks and accesses, warp by warp."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.interp.simt import counting
from gpusim.interp.simt.groups import Group
from gpusim.trace.simt import CtaPath, Touch, WarpPath

if TYPE_CHECKING:
    from gpusim.interp.simt.compile import Site
    from gpusim.interp.simt.state import State

Array = Any
Place = tuple[int, int, int, int]


def warp_rows(state: State, g: Group) -> list[Place]:
    """(row of the chunk, warp, row of g's layout, warp in that row) of every warp of a recorded CTA in g."""
    if g.recorded is None:
        g.recorded = _warp_rows(g, set(state.record_rows.tolist()))
    return g.recorded


def _warp_rows(g: Group, wanted: set[int]) -> list[Place]:
    if g.lanes is not None:
        warps = g.warp_ids.tolist()
        return [(w // g.space.warps, w % g.space.warps, 0, i) for i, w in enumerate(warps) if w // g.space.warps in wanted]
    ids = list(range(g.space.warps)) if g.regular else g.warp_ids.tolist()
    return [(c, w, r, i) for r, c in enumerate(g.cta[:, 0].tolist()) if c in wanted for i, w in enumerate(ids)]


def begin(state: State, g: Group, block: int) -> None:
    """Every recorded warp of g enters `block`; its accesses are filled in as they happen."""
    order = state.launch.compiled.touch_order[block]
    idle = [Touch(a, 0, (), 0, 0) for a in order]
    masks = g.masks
    for row, warp, _, i in warp_rows(state, g):
        path = path_of(state, row, warp)
        path.blocks.append(block)
        path.masks.append(masks[i])
        path.touches.append(list(idle))  # type: ignore[arg-type]  # becomes a tuple in `finish`


def finish(paths: dict[int, CtaPath]) -> None:
    for path in paths.values():
        for warp in path.warps:
            warp.touches = [tuple(t) for t in warp.touches]


def path_of(state: State, row: int, warp: int) -> WarpPath:
    cta = int(state.ctas[row])
    if cta not in state.launch.paths:
        state.launch.paths[cta] = CtaPath(cta, [WarpPath() for _ in range(state.space.warps)])
    return state.launch.paths[cta].warps[warp]


def _set(state: State, site: Site, row: int, warp: int, touch: Touch) -> None:
    touches: Any = path_of(state, row, warp).touches[-1]
    before = touches[site.place]
    if before.lanes:  # an asynchronous copy reads global and writes shared memory
        touch = Touch(site.access, max(touch.lanes, before.lanes), before.sectors or touch.sectors, max(touch.wavefronts, before.wavefronts), 1)
    touches[site.place] = touch


def sectors(state: State, site: Site, g: Group, sector: Array, index: Array | None = None, spread: int = 1) -> None:
    """One access to global or local memory. sector: g's layout; index: of an atomic; spread: words a lane (local memory, 4 sectors apart)."""
    rows = warp_rows(state, g)
    if not rows:
        return
    table, same = _of_warps(g, rows, sector), None
    if index is not None:
        active = np.array([g.active[0, i] for _, _, _, i in rows])
        same = counting.most_equal(_of_warps(g, rows, index.astype(np.int64)), active).tolist()
    for n, ((row, warp, _, i), mine) in enumerate(zip(rows, table.tolist(), strict=True)):
        lanes = g.lanes_per_warp[i]
        ids = set(mine if lanes == 32 else compress(mine, g.active[0, i].tolist()))
        if spread > 1:
            ids = {s + 4 * j for s in ids for j in range(spread)}
        _set(state, site, row, warp, Touch(site.access, lanes, tuple(sorted(ids)), 1, 1 if same is None else same[n]))


def _of_warps(g: Group, rows: list[Place], value: Array) -> Array:
    """A value in g's layout for the lanes of these warps, shape (n, 32)."""
    table = g.to_warps(value)
    if len(table) == 1:
        return table[0, [i for _, _, _, i in rows]]
    return table[[r for _, _, r, _ in rows], [i for _, _, _, i in rows]]


def shared(state: State, site: Site, g: Group, waves: Array, same: Array | None = None) -> None:
    """One access to shared memory. waves: shape (R or 1, warps of a row)."""
    counts, most = waves.tolist(), None if same is None else same.tolist()
    known: dict[tuple[int, int, int], Touch] = {}
    for row, warp, r, i in warp_rows(state, g):
        r = r if len(counts) > 1 else 0
        key = (g.lanes_per_warp[i], counts[r][i], 1 if most is None else most[r if len(most) > 1 else 0][i])
        if key not in known:
            known[key] = Touch(site.access, key[0], (), key[1], key[2])
        _set(state, site, row, warp, known[key])
