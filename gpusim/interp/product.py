"""Many small matrix products at once, in pieces that a BLAS library computes on the calling thread."""

from __future__ import annotations

import numpy as np

#: m * n * k of one call up to which OpenBLAS starts no threads. Tiles are so small that threads cost more than they give: on a
#: busy machine they wait for each other in every call, and a product of a second takes a minute.
SERIAL = 1 << 18


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """[blocks, m, k] x [blocks, k, n] -> [blocks, m, n] in the dtype of both."""
    blocks, m, k = a.shape
    rows = _rows(m, b.shape[2] * k)
    pieces = a.reshape(blocks, m // rows, rows, k)
    return np.matmul(pieces, b[:, np.newaxis]).reshape(blocks, m, b.shape[2])


def _rows(m: int, row_work: int) -> int:
    """The most rows that divide m and keep one call serial; 1 if even that is too much."""
    return max(r for r in range(1, m + 1) if m % r == 0 and (r == 1 or r * row_work <= SERIAL))
