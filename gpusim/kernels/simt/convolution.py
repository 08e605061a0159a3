# mypy: allow-untyped-defs
"""A convolution with 33 taps in constant memory: one address a warp is free, one address a lane is served lane by lane.

The taps are a compile-time constant here, as constant memory is in Numba.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, line, uniform

ZERO = float32(0.0)
RADIUS = 16
TAPS = np.cos(np.arange(2 * RADIUS + 1, dtype=np.float32))


@cuda.jit
def conv1d_const(x, y, n):
    """The tap is an operand of the multiply-add, read from the constant bank; 33 coalesced loads a thread. x holds n + 32 elements."""
    taps = cuda.const.array_like(TAPS)
    i = cuda.grid(1)
    if i >= n:
        return
    acc = ZERO
    for j in cuda.range(2 * RADIUS + 1, unroll=0):
        acc = cuda.fma(taps[j], x[i + j], acc)
    y[i] = acc


@cuda.jit(launch_bounds=256)
def conv1d_smem(x, y, n):
    """Each element is loaded once a CTA; the 33 reads go to shared memory."""
    taps = cuda.const.array_like(TAPS)
    s = cuda.shared.array(256 + 2 * RADIUS, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + tid
    s[tid] = x[i]
    if tid < 2 * RADIUS:
        s[256 + tid] = x[i + 256]
    cuda.syncthreads()
    acc = ZERO
    for j in cuda.range(2 * RADIUS + 1, unroll=0):
        acc = cuda.fma(taps[j], s[tid + j], acc)
    y[i] = acc


@cuda.jit
def conv1d_const_idx(x, y, n):
    """Each lane begins at another tap, so a read of the constant bank has up to 32 addresses."""
    taps = cuda.const.array_like(TAPS)
    i = cuda.grid(1)
    if i >= n:
        return
    acc = ZERO
    t = cuda.threadIdx.x % 32
    for j in cuda.range(2 * RADIUS + 1, unroll=1):
        acc = cuda.fma(taps[t], x[i + j], acc)
        t = 0 if t == 2 * RADIUS else t + 1
    y[i] = acc


def _args(p: Params) -> Args:
    return {"x": Array((p["n"] + 512,), fill=uniform()), "y": Array((p["n"],)), "n": p["n"]}


def _convolved(shift: int) -> Any:
    def expected(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
        i = np.arange(p["n"])
        x, taps = before["x"].astype(np.float64), TAPS.astype(np.float64)
        return {"y": sum(taps[(j + shift * (i % 32)) % len(taps)] * x[i + j] for j in range(len(taps)))}

    return expected


def _line(p: Params) -> Launch:
    return line(p["n"])


ENTRIES = {
    "conv1d_const": Entry(conv1d_const, _line, _args, _convolved(0), {"n": 300}, rtol=3e-5, atol=1e-5),
    "conv1d_smem": Entry(conv1d_smem, _line, _args, _convolved(0), {"n": 512}, rtol=3e-5, atol=1e-5),
    "conv1d_const_idx": Entry(conv1d_const_idx, _line, _args, _convolved(1), {"n": 300}, rtol=3e-5, atol=1e-5),
}
