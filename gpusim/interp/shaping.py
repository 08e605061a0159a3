"""Tiles of another shape, order or type of sum. Arrays have the blocks as their first axis, so axis n of a tile is axis n + 1 here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.interp.formats import COMPUTE, rounded, settle, storage
from gpusim.interp.functions import MAPS, SCANS
from gpusim.ir.infer import TileType
from gpusim.ir.ops import Broadcast, Cast, Fold, Full, Histogram, Join, Map, Part, Reshape, Scan, Sort, Take, Transpose


def _reshape(op: Reshape, src: np.ndarray) -> np.ndarray:
    return src.reshape(len(src), *op.shape)


def _broadcast(op: Broadcast, src: np.ndarray) -> np.ndarray:
    return np.broadcast_to(as_rank(src, len(op.shape)), (len(src), *op.shape))


def _transpose(op: Transpose, src: np.ndarray) -> np.ndarray:
    return src.transpose(0, *(axis + 1 for axis in op.order))


def _join(op: Join, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack((a, b), axis=-1)


def _part(op: Part, src: np.ndarray) -> np.ndarray:
    return src.take(op.index, axis=op.axis + 1)


def _take(op: Take, src: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.take_along_axis(src, index.astype(np.int64), axis=op.axis + 1)


def _sort(op: Sort, src: np.ndarray) -> np.ndarray:
    made = np.sort(src, axis=op.axis + 1)
    return np.flip(made, axis=op.axis + 1) if op.descending else made


def _histogram(op: Histogram, src: np.ndarray) -> np.ndarray:
    bins = np.arange(op.bins)
    return np.stack([np.count_nonzero(one.reshape(-1, 1) == bins, axis=0) for one in src]).astype(np.int32)


def _scan(op: Scan, src: np.ndarray) -> np.ndarray:
    axis = op.axis + 1
    made = SCANS[op.fn](np.flip(src, axis) if op.reverse else src, axis)
    return np.flip(made, axis) if op.reverse else made


#: op -> its result, from the tiles it reads in the order of `ops.reads`
SHAPING: dict[type, Callable[..., np.ndarray]] = {
    Reshape: _reshape,
    Broadcast: _broadcast,
    Transpose: _transpose,
    Join: _join,
    Part: _part,
    Take: _take,
    Sort: _sort,
    Histogram: _histogram,
    Scan: _scan,
}


def as_rank(array: np.ndarray, rank: int) -> np.ndarray:
    """A batch of tiles with `rank` axes each: NumPy would align the blocks with an axis of a larger tile."""
    return array.reshape(len(array), *(1,) * (rank - array.ndim + 1), *array.shape[1:])


def cast(src: np.ndarray, have: TileType, to: Cast) -> np.ndarray:
    """`src` rounded to the dtype of `to`, or its bits read as that."""
    if to.bits:
        return src.astype(storage(have.dtype)).view(storage(to.dtype)).astype(COMPUTE[to.dtype.name])
    return rounded(src, to.dtype)


Elements = tuple[np.ndarray, ...]


def fold(op: Fold, srcs: Elements, types: dict[str, TileType]) -> Elements:
    """The results of `op`: neighbours are combined in pairs, so that a function need not be commutative."""
    tiles = [np.moveaxis(s, op.axis + 1, 1) for s in srcs]
    tiles = [np.flip(t, 1) for t in tiles] if op.reverse else tiles
    done = _scanned(op, tiles, types) if op.scan else _reduced(op, tiles, types)
    if not op.scan:
        return tuple(t[:, 0] for t in done)
    return tuple(np.moveaxis(np.flip(t, 1) if op.reverse else t, 1, op.axis + 1) for t in done)


def _reduced(op: Fold, tiles: list[np.ndarray], types: dict[str, TileType]) -> list[np.ndarray]:
    while (n := tiles[0].shape[1]) > 1:
        even = n - n % 2
        made = _combined(op, [t[:, 0:even:2] for t in tiles], [t[:, 1:even:2] for t in tiles], types)
        tiles = [np.concatenate((m, t[:, even:]), 1) for m, t in zip(made, tiles, strict=True)]
    return tiles


def _scanned(op: Fold, tiles: list[np.ndarray], types: dict[str, TileType]) -> list[np.ndarray]:
    reach = 1
    while reach < tiles[0].shape[1]:
        made = _combined(op, [t[:, :-reach] for t in tiles], [t[:, reach:] for t in tiles], types)
        tiles = [np.concatenate((t[:, :reach], m), 1) for m, t in zip(made, tiles, strict=True)]
        reach *= 2
    return tiles


def _combined(op: Fold, left: list[np.ndarray], right: list[np.ndarray], types: dict[str, TileType]) -> list[np.ndarray]:
    known: dict[str, Any] = dict(zip((*op.left, *op.right), (*left, *right), strict=True))
    for inner in op.body:
        if isinstance(inner, Map):
            known[inner.dst] = settle(np.asarray(MAPS[inner.fn](*(known[a] for a in inner.args))), types[inner.dst].dtype)
        elif isinstance(inner, Cast):
            known[inner.dst] = cast(known[inner.src], types[inner.src], inner)
        else:
            assert isinstance(inner, Full), "check lets nothing else pass"
            known[inner.dst] = rounded(np.asarray(inner.value), inner.dtype)
    return [np.broadcast_to(known[r], left[0].shape) for r in op.results]
