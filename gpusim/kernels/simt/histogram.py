# mypy: allow-untyped-defs
"""Counting items with values 0 to 255: atomics in global memory, or in a histogram of the CTA that is added at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import uint32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, integers

ONE = uint32(1)
BINS = 256


@cuda.jit
def hist_global(items, bins, n):
    """One reduction in global memory an item: lanes that hit one bin, and CTAs that do, wait for each other at L2."""
    for i in cuda.range(cuda.grid(1), n, cuda.gridsize(1), unroll=1):
        cuda.atomic.add(bins, items[i], ONE)


@cuda.jit(launch_bounds=256)
def hist_shared(items, bins, n):
    """Atomics in shared memory: only lanes of a CTA collide, and global memory sees 256 additions a CTA."""
    h = cuda.shared.array(256, uint32)
    tid = cuda.threadIdx.x
    h[tid] = 0
    cuda.syncthreads()
    for i in cuda.range(cuda.grid(1), n, cuda.gridsize(1), unroll=1):
        cuda.atomic.add(h, items[i], ONE)
    cuda.syncthreads()
    cuda.atomic.add(bins, tid, h[tid])


#: eight CTAs for each SM of a machine with 132 of them
GRID_STRIDE_CTAS = 1056


def _args(p: Params) -> Args:
    zeros = Array((BINS,), "uint32", lambda rng, shape: np.zeros(shape))
    return {"items": Array((p["n"],), "uint32", integers(0, BINS)), "bins": zeros, "n": p["n"]}


def _counts(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"bins": before["bins"] + np.bincount(before["items"], minlength=BINS)}


def _launch(p: Params) -> Launch:
    return Launch((p.get("ctas", GRID_STRIDE_CTAS), 1), (256, 1))


EXAMPLE = {"n": 1500, "ctas": 2}
ENTRIES = {
    "hist_global": Entry(hist_global, _launch, _args, _counts, EXAMPLE, rtol=0, atol=0, data=("items",)),
    "hist_shared": Entry(hist_shared, _launch, _args, _counts, EXAMPLE, rtol=0, atol=0, data=("items",)),
}
