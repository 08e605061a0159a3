"""The paths of the CTAs that timing asked for: blocks, masks and accesses, warp by warp."""

from __future__ import annotations

from dataclasses import dataclass
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
_LANES = np.arange(32)
_BITS = 1 << _LANES
SECTOR = 32
FEW = 8  # recorded CTAs of a chunk that are looked up one by one


@dataclass(frozen=True)
class Recorded:
    """The warps of recorded CTAs in a group. places: (row of the chunk, warp) of each; lanes: active ones; masks: the same as 32 bits;
    active: shape (n, 32). rows, cols: where in the group's layout by warps they stand; cols None: not yet looked up. spots: for a list of
    lanes, which of them they are, and (place, lane) of each."""

    places: list[tuple[int, int]]
    lanes: list[int]
    masks: list[int]
    active: Array
    rows: Array
    cols: Array | None = None
    spots: tuple[Array, Array, Array] | None = None


def recorded(state: State, g: Group) -> Recorded:
    if g.recorded is None:
        g.recorded = _of_rectangle(state, g) if g.lanes is None else _of_list(state, g)
    return g.recorded


def _of_rectangle(state: State, g: Group) -> Recorded:
    wanted = state.recorded_rows[g.cta[:, 0]]
    rows = np.flatnonzero(wanted)
    ids = list(range(g.space.warps)) if g.regular else g.warp_ids.tolist()
    active = g.active[0]
    masks = (active.astype(np.int64) << _LANES).sum(axis=1).tolist()
    lanes = active.sum(axis=1).tolist()
    n, w = len(rows), len(ids)
    places = [(c, warp) for c in g.cta[rows, 0].tolist() for warp in ids]
    return Recorded(places, lanes * n, masks * n, np.tile(active, (n, 1)), np.repeat(rows, w), np.tile(np.arange(w), n))


def _of_list(state: State, g: Group) -> Recorded:
    at = _lanes_of(state, g)
    if not len(at):
        return Recorded([], [], [], np.zeros((0, 32), bool), at, spots=(at, at, at))
    cta, tid = g.cta[0, at], g.tid[0, at]
    warp, lane = cta * g.space.warps + (tid >> 5), tid & 31
    change = np.ones(len(at), bool)
    np.not_equal(warp[1:], warp[:-1], out=change[1:])
    first, number = change.nonzero()[0], change.cumsum() - 1
    active = np.zeros((len(first), 32), bool)
    active[number, lane] = True
    masks = np.add.reduceat(_BITS[lane], first).tolist()
    lanes = np.bincount(number).tolist()
    places = [divmod(w, g.space.warps) for w in warp[first].tolist()]
    return Recorded(places, lanes, masks, active, np.zeros(len(first), np.int64), spots=(at, number, lane))


def _lanes_of(state: State, g: Group) -> Array:
    """Which of the lanes of a list belong to recorded CTAs."""
    rows, threads = state.record_rows, g.space.threads
    if len(rows) > FEW:
        return state.recorded_rows[g.cta[0]].nonzero()[0]
    begins, ends = g.flat.searchsorted(rows * threads).tolist(), g.flat.searchsorted((rows + 1) * threads).tolist()
    return np.concatenate([np.arange(a, b) for a, b in zip(begins, ends, strict=True)])


def begin(state: State, g: Group, block: int) -> None:
    """Every recorded warp of g enters `block`; its accesses are filled in as they happen."""
    order = state.launch.compiled.touch_order[block]
    idle = [Touch(a, 0, (), 0, 0) for a in order]
    found = recorded(state, g)
    for (row, warp), mask in zip(found.places, found.masks, strict=True):
        path = path_of(state, row, warp)
        path.blocks.append(block)
        path.masks.append(mask)
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


def sectors(
    state: State,
    site: Site,
    g: Group,
    sector: Array,
    index: Array | None = None,
    spread: int = 1,
    stored: int = 0,
    loaded: tuple[Array, int] | None = None,
) -> None:
    """One access to global or local memory. sector: g's layout; index: of an atomic; spread: words a lane (local memory, 4 sectors apart);
    stored: bytes a lane writes; loaded: byte address and bytes of a lane, whose words lie in 32 banks as those of shared memory do."""
    found = recorded(state, g)
    if not found.places:
        return
    table, same = _of_warps(g, found, sector), None
    if index is not None:
        same = counting.most_equal(_of_warps(g, found, index.astype(np.int64)), found.active).tolist()
    passes = None if loaded is None else counting.passes(_of_warps(g, found, loaded[0]), found.active, loaded[1]).tolist()
    active = found.active.tolist()
    for n, ((row, warp), lanes, mine) in enumerate(zip(found.places, found.lanes, table.tolist(), strict=True)):
        each = mine if lanes == 32 else list(compress(mine, active[n]))
        ids = set(each)
        partly = sum(each.count(s) * stored < SECTOR for s in ids) if stored and lanes * stored < SECTOR * len(ids) else 0
        if spread > 1:
            ids = {s + 4 * j for s in ids for j in range(spread)}
        _set(state, site, row, warp, Touch(site.access, lanes, tuple(sorted(ids)), 1 if passes is None else passes[n], 1 if same is None else same[n], partly))


def _of_warps(g: Group, found: Recorded, value: Array) -> Array:
    """A value in g's layout for the lanes of these warps, shape (n, 32); anything where no lane is active."""
    if found.spots is not None:
        at, number, lane = found.spots
        out = np.zeros(found.active.shape, value.dtype)
        out[number, lane] = value[0, at] if value.shape[1] > 1 else value[0, 0]
        return out
    table = g.to_warps(value)
    return table[found.rows if len(table) > 1 else 0, found.cols]


def shared(state: State, site: Site, g: Group, waves: Array, same: Array | None = None, words: Array | None = None) -> None:
    """One access to shared memory. waves: shape (R or 1, warps of a row). words: g's layout; of an atomic that waits for other warps on its word."""
    found = recorded(state, g)
    if not found.places:
        return
    cols = found.cols
    if cols is None:
        cols = np.searchsorted(g.warp_ids, [row * g.space.warps + warp for row, warp in found.places])
    counts = waves[found.rows if len(waves) > 1 else 0, cols].tolist()
    most = [1] * len(counts) if same is None else same[found.rows if len(same) > 1 else 0, cols].tolist()
    if words is not None:
        table, active = _of_warps(g, found, words).tolist(), found.active.tolist()
        for n, (row, warp) in enumerate(found.places):
            touch = Touch(site.access, found.lanes[n], (), counts[n], most[n], words=tuple(compress(table[n], active[n])))
            _set(state, site, row, warp, touch)
        return
    known: dict[tuple[int, int, int], Touch] = {}
    for (row, warp), *key in zip(found.places, found.lanes, counts, most, strict=True):
        lanes, passes, equal = key
        touch = known.setdefault((lanes, passes, equal), Touch(site.access, lanes, (), passes, equal))
        _set(state, site, row, warp, touch)
