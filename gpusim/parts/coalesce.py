"""The coalescer: which sectors and lines the accesses of a box touch. Pure; shared by every level's counters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

WARP_LANES = 32


@dataclass(frozen=True, slots=True)
class Touched:
    """rows x row_bytes of a box: `sectors` requested by the warps' instructions, `lines` they occupy in the L1 tag stage,
    `unique` distinct bytes in whole sectors, `instructions` of the CTA."""

    sectors: int
    lines: int
    unique: int
    instructions: int


@lru_cache(maxsize=4096)
def touch(offset: int, rows: int, row_bytes: int, pitch_bytes: int, piece: int, sector: int, line: int, tile: tuple[int, int] | None = None) -> Touched:
    """Rows of `row_bytes` at distance `pitch_bytes`, the first at byte `offset` of a line; a lane takes `piece` bytes.

    `tile` = (rows, bytes of a row) of the whole tile, where an edge cuts it: lanes are laid out over the whole tile, and those
    beyond the edge are masked but issued. A warp instruction covers 32 consecutive pieces of a row (or several rows, if a
    row has fewer).
    """
    tile_rows, tile_bytes = tile or (max(rows, 0), max(row_bytes, 0))
    instructions = -(-tile_rows * tile_bytes // (WARP_LANES * piece))
    if rows <= 0 or row_bytes <= 0:
        return Touched(0, 0, 0, instructions)
    starts = offset + np.arange(rows, dtype=np.int64) * pitch_bytes
    chunk = min(tile_bytes, WARP_LANES * piece)
    firsts = np.arange(0, row_bytes, chunk, dtype=np.int64)
    begin = (starts[:, None] + firsts[None, :]).ravel()
    end = np.minimum(begin + chunk, np.repeat(starts + row_bytes, len(firsts)))
    warp = np.arange(len(begin)) // max(1, WARP_LANES * piece // tile_bytes)
    unique = _distinct(starts, starts + row_bytes, np.zeros(rows, dtype=np.int64), sector) * sector
    return Touched(_distinct(begin, end, warp, sector), _distinct(begin, end, warp, line), unique, instructions)


def _distinct(begin: np.ndarray, end: np.ndarray, group: np.ndarray, unit: int) -> int:
    """Units that the ascending ranges [begin, end) touch, counted once per group of neighbouring ranges."""
    first, last = begin // unit, (end - 1) // unit
    shared = (first[1:] == last[:-1]) & (group[1:] == group[:-1])
    return int((last - first + 1).sum() - shared.sum())
