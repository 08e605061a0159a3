# mypy: allow-untyped-defs
"""Softmax of rows: in the registers of a warp, in three passes over global memory, in shared memory, and online."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.block import FULL, block_max, block_sum, fast_exp, warp_max, warp_sum
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv, uniform

LOWEST, ZERO, ONE = float32(-3.4028234663852886e38), float32(0.0), float32(1.0)


def softmax_warp(cols: int) -> Any:
    """A kernel with a warp a row and four rows a CTA: cols / 32 values a lane stay in registers, so each is read and written once."""
    values = cols // 32

    @cuda.jit
    def softmax_warp(x, y, rows):
        lane = cuda.threadIdx.x % 32
        row = cuda.blockIdx.x * 4 + cuda.threadIdx.x // 32
        if row >= rows:
            return
        at = row * cols + lane
        v = cuda.local.array(values, float32)
        for i in cuda.range(values, unroll=0):
            v[i] = x[at + i * 32]
        mx = v[0]
        for i in cuda.range(1, values, unroll=0):
            mx = max(mx, v[i])
        mx = warp_max(mx)
        total = ZERO
        for i in cuda.range(values, unroll=0):
            v[i] = fast_exp(v[i] - mx)
            total += v[i]
        r = cuda.libdevice.fast_fdividef(ONE, warp_sum(total))
        for i in cuda.range(values, unroll=0):
            y[at + i * 32] = v[i] * r

    return softmax_warp


@cuda.jit
def softmax_3pass(x, y, cols):
    """A CTA a row; maximum, sum and result each read the row again, from L1 or L2 if it fits."""
    red = cuda.shared.array(16, float32)
    at = cuda.blockIdx.x * cols
    mx = LOWEST
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        mx = max(mx, x[at + c])
    mx = block_max(mx, red, 0)
    total = ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        total += fast_exp(x[at + c] - mx)
    r = cuda.libdevice.fast_fdividef(ONE, block_sum(total, red, 8))
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = fast_exp(x[at + c] - mx) * r


@cuda.jit
def softmax_smem(x, y, cols):
    """A CTA a row, the row in shared memory: global memory is read once, but long rows leave room for few CTAs."""
    s = cuda.shared.array(0, float32)
    red = cuda.shared.array(16, float32)
    at = cuda.blockIdx.x * cols
    mx = LOWEST
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        v = x[at + c]
        s[c] = v
        mx = max(mx, v)
    mx = block_max(mx, red, 0)
    total = ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        e = fast_exp(s[c] - mx)
        s[c] = e
        total += e
    r = cuda.libdevice.fast_fdividef(ONE, block_sum(total, red, 8))
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = s[c] * r


@cuda.jit
def softmax_online(x, y, cols):
    """Maximum and sum in one pass: a sum is rescaled whenever a larger maximum turns up. Two passes, more arithmetic."""
    red_m = cuda.shared.array(8, float32)
    red_s = cuda.shared.array(8, float32)
    at = cuda.blockIdx.x * cols
    m, s = LOWEST, ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        v = x[at + c]
        nm = max(m, v)
        s = s * fast_exp(m - nm) + fast_exp(v - nm)
        m = nm
    for k in cuda.range(5, unroll=0):
        om = cuda.shfl_xor_sync(FULL, m, 16 >> k)
        os = cuda.shfl_xor_sync(FULL, s, 16 >> k)
        nm = max(m, om)
        s = s * fast_exp(m - nm) + os * fast_exp(om - nm)
        m = nm
    if cuda.threadIdx.x % 32 == 0:
        red_m[cuda.threadIdx.x // 32] = m
        red_s[cuda.threadIdx.x // 32] = s
    cuda.syncthreads()
    m, s = red_m[0], red_s[0]
    for w in cuda.range(1, 8, unroll=0):
        om, os = red_m[w], red_s[w]
        nm = max(m, om)
        s = s * fast_exp(m - nm) + os * fast_exp(om - nm)
        m = nm
    r = cuda.libdevice.fast_fdividef(ONE, s)
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = fast_exp(x[at + c] - m) * r


def _softmax(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    x = before["x"].astype(np.float64).reshape(p["rows"], p["cols"])
    e = np.exp(x - x.max(1, keepdims=True))
    return {"y": (e / e.sum(1, keepdims=True)).ravel()}


def _args(last: str) -> Any:
    def args(p: Params) -> Args:
        size = p["rows"] * p["cols"]
        return {"x": Array((size,), fill=uniform(-4.0, 4.0)), "y": Array((size,)), last: p[last]}

    return args


def _rows(p: Params) -> Launch:
    return Launch((p["rows"], 1), (256, 1))


def _four_rows(p: Params) -> Launch:
    return Launch((cdiv(p["rows"], 4), 1), (128, 1))


def _kept_rows(p: Params) -> Launch:
    return Launch((p["rows"], 1), (256, 1), 4 * p["cols"])


EXAMPLE = {"rows": 3, "cols": 700}
ENTRIES = {
    "softmax_warp": Entry(softmax_warp, _four_rows, _args("rows"), _softmax, {"rows": 7, "cols": 128}, template=("cols",), rtol=1e-4, atol=1e-7),
    "softmax_3pass": Entry(softmax_3pass, _rows, _args("cols"), _softmax, EXAMPLE, rtol=1e-4, atol=1e-7),
    "softmax_smem": Entry(softmax_smem, _kept_rows, _args("cols"), _softmax, EXAMPLE, rtol=1e-4, atol=1e-7),
    "softmax_online": Entry(softmax_online, _rows, _args("cols"), _softmax, EXAMPLE, rtol=1e-4, atol=1e-7),
}
