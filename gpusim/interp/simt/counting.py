"""Sectors, lines and wavefronts of a warp's access. Sources: reference/mechanisms-memory.md, part 5, for shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt.groups import Group

Array = Any
SECTOR = 32


def distinct(g: Group, ids: Array, coarse: int = 0) -> tuple[int, int]:
    """Distinct ids within each warp of group g, summed, and distinct ids >> coarse. ids: shape (R or 1, K or 1)."""
    if ids.shape[1] == 1 or g.shape[1] == 1:
        return g.warps, g.warps
    times = g.shape[0] if ids.shape[0] == 1 else 1
    key, borders = _by_warp(g, ids, coarse)
    fine = int(_runs(key, borders)) * times
    return fine, int(_runs(key >> coarse, borders)) * times if coarse else fine


def _by_warp(g: Group, ids: Array, coarse: int) -> tuple[Array, Array | None]:
    """(rows in which equal ids of a warp are neighbours, where the next warp begins in a row: shape (1, K - 1); None: nowhere)."""
    if g.regular:
        key = ids.reshape(-1, 32)
        return (key if (key[:, 1:] >= key[:, :-1]).all() else np.sort(key, axis=1)), None
    if ((ids[:, 1:] >= ids[:, :-1]) | g.new_warp).all():
        return ids, g.new_warp
    low, high = int(ids.min()) >> coarse << coarse, int(ids.max())
    key = (ids - low) + g.warp_of[None] * ((((high - low) >> coarse) + 1) << coarse)
    key.sort(axis=1)
    return key, None


def _runs(key: Array, borders: Array | None) -> Any:
    changes = key[:, 1:] != key[:, :-1]
    return np.count_nonzero(changes if borders is None else changes | borders) + len(key)


def partial_sectors(g: Group, ids: Array, width: int) -> int:
    """Sectors that a warp's store of `width` bytes a lane covers in part, summed over the warps. Lanes on one address count as if apart."""
    full = SECTOR // width
    if ids.shape[1] == 1 or g.shape[1] == 1:
        return g.warps if g.shape[1] < full or ids.shape[1] == 1 < full else 0
    key, borders = _by_warp(g, ids, 0)
    first = np.ones(key.shape, bool)
    np.not_equal(key[:, 1:], key[:, :-1], out=first[:, 1:])
    if borders is not None:
        first[:, 1:] |= borders
    lengths = np.diff(np.flatnonzero(first), append=key.size)
    return int(np.count_nonzero(lengths < full)) * (g.shape[0] if ids.shape[0] == 1 else 1)


def distinct_per_warp(ids: Array, active: Array) -> Array:
    """Number of distinct ids among the active lanes; ids, active: shape (..., lanes)."""
    big = np.iinfo(np.int64).max
    key = np.sort(np.where(active, ids, big), axis=-1)
    fresh = (key[..., 1:] != key[..., :-1]) & (key[..., 1:] != big)
    return fresh.sum(axis=-1) + (key[..., 0] != big)


def worst_bank(words: Array, active: Array | None) -> Array:
    """Most distinct words in one of the 32 banks; words, active (None: all): shape (n, lanes)."""
    worst = np.ones(len(words), np.int64) if active is None else active.any(axis=1).astype(np.int64)
    crowded = np.flatnonzero(~one_pass(words, active))
    if len(crowded):
        worst[crowded] = _most_distinct(words[crowded], None if active is None else active[crowded])
    return worst


def one_pass(words: Array, active: Array | None) -> Array:
    """Whether no bank has to give two words; shape (n,). A word that all lanes of its bank find in a table is the only one there."""
    cell = (words & 31) + np.arange(0, 32 * len(words), 32)[:, None]
    table = np.empty(32 * len(words), words.dtype)
    if active is None:
        table[cell] = words
        return (table.take(cell) == words).all(axis=1)
    table[cell[active]] = words[active]
    return ((table.take(cell) == words) | ~active).all(axis=1)


def _most_distinct(words: Array, active: Array | None) -> Array:
    big = np.int32(np.iinfo(np.int32).max)
    words = words.astype(np.int32)
    key = np.sort(words if active is None else np.where(active, words, big), axis=-1)
    fresh = key != big
    fresh[:, 1:] &= key[:, 1:] != key[:, :-1]
    n = len(words)
    cell = (np.arange(n)[:, None] * 32 + (key & 31))[fresh]
    return np.bincount(cell, minlength=n * 32).reshape(n, 32).max(axis=1)


def passes(byte: Array, active: Array | None, width: int) -> Array:
    """Wavefronts of each warp's shared-memory access of `width` bytes a lane. byte, active: shape (n, 32).

    A pass serves one word of each bank. 8-byte accesses go by half-warps, 16-byte ones by quarters; neighbouring parts that need
    one pass together are served together.
    """
    if width <= 4:
        return worst_bank(byte >> 2, active)
    n, words = len(byte), width // 4
    parts = words
    all_words = (byte >> 2)[:, :, None] + np.arange(words)
    lanes = None if active is None else np.broadcast_to(active[:, :, None], all_words.shape)
    single = worst_bank(all_words.reshape(n * parts, -1), None if lanes is None else lanes.reshape(n * parts, -1)).reshape(n, parts)
    together = one_pass(all_words.reshape(n * parts // 2, -1), None if lanes is None else lanes.reshape(n * parts // 2, -1))
    halves = single.reshape(n, parts // 2, 2)
    return np.where(together.reshape(n, -1), halves.max(axis=2), halves.sum(axis=2)).sum(axis=1)


def atomic_passes(words: Array, active: Array | None) -> Array:
    """Passes of a shared atomic: equal words conflict like words of one bank; not where `counts_lanes`. Shape (n,)."""
    n = len(words)
    cell = np.arange(n)[:, None] * 32 + (words & 31)
    cell = cell.ravel() if active is None else cell[active]
    return np.bincount(cell, minlength=n * 32).reshape(n, 32).max(axis=1)


def most_equal(ids: Array, active: Array | None) -> Array:
    """Most active lanes with one id; shape (n,)."""
    key = np.sort(ids if active is None else np.where(active, ids, -1), axis=-1)
    run = np.ones(key.shape, np.int64)
    for i in range(1, key.shape[1]):
        run[:, i] = np.where(key[:, i] == key[:, i - 1], run[:, i - 1] + 1, 1)
    return np.where(key >= 0, run, 0).max(axis=1)


def atomic_sectors(g: Group, byte: Array) -> tuple[Array, Array]:
    """(sectors of a global atomic, warp by warp; how often each counts), for the rows of `byte`: lanes on one address follow each other, so a
    sector counts as often as its most wanted address.

    Evidence: the counter of reductions of `hist_global` is 16.2 a request for skewed data and 22.6 for uniform data over 256 bins;
    this gives 16.2 and 22.3, distinct sectors would be 1.1 and 20.4.
    """
    if byte.shape[1] == 1:
        return (byte[:, 0] >> 5), np.full(len(byte), g.size // len(byte))
    table = g.to_warps(byte).reshape(-1, 32)
    active = np.broadcast_to(g.active, (len(byte), g.row_warps, 32)).reshape(-1, 32)
    order = np.sort(np.where(active, table, -1), axis=1)
    warp, _ = np.nonzero(order >= 0)
    place = order[order >= 0]
    first = np.flatnonzero(np.concatenate(([True], (place[1:] != place[:-1]) | (warp[1:] != warp[:-1]))))
    runs = np.diff(np.concatenate((first, [len(place)])))
    sector, owner = place[first] >> 5, warp[first]
    heads = np.flatnonzero(np.concatenate(([True], (sector[1:] != sector[:-1]) | (owner[1:] != owner[:-1]))))
    return sector[heads], np.maximum.reduceat(runs, heads)
