# mypy: allow-untyped-defs
"""Attention without the matrix of scores: a CTA keeps 64 queries, walks over blocks of 64 keys and values, and rescales what it has so far.

Q, K, V and O are [heads, seq, 64] in bfloat16. Four warps of 16 query rows each; keys and values of the next block arrive by cp.async
while the current one is multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import bfloat16, float32, uint32
from gpusim.kernels.simt.block import FULL
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, uniform

ZERO, ONE, LOW = float32(0.0), float32(1.0), float32(-1e30)
TILE = 64 * 64


@cuda.jit(device=True)
def load_tile(smem, at, g, start):
    """A 64 x 64 tile, four chunks of 16 bytes a thread. Chunk c of row r lies at chunk c ^ (r % 8)."""
    for i in cuda.range(4, unroll=0):
        chunk = cuda.threadIdx.x + i * 128
        r, c = chunk // 8, chunk % 8
        cuda.cp_async(smem, at + r * 64 + ((c ^ (r & 7)) << 3), g, start + r * 64 + c * 8, 8)


@cuda.jit(device=True)
def multiply(acc, j, a0, a1, a2, a3, b0, b1):
    """acc[j] += a b on the tensor core: 16 x 8 x 16."""
    acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3] = cuda.mma_m16n8k16((a0, a1, a2, a3), (b0, b1), (acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3]))


@cuda.jit(device=True)
def scores(smem, sk, q, s, lane):
    """s = 16 queries of the warp times 64 keys: four steps of 16 columns."""
    for j in cuda.range(8, unroll=0):
        for e in cuda.range(4, unroll=0):
            s[j, e] = ZERO
    for kk in cuda.range(4, unroll=0):
        for j in cuda.range(0, 8, 2, unroll=0):
            r, c = j * 8 + (lane & 7) + (lane >> 4) * 8, kk * 2 + ((lane >> 3) & 1)
            b0, b1, b2, b3 = cuda.ldmatrix(smem, sk + r * 64 + ((c ^ (r & 7)) << 3), 4)
            multiply(s, j, q[kk, 0], q[kk, 1], q[kk, 2], q[kk, 3], b0, b1)
            multiply(s, j + 1, q[kk, 0], q[kk, 1], q[kk, 2], q[kk, 3], b2, b3)


@cuda.jit(device=True)
def hide_later_keys(s, warp, lane):
    """On the diagonal block: no weight for keys behind the query."""
    for j in cuda.range(8, unroll=0):
        for e in cuda.range(4, unroll=0):
            row, key = warp * 16 + lane // 4 + (e // 2) * 8, j * 8 + (lane % 4) * 2 + e % 2
            if key > row:
                s[j, e] = LOW


@cuda.jit(device=True)
def rescale(s, o, m, l, scale):
    """Scores become weights under the new maximum of their row; sums and outputs so far shrink to it. Two rows a thread."""
    for h in cuda.range(2, unroll=0):
        mx = m[h]
        for j in cuda.range(8, unroll=0):
            mx = max(mx, max(s[j, 2 * h], s[j, 2 * h + 1]))
        mx = max(mx, cuda.shfl_xor_sync(FULL, mx, 1))
        mx = max(mx, cuda.shfl_xor_sync(FULL, mx, 2))
        alpha = cuda.approx_exp2((m[h] - mx) * scale)
        off = mx * scale
        m[h] = mx
        l[h] *= alpha
        for j in cuda.range(8, unroll=0):
            s[j, 2 * h] = cuda.approx_exp2(cuda.fma(s[j, 2 * h], scale, -off))
            s[j, 2 * h + 1] = cuda.approx_exp2(cuda.fma(s[j, 2 * h + 1], scale, -off))
            l[h] += s[j, 2 * h] + s[j, 2 * h + 1]
            o[j, 2 * h] *= alpha
            o[j, 2 * h + 1] *= alpha


@cuda.jit(device=True)
def add_values(smem, sv, s, o, lane):
    """o += weights, rounded to bfloat16 in registers, times 64 values."""
    for kk in cuda.range(4, unroll=0):
        p0 = cuda.pack_bf16(s[2 * kk, 0], s[2 * kk, 1])
        p1 = cuda.pack_bf16(s[2 * kk, 2], s[2 * kk, 3])
        p2 = cuda.pack_bf16(s[2 * kk + 1, 0], s[2 * kk + 1, 1])
        p3 = cuda.pack_bf16(s[2 * kk + 1, 2], s[2 * kk + 1, 3])
        for j in cuda.range(0, 8, 2, unroll=0):
            r, c = kk * 16 + (lane & 15), j + (lane >> 4)
            b0, b1, b2, b3 = cuda.ldmatrix(smem, sv + r * 64 + ((c ^ (r & 7)) << 3), 4, True)
            multiply(o, j, p0, p1, p2, p3, b0, b1)
            multiply(o, j + 1, p0, p1, p2, p3, b2, b3)


@cuda.jit(device=True)
def write(O, start, o, l, lane):
    """Outputs over the sums of their weights, as pairs of bfloat16."""
    for h in cuda.range(2, unroll=0):
        l[h] += cuda.shfl_xor_sync(FULL, l[h], 1)
        l[h] += cuda.shfl_xor_sync(FULL, l[h], 2)
        r = cuda.libdevice.fast_fdividef(ONE, l[h])
        at = start + (lane // 4 + h * 8) * 64 + (lane % 4) * 2
        for j in cuda.range(8, unroll=0):
            cuda.store2(O, at + j * 8, (bfloat16(o[j, 2 * h] * r), bfloat16(o[j, 2 * h + 1] * r)))


def flash_fwd(causal: int) -> Any:
    """A kernel for all keys (0), or for the keys up to the query (1): then blocks behind the diagonal are left out."""

    @cuda.jit(launch_bounds=(128, 3))
    def flash_fwd(Q, K, V, O, seq, scale):
        smem = cuda.shared.array(0, bfloat16)
        tid = cuda.threadIdx.x
        lane, warp, qb = tid % 32, tid // 32, cuda.blockIdx.x
        head = cuda.blockIdx.y * seq * 64
        blocks = qb + 1 if causal else seq // 64
        load_tile(smem, 0, Q, head + qb * TILE)
        load_tile(smem, TILE, K, head)
        load_tile(smem, 2 * TILE, V, head)
        cuda.cp_async_commit()
        cuda.cp_async_wait(0)
        cuda.syncthreads()

        q = cuda.local.array((4, 4), uint32)
        for kk in cuda.range(4, unroll=0):
            r, c = warp * 16 + (lane & 15), kk * 2 + (lane >> 4)
            q[kk, 0], q[kk, 1], q[kk, 2], q[kk, 3] = cuda.ldmatrix(smem, r * 64 + ((c ^ (r & 7)) << 3), 4)
        o = cuda.local.array((8, 4), float32)
        s = cuda.local.array((8, 4), float32)
        m = cuda.local.array(2, float32)
        l = cuda.local.array(2, float32)
        for j in cuda.range(8, unroll=0):
            for e in cuda.range(4, unroll=0):
                o[j, e] = ZERO
        for h in cuda.range(2, unroll=0):
            m[h] = LOW
            l[h] = ZERO

        for jb in cuda.range(blocks, unroll=1):
            sk = TILE + (jb & 1) * 2 * TILE
            sv = sk + TILE
            if jb + 1 < blocks:
                nk = TILE + ((jb + 1) & 1) * 2 * TILE
                load_tile(smem, nk, K, head + (jb + 1) * TILE)
                load_tile(smem, nk + TILE, V, head + (jb + 1) * TILE)
            cuda.cp_async_commit()
            scores(smem, sk, q, s, lane)
            if causal:
                if jb == qb:
                    hide_later_keys(s, warp, lane)
            rescale(s, o, m, l, scale)
            add_values(smem, sv, s, o, lane)
            cuda.cp_async_wait(0)
            cuda.syncthreads()

        write(O, head + (qb * 64 + warp * 16) * 64, o, l, lane)

    return flash_fwd


SCALE = np.float32(0.125 * 1.4426950408889634)


def _args(p: Params) -> Args:
    size = (p["bh"] * p["seq"] * 64,)
    inputs = {name: Array(size, "bfloat16", uniform()) for name in ("Q", "K", "V")}
    return {**inputs, "O": Array(size, "bfloat16"), "seq": p["seq"], "scale": SCALE}


def _attention(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    q, k, v = (before[name].astype(np.float64).reshape(p["bh"], p["seq"], 64) for name in ("Q", "K", "V"))
    s = q @ k.transpose(0, 2, 1) * 0.125
    if p["causal"]:
        s = np.where(np.tri(p["seq"], dtype=bool), s, -np.inf)
    e = np.exp(s - s.max(2, keepdims=True))
    return {"O": (e / e.sum(2, keepdims=True) @ v).ravel()}


def _launch(p: Params) -> Launch:
    return Launch((p["seq"] // 64, p["bh"]), (128, 1), 5 * TILE * 2)


ENTRIES = {"flash_fwd": Entry(flash_fwd, _launch, _args, _attention, {"bh": 2, "seq": 192, "causal": 1}, template=("causal",), rtol=2e-2, atol=1e-2)}
