"""Atomics in the order of lanes: what stands in memory afterwards, and what every lane saw before its own turn."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any

_REDUCE: dict[str, Any] = {"add": np.add, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
# Numba: with a NaN on either side, atomic.min and max leave memory as it is; nanmin and nanmax take the number
_ALIAS = {"nanmin": "min", "nanmax": "max"}


def apply(op: str, data: Array, index: Array, args: list[Array], wanted: bool) -> tuple[Array | None, int]:
    """Change `data` at `index` (1-D, in lane order; args alike). Returns (old values or None, 1 if memory changed)."""
    args = [a.astype(data.dtype) if a.dtype != data.dtype else a for a in args]
    if op in ("min", "max") and data.dtype.kind not in "iub":
        before = data[index]
        args = [np.where(before != before, before, args[0])]
    op = _ALIAS.get(op, op)
    if op == "sub":
        op, args = "add", [-args[0]]
    if not wanted and op in _REDUCE and data.dtype.kind in "iufb":
        before = data[index]
        _REDUCE[op].at(data, index, args[0])
        return None, int(not np.array_equal(before, data[index]))
    if not wanted and op == "exch":
        before = data[index]
        data[index] = args[0]
        return None, int(not np.array_equal(before, data[index]))
    return _in_order(op, data, index, args, wanted)


def _in_order(op: str, data: Array, index: Array, args: list[Array], wanted: bool) -> tuple[Array | None, int]:
    n = len(index)
    order = np.argsort(index, kind="stable")
    place = index[order]
    first = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1])))
    length = np.diff(np.concatenate((first, [n])))
    sorted_args = [a[order] for a in args]
    old = np.empty(n, data.dtype)
    before = data[place[first]]
    if len(first) < int(length.max()) and (op in _REDUCE or op in ("cas", "inc", "exch")):
        for start, count in zip(first.tolist(), length.tolist(), strict=True):
            _segment(op, data, int(place[start]), [a[start : start + count] for a in sorted_args], old[start : start + count])
    else:
        _rounds(op, data, place, first, length, sorted_args, old)
    changed = int(not np.array_equal(before, data[place[first]]))
    if not wanted:
        return None, changed
    out = np.empty(n, data.dtype)
    out[order] = old
    return out, changed


def _rounds(op: str, data: Array, place: Array, first: Array, length: Array, args: list[Array], old: Array) -> None:
    """The k-th lane of every address together, for k = 0, 1, ..."""
    for k in range(int(length.max())):
        at = first[length > k] + k
        now = data[place[at]]
        old[at] = now
        data[place[at]] = step(op, now, *(a[at] for a in args))


def step(op: str, now: Array, *args: Array) -> Array:
    """What stands in memory after one lane's turn."""
    if op in _REDUCE:
        return _REDUCE[op](now, args[0])
    if op == "exch":
        return args[0]
    if op == "cas":
        return np.where(now == args[0], args[1], now)
    if op == "inc":
        return np.where(now >= args[0], now.dtype.type(0), now + now.dtype.type(1))
    return np.where((now == 0) | (now > args[0]), args[0], now - now.dtype.type(1))


def _segment(op: str, data: Array, place: int, args: list[Array], old: Array) -> None:
    """All lanes of one address, one after the other."""
    old[0] = data[place]
    if op == "exch":
        old[1:] = args[0][:-1]
        data[place] = args[0][-1]
    elif op in _REDUCE:
        chain = _REDUCE[op].accumulate(np.concatenate((old[:1], args[0])))
        old[1:] = chain[1:-1]
        data[place] = chain[-1]
    elif op == "cas":
        data[place] = _swaps(old, data[place], *args)
    else:
        for i in range(len(old)):
            old[i] = data[place]
            data[place] = step(op, old[i : i + 1], *(a[i : i + 1] for a in args))[0]


def _swaps(old: Array, now: Any, expected: Array, new: Array) -> Any:
    """Compare-and-swap on one word: from one lane that finds what it expects to the next."""
    at, n, window = 0, len(old), 16
    while at < n:
        hit = np.flatnonzero(expected[at : at + window] == now)
        end = at + int(hit[0]) + 1 if len(hit) else min(n, at + window)
        old[at:end] = now
        now, window = (new[end - 1], 16) if len(hit) else (now, window * 4)
        at = end
    return now
