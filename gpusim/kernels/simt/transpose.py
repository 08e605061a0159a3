# mypy: allow-untyped-defs
"""Transposes of an n x n matrix in tiles of 32 x 32, a CTA of 32 x 8 threads each: coalescing, bank conflicts, and padding against them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, uniform


@cuda.jit
def transpose_naive_read(x, y, n):
    """Lanes read neighbours and write n apart: each store of a warp touches 32 sectors."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in cuda.range(0, 32, 8, unroll=0):
        y[col * n + row + j] = x[(row + j) * n + col]


@cuda.jit
def transpose_naive_write(x, y, n):
    """Lanes read n apart and write neighbours."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in cuda.range(0, 32, 8, unroll=0):
        y[(row + j) * n + col] = x[col * n + row + j]


def transpose_tiled(pad: int) -> Any:
    """A kernel that turns the tile in shared memory. With pad = 0 a column of the tile lies in one bank (32-way conflict), with 1 in all."""

    @cuda.jit
    def transpose_tiled(x, y, n):
        tile = cuda.shared.array((32, 32 + pad), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        col = cuda.blockIdx.x * 32 + tx
        row = cuda.blockIdx.y * 32 + ty
        for j in cuda.range(0, 32, 8, unroll=0):
            tile[ty + j, tx] = x[(row + j) * n + col]
        cuda.syncthreads()
        col = cuda.blockIdx.y * 32 + tx
        row = cuda.blockIdx.x * 32 + ty
        for j in cuda.range(0, 32, 8, unroll=0):
            y[(row + j) * n + col] = tile[tx, ty + j]

    return transpose_tiled


@cuda.jit
def transpose_copy(x, y, n):
    """The same walk without turning anything: what the launch shape allows at best."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in cuda.range(0, 32, 8, unroll=0):
        y[(row + j) * n + col] = x[(row + j) * n + col]


def _tiles(p: Params) -> Launch:
    return Launch((p["n"] // 32, p["n"] // 32), (32, 8))


def _args(p: Params) -> Args:
    size = p["n"] ** 2
    return {"x": Array((size,), fill=uniform()), "y": Array((size,)), "n": p["n"]}


def _turned(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"y": before["x"].reshape(p["n"], p["n"]).T.ravel()}


def _same(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"y": before["x"]}


ENTRIES = {
    "transpose_naive_read": Entry(transpose_naive_read, _tiles, _args, _turned, {"n": 96}, rtol=0, atol=0),
    "transpose_naive_write": Entry(transpose_naive_write, _tiles, _args, _turned, {"n": 96}, rtol=0, atol=0),
    "transpose_tiled": Entry(transpose_tiled, _tiles, _args, _turned, {"n": 96, "pad": 1}, template=("pad",), rtol=0, atol=0),
    "transpose_copy": Entry(transpose_copy, _tiles, _args, _same, {"n": 96}, rtol=0, atol=0),
}
