"""Accesses by element offsets: gathers, scatters and atomics of many blocks on one tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.program import Tensor


def inside(t: Tensor, index: np.ndarray, mask: np.ndarray | None, size: int, blocks: np.ndarray, where: str) -> np.ndarray:
    """`index` as int64, with masked places at 0. GpusimError for an offset outside of the `size` elements of memory."""
    offsets = index.astype(np.int64)
    offsets = offsets if mask is None else np.where(mask, offsets, 0)
    wrong = (offsets < 0) | (offsets >= size)
    if wrong.any():
        at = np.unravel_index(np.argmax(wrong), wrong.shape)
        what = f"block {blocks[at[0]]} touches element {offsets[at]} of '{t.of or t.name}', which has {size}."
        raise GpusimError(what, where=where, hint="Mask the access, or give a grid and strides that fit the array.")
    return offsets


def gather(flat: np.ndarray, offsets: np.ndarray, mask: np.ndarray | None, other: float) -> np.ndarray:
    found: np.ndarray = flat[offsets]
    return found if mask is None else np.where(mask, found, np.asarray(other).astype(flat.dtype))


def scatter(flat: np.ndarray, offsets: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
    if mask is None:
        flat[offsets] = values
    else:
        flat[offsets[mask]] = np.broadcast_to(values, offsets.shape)[mask]


#: atomic -> what the old and the new value make
COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "xchg": lambda old, new: new,
}


def atomic(
    flat: np.ndarray, fn: str, offsets: np.ndarray, values: np.ndarray, mask: np.ndarray | None, compare: np.ndarray | None, settle: Callable[[Any], Any]
) -> np.ndarray:
    """The old values, 0 where masked. Elements take effect one after the other, in the order of blocks and of elements in the tile.

    settle: rounds an array to the tensor's dtype.
    """
    on = np.ones(offsets.shape, bool) if mask is None else np.broadcast_to(mask, offsets.shape)
    places, new = offsets[on], np.broadcast_to(values, offsets.shape)[on]
    wanted = np.broadcast_to(compare, offsets.shape)[on] if compare is not None else None
    old = np.zeros(offsets.shape, flat.dtype)
    old[on] = _all_at_once(flat, fn, places, new, wanted, settle)
    return old


def _all_at_once(flat: np.ndarray, fn: str, places: np.ndarray, new: np.ndarray, wanted: np.ndarray | None, settle: Callable[[Any], Any]) -> np.ndarray:
    """Rounds in which every address comes up once: first the first element on each address, then the second, ..."""
    old = np.empty(places.shape, flat.dtype)
    for turn in _turns(places):
        at = places[turn]
        old[turn] = flat[at]
        made = COMBINED[fn](flat[at], new[turn]) if wanted is None else np.where(flat[at] == wanted[turn], new[turn], flat[at])
        flat[at] = settle(made.astype(flat.dtype, copy=False))
    return old


def _turns(places: np.ndarray) -> list[Any]:
    if len(places) == len(np.unique(places)):
        return [slice(None)]
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]]
    first = np.maximum.accumulate(np.where(starts, np.arange(len(places)), 0))
    rank = np.empty(len(places), np.int64)
    rank[order] = np.arange(len(places)) - first
    return [np.flatnonzero(rank == turn) for turn in range(int(rank.max()) + 1)]
