"""The paths of the CTAs that timing asked for: blocks, masks and accesses, warp by warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.interp.simt import counting
from gpusim.interp.simt.groups import Group
from gpusim.trace.simt import CtaPath, Touch, WarpPath

if TYPE_CHECKING:
    from gpusim.interp.simt.compile import Site
    from gpusim.interp.simt.state import State

Array = Any
IDLE: dict[int, Touch] = {}


def warp_rows(state: State, g: Group) -> list[tuple[int, int, int, int]]:
    """(row of the chunk, warp, row of g's layout, warp in that row) of every warp of a recorded CTA in g."""
    wanted = set(state.record_rows.tolist())
    if g.lanes is not None:
        warps = g.warp_ids.tolist()
        return [(w // g.space.warps, w % g.space.warps, 0, i) for i, w in enumerate(warps) if w // g.space.warps in wanted]
    ids = list(range(g.space.warps)) if g.regular else g.warp_ids.tolist()
    return [(c, w, r, i) for r, c in enumerate(g.cta[:, 0].tolist()) if c in wanted for i, w in enumerate(ids)]


def masks(g: Group) -> Array:
    """Active lanes of each warp of a row as 32 bits; shape (warps of a row,)."""
    return (g.active[0].astype(np.int64) << np.arange(32)).sum(axis=1)


def begin(state: State, g: Group, block: int) -> None:
    """Every recorded warp of g enters `block`; its accesses are filled in as they happen."""
    bits = masks(g).tolist()
    order = state.launch.compiled.touch_order[block]
    for row, warp, _, i in warp_rows(state, g):
        path = path_of(state, row, warp)
        path.blocks.append(block)
        path.masks.append(bits[i])
        path.touches.append(tuple(Touch(a, 0, (), 0, 0) for a in order))


def path_of(state: State, row: int, warp: int) -> WarpPath:
    cta = int(state.ctas[row])
    if cta not in state.launch.paths:
        state.launch.paths[cta] = CtaPath(cta, [WarpPath() for _ in range(state.space.warps)])
    return state.launch.paths[cta].warps[warp]


def _set(state: State, site: Site, row: int, warp: int, touch: Touch) -> None:
    order = state.launch.compiled.touch_order[site.block]
    i = order.index(site.access)
    touches = path_of(state, row, warp).touches
    before = touches[-1][i]
    if before.lanes:  # an asynchronous copy reads global and writes shared memory
        touch = Touch(site.access, max(touch.lanes, before.lanes), before.sectors or touch.sectors, max(touch.wavefronts, before.wavefronts), 1)
    touches[-1] = (*touches[-1][:i], touch, *touches[-1][i + 1 :])


def sectors(state: State, site: Site, g: Group, sector: Array, index: Array | None = None, spread: int = 1) -> None:
    """One access to global or local memory. sector: g's layout; index: of an atomic; spread: words a lane (local memory, 4 sectors apart)."""
    table = g.to_warps(sector)
    lanes = g.active[0].sum(axis=1).tolist()
    places = None if index is None else g.to_warps(index.astype(np.int64))
    for row, warp, r, i in warp_rows(state, g):
        r = r if len(table) > 1 else 0
        active = g.active[0, i]
        mine = table[r, i][active]
        ids = tuple(np.unique(mine if spread == 1 else np.concatenate([mine + 4 * j for j in range(spread)])).tolist())
        same = 1 if places is None else int(counting.most_equal(places[r, i][None], active[None])[0])
        _set(state, site, row, warp, Touch(site.access, lanes[i], ids, 1, same))


def shared(state: State, site: Site, g: Group, waves: Array, same: Array | None = None) -> None:
    """One access to shared memory. waves: shape (R or 1, warps of a row)."""
    lanes = g.active[0].sum(axis=1).tolist()
    for row, warp, r, i in warp_rows(state, g):
        r = r if len(waves) > 1 else 0
        most = 1 if same is None else int(same[r if len(same) > 1 else 0, i])
        _set(state, site, row, warp, Touch(site.access, lanes[i], (), int(waves[r, i]), most))
