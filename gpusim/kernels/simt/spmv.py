# mypy: allow-untyped-defs
"""A sparse matrix (CSR) times a vector: a thread a row diverges and scatters its loads; a warp a row reads in runs but leaves lanes idle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.block import warp_sum
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, line, uniform

ZERO = float32(0.0)


@cuda.jit
def spmv_scalar(ptr, col, val, x, y, rows):
    """A thread a row: neighbouring lanes read a row's length apart, and the longest row of 32 decides."""
    row = cuda.grid(1)
    if row >= rows:
        return
    end = ptr[row + 1]
    acc = ZERO
    for j in cuda.range(ptr[row], end, unroll=1):
        acc = cuda.fma(val[j], x[col[j]], acc)
    y[row] = acc


@cuda.jit
def spmv_vector(ptr, col, val, x, y, rows):
    """A warp a row: values and columns are coalesced, x is still a gather; short rows leave most lanes without work."""
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row >= rows:
        return
    end = ptr[row + 1]
    acc = ZERO
    for j in cuda.range(ptr[row] + lane, end, 32, unroll=1):
        acc = cuda.fma(val[j], x[col[j]], acc)
    acc = warp_sum(acc)
    if lane == 0:
        y[row] = acc


def _offsets(nnz: int) -> Any:
    def fill(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Rows of random lengths, some empty, with `nnz` elements in all."""
        inner = np.sort(rng.integers(0, nnz + 1, shape[0] - 2))
        return np.concatenate([[0], inner, [nnz]])

    return fill


def _args(p: Params) -> Args:
    rows, nnz = p["rows"], p["nnz"]
    matrix = {
        "ptr": Array((rows + 1,), "int32", _offsets(nnz)),
        "col": Array((nnz,), "int32", lambda rng, shape: rng.integers(0, rows, shape)),
        "val": Array((nnz,), fill=uniform()),
    }
    return {**matrix, "x": Array((rows,), fill=uniform()), "y": Array((rows,)), "rows": rows}


def _product(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    terms = before["val"].astype(np.float64) * before["x"][before["col"]]
    row = np.repeat(np.arange(p["rows"]), np.diff(before["ptr"]))
    return {"y": np.bincount(row, terms, p["rows"])}


def _warp_a_row(p: Params) -> Launch:
    return line(32 * p["rows"])


EXAMPLE = {"rows": 75, "nnz": 1000}
DATA = ("ptr", "col")
ENTRIES = {
    "spmv_scalar": Entry(spmv_scalar, lambda p: line(p["rows"]), _args, _product, EXAMPLE, rtol=1e-4, atol=1e-5, data=DATA),
    "spmv_vector": Entry(spmv_vector, _warp_a_row, _args, _product, EXAMPLE, rtol=1e-4, atol=1e-5, data=DATA),
}
