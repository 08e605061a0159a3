# mypy: allow-untyped-defs
"""The classic steps of a sum: each removes one cost of the one before. Every CTA of 256 threads leaves one partial sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.block import FULL, warp_sum
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv, uniform

ZERO = float32(0.0)


@cuda.jit(device=True)
def halves(s, tid, last):
    """Threads below d add what lies d behind, for d = 128, 64, ... while d > last."""
    d = 128
    while d > last:
        if tid < d:
            s[tid] += s[tid + d]
        cuda.syncthreads()
        d >>= 1


@cuda.jit(device=True)
def two(x, n, i):
    """x[i] + x[i + 256], without what lies behind the end."""
    v = ZERO
    if i < n:
        v = x[i]
    if i + 256 < n:
        v += x[i + 256]
    return v


@cuda.jit(device=True)
def shuffled(v, s, tid, out):
    """Sum over the warp by shuffles, then one warp sums the eight warps."""
    v = warp_sum(v)
    if tid % 32 == 0:
        s[tid // 32] = v
    cuda.syncthreads()
    if tid < 32:
        v = ZERO
        if tid < 8:
            v = s[tid]
        for k in cuda.range(3, unroll=0):
            v += cuda.shfl_xor_sync(FULL, v, 4 >> k)
        if tid == 0:
            out[cuda.blockIdx.x] = v


@cuda.jit
def reduce0_interleaved_div(x, out, n):
    """Every second thread adds, then every fourth: all warps stay busy with ever fewer lanes."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + tid
    s[tid] = x[i] if i < n else ZERO
    cuda.syncthreads()
    d = 1
    while d < 256:
        if (tid & (2 * d - 1)) == 0:
            s[tid] += s[tid + d]
        cuda.syncthreads()
        d *= 2
    if tid == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def reduce1_interleaved_bank(x, out, n):
    """The first threads add instead: whole warps fall idle, but their strides meet in the same banks."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + tid
    s[tid] = x[i] if i < n else ZERO
    cuda.syncthreads()
    d = 1
    while d < 256:
        j = 2 * d * tid
        if j < 256:
            s[j] += s[j + d]
        cuda.syncthreads()
        d *= 2
    if tid == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def reduce2_sequential(x, out, n):
    """Neighbouring threads read neighbouring elements: no bank conflicts."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    i = cuda.blockIdx.x * 256 + tid
    s[tid] = x[i] if i < n else ZERO
    cuda.syncthreads()
    halves(s, tid, 0)
    if tid == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def reduce3_first_add(x, out, n):
    """Each thread adds two elements on loading: half the CTAs, and no thread that only loads."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    s[tid] = two(x, n, cuda.blockIdx.x * 512 + tid)
    cuda.syncthreads()
    halves(s, tid, 0)
    if tid == 0:
        out[cuda.blockIdx.x] = s[0]


@cuda.jit
def reduce4_unroll_warp(x, out, n):
    """The last warp needs no block barrier, and its six steps are unrolled."""
    s = cuda.shared.array(256, float32)
    tid = cuda.threadIdx.x
    s[tid] = two(x, n, cuda.blockIdx.x * 512 + tid)
    cuda.syncthreads()
    halves(s, tid, 32)
    if tid < 32:
        v = s[tid]
        for k in cuda.range(6, unroll=0):
            v += s[tid + (32 >> k)]
            cuda.syncwarp()
            s[tid] = v
            cuda.syncwarp()
        if tid == 0:
            out[cuda.blockIdx.x] = v


@cuda.jit
def reduce5_shuffle(x, out, n):
    """Lanes hand their values over in registers: one barrier, almost no shared memory."""
    s = cuda.shared.array(8, float32)
    tid = cuda.threadIdx.x
    shuffled(two(x, n, cuda.blockIdx.x * 512 + tid), s, tid, out)


@cuda.jit
def reduce6_grid_stride(x, out, n):
    """Few CTAs, each sums many elements before it talks to anybody."""
    s = cuda.shared.array(8, float32)
    tid = cuda.threadIdx.x
    v = ZERO
    for i in cuda.range(cuda.blockIdx.x * 256 + tid, n, cuda.gridDim.x * 256, unroll=1):
        v += x[i]
    shuffled(v, s, tid, out)


@cuda.jit
def reduce7_grid_stride_f4(x, out, n):
    """The same with 16-byte loads. n is a multiple of 4."""
    s = cuda.shared.array(8, float32)
    tid = cuda.threadIdx.x
    v = ZERO
    for i in cuda.range(cuda.blockIdx.x * 256 + tid, n // 4, cuda.gridDim.x * 256, unroll=1):
        a, b, c, d = cuda.load4(x, 4 * i)
        v += (a + b) + (c + d)
    shuffled(v, s, tid, out)


#: eight CTAs for each SM of a machine with 132 of them
GRID_STRIDE_CTAS = 1056


def _launch(per_cta: int) -> Any:
    return lambda p: Launch((cdiv(p["n"], per_cta) if per_cta else p.get("ctas", GRID_STRIDE_CTAS), 1), (256, 1))


def _entry(kernel: Any, per_cta: int, vector: int = 1) -> Entry:
    launch = _launch(per_cta)

    def args(p: Params) -> Args:
        return {"x": Array((p["n"],), fill=uniform(0.0, 1.0)), "out": Array((launch(p).grid[0],)), "n": p["n"]}

    def expected(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Partial sums: CTA b owns a slice of `per_cta` elements, or every gridDim-th run of 256 threads."""
        ctas, chunk = launch(p).grid[0], per_cta or 256 * vector
        x = before["x"].astype(np.float64)
        x = np.concatenate([x, np.zeros(-len(x) % chunk)]).reshape(-1, chunk).sum(1)
        return {"out": np.bincount(np.arange(len(x)) % ctas, x, ctas)}

    return Entry(kernel, launch, args, expected, {"n": 1332, "ctas": 3}, rtol=1e-5)


ENTRIES = {
    "reduce0_interleaved_div": _entry(reduce0_interleaved_div, 256),
    "reduce1_interleaved_bank": _entry(reduce1_interleaved_bank, 256),
    "reduce2_sequential": _entry(reduce2_sequential, 256),
    "reduce3_first_add": _entry(reduce3_first_add, 512),
    "reduce4_unroll_warp": _entry(reduce4_unroll_warp, 512),
    "reduce5_shuffle": _entry(reduce5_shuffle, 512),
    "reduce6_grid_stride": _entry(reduce6_grid_stride, 0),
    "reduce7_grid_stride_f4": _entry(reduce7_grid_stride_f4, 0, vector=4),
}
