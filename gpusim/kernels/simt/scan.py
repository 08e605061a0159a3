# mypy: allow-untyped-defs
"""Inclusive prefix sums, each CTA its own 256 elements: many additions in few steps, few additions in more steps, or shuffles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.block import FULL
from gpusim.kernels.simt.entry import Args, Array, Entry, Params, line, uniform

ZERO = float32(0.0)


@cuda.jit
def scan_hillis_steele(x, y, n):
    """Eight steps in which everybody adds: n log n additions, two buffers so that one barrier a step is enough."""
    s = cuda.shared.array((2, 256), float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    s[0, tid] = x[i] if i < n else ZERO
    cuda.syncthreads()
    for k in cuda.range(8, unroll=0):
        d = 1 << k
        v = s[k % 2, tid]
        if tid >= d:
            v += s[k % 2, tid - d]
        s[1 - k % 2, tid] = v
        cuda.syncthreads()
    if i < n:
        y[i] = s[0, tid]


@cuda.jit
def scan_work_efficient(x, y, n):
    """A tree up and down again: 2 n additions, but twice as many steps, strides that meet in banks, and few lanes in most steps."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    s[tid] = x[i] if i < n else ZERO
    cuda.syncthreads()
    for k in cuda.range(8, unroll=0):
        d = 1 << k
        j = (tid + 1) * 2 * d - 1
        if j < 256:
            s[j] += s[j - d]
        cuda.syncthreads()
    for k in cuda.range(7, unroll=0):
        d = 64 >> k
        j = (tid + 1) * 2 * d - 1
        if j + d < 256:
            s[j + d] += s[j]
        cuda.syncthreads()
    if i < n:
        y[i] = s[tid]


@cuda.jit
def scan_warp_shuffle(x, y, n):
    """A scan in the registers of each warp, one of the eight warp totals, one addition: two barriers."""
    totals = cuda.shared.array(8, float32)
    tid = cuda.threadIdx.x
    lane, warp = tid % 32, tid // 32
    i = cuda.grid(1)
    v = x[i] if i < n else ZERO
    for k in cuda.range(5, unroll=0):
        other = cuda.shfl_up_sync(FULL, v, 1 << k)
        if lane >= 1 << k:
            v += other
    if lane == 31:
        totals[warp] = v
    cuda.syncthreads()
    if warp == 0:
        t = ZERO
        if lane < 8:
            t = totals[lane]
        for k in cuda.range(3, unroll=0):
            other = cuda.shfl_up_sync(FULL, t, 1 << k)
            if lane >= 1 << k:
                t += other
        if lane < 8:
            totals[lane] = t
    cuda.syncthreads()
    if warp > 0:
        v += totals[warp - 1]
    if i < n:
        y[i] = v


def _args(p: Params) -> Args:
    return {"x": Array((p["n"],), fill=uniform()), "y": Array((p["n"],)), "n": p["n"]}


def _scan(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    x = before["x"].astype(np.float64)
    return {"y": np.cumsum(np.concatenate([x, np.zeros(-len(x) % 256)]).reshape(-1, 256), 1).ravel()[: len(x)]}


def _entry(kernel: Any) -> Entry:
    return Entry(kernel, lambda p: line(p["n"]), _args, _scan, {"n": 700}, rtol=1e-4, atol=1e-4)


ENTRIES = {
    "scan_hillis_steele": _entry(scan_hillis_steele),
    "scan_work_efficient": _entry(scan_work_efficient),
    "scan_warp_shuffle": _entry(scan_warp_shuffle),
}
