# mypy: allow-untyped-defs
"""A five-point stencil over an n x n grid, a thread a point: neighbours from the caches, or from a tile with a halo in shared memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, uniform

HALF, EIGHTH = float32(0.5), float32(0.125)


@cuda.jit
def stencil_naive(x, y, n):
    """Five loads a point. Four of them were or will be loaded by a neighbour, so L1 serves most."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 8 + cuda.threadIdx.y
    i = row * n + col
    c = x[i]
    v = c
    if col > 0 and col < n - 1 and row > 0 and row < n - 1:
        v = cuda.fma(HALF, c, EIGHTH * ((x[i - 1] + x[i + 1]) + (x[i - n] + x[i + n])))
    y[i] = v


@cuda.jit
def stencil_smem(x, y, n):
    """One load a point into a tile; the threads along its edges load the halo too. Edges diverge, the barrier waits for them."""
    s = cuda.shared.array((10, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col = cuda.blockIdx.x * 32 + tx
    row = cuda.blockIdx.y * 8 + ty
    i = row * n + col
    c = x[i]
    s[ty + 1, tx + 1] = c
    if tx == 0 and col > 0:
        s[ty + 1, 0] = x[i - 1]
    if tx == 31 and col < n - 1:
        s[ty + 1, 33] = x[i + 1]
    if ty == 0 and row > 0:
        s[0, tx + 1] = x[i - n]
    if ty == 7 and row < n - 1:
        s[9, tx + 1] = x[i + n]
    cuda.syncthreads()
    v = c
    if col > 0 and col < n - 1 and row > 0 and row < n - 1:
        v = cuda.fma(HALF, c, EIGHTH * ((s[ty + 1, tx] + s[ty + 1, tx + 2]) + (s[ty, tx + 1] + s[ty + 2, tx + 1])))
    y[i] = v


def _args(p: Params) -> Args:
    size = p["n"] ** 2
    return {"x": Array((size,), fill=uniform()), "y": Array((size,)), "n": p["n"]}


def _tiles(p: Params) -> Launch:
    return Launch((p["n"] // 32, p["n"] // 8), (32, 8))


def _stencil(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    x = before["x"].astype(np.float64).reshape(p["n"], p["n"])
    y = x.copy()
    y[1:-1, 1:-1] = 0.5 * x[1:-1, 1:-1] + 0.125 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1])
    return {"y": y.ravel()}


ENTRIES = {
    "stencil_naive": Entry(stencil_naive, _tiles, _args, _stencil, {"n": 64}),
    "stencil_smem": Entry(stencil_smem, _tiles, _args, _stencil, {"n": 64}),
}
