"""The data of the measured launches, bit for bit, where branches or addresses depend on it: where a warp diverges, which sectors a gather
touches, which bins collide. They are hashes of the index, so that every machine makes the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpusim.kernels.simt.hashing import hash32

Params = Mapping[str, Any]
Arrays = dict[str, np.ndarray]


def hash2(index: np.ndarray, seed: int) -> np.ndarray:
    """32 random bits for each index."""
    offset = hash32(np.array([(seed * 0x9E3779B9 + 0x1234567) & 0xFFFFFFFF], np.uint32))
    return hash32(index.astype(np.uint32) + offset)


def hash_01(index: np.ndarray, seed: int) -> np.ndarray:
    """float32, uniform in [0, 1)."""
    return (hash2(index, seed) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def hash_pm1(index: np.ndarray, seed: int) -> np.ndarray:
    """float32, uniform in [-1, 1)."""
    return (hash2(index, seed) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)


def relu(p: Params) -> Arrays:
    """pattern 0: all positive; 1: odd lanes negative; 2: random signs; 3: odd warps negative; 4: one negative lane a warp."""
    i = np.arange(p["n"], dtype=np.uint32)
    value = np.float32(0.01) + hash_01(i, 10)
    negative = _pick(p, "pattern", (lambda: np.zeros(len(i), bool), lambda: i & 1, lambda: hash2(i, 11) & 1, lambda: (i >> 5) & 1, lambda: (i & 31) == 5))
    return {"x": np.where(negative.astype(bool), -value, value)}


def histogram(p: Params) -> Arrays:
    """data 0: uniform; 1: bin b with probability 2^-(b+1), at most 31; 2: one bin; 3: a bin of its own for each lane."""
    i = np.arange(p["n"], dtype=np.uint32)
    h = hash2(i, 18)
    lowest_zero = (~h & (h + np.uint32(1))).astype(np.float64)
    skewed = np.where(~h & np.uint32(0x7FFFFFFF), np.log2(np.maximum(lowest_zero, 1)), 31)
    found = _pick(p, "data", (lambda: h & 255, lambda: skewed, lambda: np.full(len(i), 77), lambda: (i & 31) * 8 + ((i >> 5) & 7)))
    return {"items": found.astype(np.uint32)}


def collatz(p: Params) -> Arrays:
    """Starts 1, 2, 3, ... up to 2^17 and again, or a permutation of these."""
    i = np.arange(p["n"], dtype=np.uint32)
    order = i * np.uint32(40503) + np.uint32(12345) if p["perm"] else i
    return {"start": np.uint32(1) + (order & np.uint32(131071))}


def trips(p: Params) -> Arrays:
    """pattern 0: all T; 1: lane 0 T, others T/16; 2: (lane + 1) T/32; 3: random in 1..T; 4: by warp, T (1 + w % 8)/8."""
    i, most = np.arange(p["n"], dtype=np.int64), p["T"]
    lane = i & 31
    patterns = (
        lambda: np.full(len(i), most),
        lambda: np.where(lane == 0, most, most // 16),
        lambda: (lane + 1) * most // 32,
        lambda: 1 + hash2(i, 13).astype(np.int64) % most,
        lambda: most * (1 + ((i >> 5) & 7)) // 8,
    )
    return {"trip": _pick(p, "pattern", patterns).astype(np.int32)}


def spmv(p: Params) -> Arrays:
    """pattern 0: 8 to 24 elements a row anywhere; 1: lengths by a power law, at most 4096; 2: as 0, near the diagonal."""
    rows = p["rows"]
    ptr = spmv_ptr(rows, p["pattern"])
    j = np.arange(ptr[-1], dtype=np.uint32)
    h = hash2(j, 22)
    if p["pattern"] == 2:
        row = np.repeat(np.arange(rows, dtype=np.int64), np.diff(ptr))
        col = (row + rows + (h & np.uint32(1023)).astype(np.int64) - 512) % rows
    else:
        col = h % np.uint32(rows)
    return {"ptr": ptr, "col": col.astype(np.int32), "val": hash_pm1(j, 23)}


def spmv_ptr(rows: int, pattern: int) -> np.ndarray:
    """Where each row begins, int32 [rows + 1]."""
    r = np.arange(rows, dtype=np.uint32)
    if pattern == 1:
        u = (hash2(r, 24).astype(np.float64) + 1.0) / 4294967297.0
        lengths = np.minimum(4096.0, 6.0 * np.power(u, -1.0 / 1.6)).astype(np.int64)
    else:
        lengths = 8 + (hash2(r, 25) % np.uint32(17)).astype(np.int64)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def _pick(p: Params, key: str, patterns: tuple[Callable[[], np.ndarray], ...]) -> np.ndarray:
    if not 0 <= p[key] < len(patterns):
        raise KeyError(f"no data of {key} {p[key]} are known")
    return patterns[p[key]]()


#: kernel -> what makes the arrays its branches and addresses depend on
MEASURED: dict[str, Callable[[Params], Arrays]] = {
    "relu_costly": relu,
    "relu_branch": relu,
    "relu_mask": relu,
    "hist_global": histogram,
    "hist_shared": histogram,
    "collatz": collatz,
    "lane_trip": trips,
    "spmv_scalar": spmv,
    "spmv_vector": spmv,
}
