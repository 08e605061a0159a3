# mypy: allow-untyped-defs
"""Normalisation of rows, a CTA of 256 threads a row: in two passes for mean and variance, in one (Welford), or without a mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.block import FULL, block_sum
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, uniform

ZERO, HALF, ONE, TWO, EPS = float32(0.0), float32(0.5), float32(1.0), float32(2.0), float32(1e-5)


@cuda.jit(launch_bounds=256)
def layernorm_2pass(x, gamma, beta, y, cols):
    """Mean, then variance, then result: three readings of the row."""
    red = cuda.shared.array(16, float32)
    at = cuda.blockIdx.x * cols
    s = ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        s += x[at + c]
    mean = cuda.libdevice.fast_fdividef(block_sum(s, red, 0), float32(cols))
    v = ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        d = x[at + c] - mean
        v = cuda.fma(d, d, v)
    rstd = cuda.rsqrt(cuda.libdevice.fast_fdividef(block_sum(v, red, 8), float32(cols)) + EPS)
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = cuda.fma((x[at + c] - mean) * rstd, gamma[c], beta[c])


@cuda.jit(launch_bounds=256)
def layernorm_welford(x, gamma, beta, y, cols):
    """Mean and variance in one pass, at the price of a division an element. cols is a multiple of 256."""
    red_mean = cuda.shared.array(8, float32)
    red_m2 = cuda.shared.array(8, float32)
    at = cuda.blockIdx.x * cols
    count, mean, m2 = ZERO, ZERO, ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        v = x[at + c]
        count += ONE
        d = v - mean
        mean += cuda.libdevice.fast_fdividef(d, count)
        m2 = cuda.fma(d, v - mean, m2)
    for k in cuda.range(5, unroll=0):
        other = cuda.shfl_xor_sync(FULL, mean, 16 >> k)
        other2 = cuda.shfl_xor_sync(FULL, m2, 16 >> k)
        d = other - mean
        mean = HALF * (mean + other)
        m2 = m2 + other2 + d * d * (HALF * count)
        count = TWO * count
    if cuda.threadIdx.x % 32 == 0:
        red_mean[cuda.threadIdx.x // 32] = mean
        red_m2[cuda.threadIdx.x // 32] = m2
    cuda.syncthreads()
    a = cuda.local.array(8, float32)
    b = cuda.local.array(8, float32)
    for w in cuda.range(8, unroll=0):
        a[w] = red_mean[w]
        b[w] = red_m2[w]
    for k in cuda.range(3, unroll=0):
        for w in cuda.range(4 >> k, unroll=0):
            o = w + (4 >> k)
            d = a[o] - a[w]
            a[w] = HALF * (a[w] + a[o])
            b[w] = b[w] + b[o] + d * d * (HALF * count)
        count = TWO * count
    mean = a[0]
    rstd = cuda.rsqrt(cuda.libdevice.fast_fdividef(b[0], float32(cols)) + EPS)
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = cuda.fma((x[at + c] - mean) * rstd, gamma[c], beta[c])


@cuda.jit(launch_bounds=256)
def rmsnorm(x, gamma, beta, y, cols):
    """No mean: one pass for the sum of squares, one for the result. (beta is not used.)"""
    red = cuda.shared.array(8, float32)
    at = cuda.blockIdx.x * cols
    s = ZERO
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        v = x[at + c]
        s = cuda.fma(v, v, s)
    r = cuda.rsqrt(cuda.libdevice.fast_fdividef(block_sum(s, red, 0), float32(cols)) + EPS)
    for c in cuda.range(cuda.threadIdx.x, cols, 256, unroll=1):
        y[at + c] = x[at + c] * r * gamma[c]


def _args(p: Params) -> Args:
    rows, cols = p["rows"], p["cols"]
    scales = {"gamma": Array((cols,), fill=uniform(0.5, 1.5)), "beta": Array((cols,), fill=uniform())}
    return {"x": Array((rows * cols,), fill=uniform(-1.0, 3.0)), **scales, "y": Array((rows * cols,)), "cols": cols}


def _norm(mean_out: bool) -> Any:
    def expected(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
        x = before["x"].astype(np.float64).reshape(p["rows"], p["cols"])
        x = x - x.mean(1, keepdims=True) * mean_out
        y = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * before["gamma"] + before["beta"].astype(np.float64) * mean_out
        return {"y": y.ravel()}

    return expected


def _rows(p: Params) -> Launch:
    return Launch((p["rows"], 1), (256, 1))


def _entry(kernel: Any, mean_out: bool, cols: int = 700) -> Entry:
    return Entry(kernel, _rows, _args, _norm(mean_out), {"rows": 3, "cols": cols}, rtol=1e-4, atol=1e-4)


ENTRIES = {
    "layernorm_2pass": _entry(layernorm_2pass, True),
    "layernorm_welford": _entry(layernorm_welford, True, 768),
    "rmsnorm": _entry(rmsnorm, False),
}
