# mypy: allow-untyped-defs
"""Shared memory: loads and stores of 4, 8 and 16 bytes a lane at any stride, matrix loads, atomics; and atomics on global memory.

A chase through pointers keeps loads apart: each word holds its own address, so that a lane stays where it is. `index_at` uses what was
loaded as an address, with no arithmetic in between.
"""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import float16, float32, uint32

#: words of shared memory that are used, and dynamic bytes of a CTA
WORDS = 8192
SHARED_BYTES = 64 * 1024
#: rounds of loads, stores, matrix loads and atomics in one pass of the loop
LOADS, STORES, MATRICES, ATOMICS = 8, 32, 16, 8
#: 16-bit elements behind which matrices are not read
ELEMENTS = 24576


def loads(words: int, ilp: int) -> Any:
    """A kernel with `ilp` chains of loads of `words` words a lane, lanes `stride` words apart; `same` neighbouring lanes read one place."""

    @cuda.jit(launch_bounds=1024)
    def loads(sink, iters, stride, same):
        s = cuda.shared.array(0, uint32)
        for i in cuda.range(cuda.threadIdx.x, WORDS, cuda.blockDim.x, unroll=1):
            s[i] = 4 * i
        cuda.syncthreads()
        lane = (cuda.threadIdx.x & 31) // same
        p = cuda.local.array(ilp, uint32)
        for j in cuda.range(ilp, unroll=0):
            p[j] = 4 * ((lane * stride + j * 32 * words) & (WORDS - words))
        for _ in cuda.range(iters, unroll=1):
            for _ in cuda.range(LOADS, unroll=0):
                for j in cuda.range(ilp, unroll=0):
                    if words == 1:
                        p[j] = s[cuda.index_at(s, p[j])]
                    elif words == 2:
                        p[j], _ = cuda.load2(s, cuda.index_at(s, p[j]))
                    else:
                        p[j], _, _, _ = cuda.load4(s, cuda.index_at(s, p[j]))
        q = uint32(0)
        for j in cuda.range(ilp, unroll=0):
            q = uint32(q ^ p[j])
        sink[cuda.grid(1)] = q

    return loads


def stores(words: int) -> Any:
    """A kernel that stores `words` words a lane, lanes `stride` words apart, to eight places in turn."""

    @cuda.jit(launch_bounds=1024)
    def stores(sink, iters, stride):
        s = cuda.shared.array(0, uint32)
        i = ((cuda.threadIdx.x & 31) * stride) & (4096 - words)
        v = uint32(cuda.threadIdx.x)
        for _ in cuda.range(iters, unroll=1):
            for u in cuda.range(STORES, unroll=0):
                if words == 1:
                    s[i + (u & 7) * 32] = v
                elif words == 2:
                    cuda.store2(s, i + (u & 7) * 64, (v, v))
                else:
                    cuda.store4(s, i + (u & 7) * 128, (v, v, v, v))
        cuda.syncthreads()
        sink[cuda.grid(1)] = s[cuda.threadIdx.x]

    return stores


def matrices(dependent: int, trans: int) -> Any:
    """A kernel that loads four 8x8 matrices at a time, the rows of all lanes `pitch` bytes apart. dependent: each address takes the last load,
    zeros, along."""

    @cuda.jit(launch_bounds=1024)
    def matrices(sink, iters, pitch, zero):
        s = cuda.shared.array(0, float16)
        for i in cuda.range(cuda.threadIdx.x, ELEMENTS, cuda.blockDim.x, unroll=1):
            s[i] = float16(0.0)
        cuda.syncthreads()
        p = uint32((cuda.threadIdx.x & 31) * pitch)
        q = uint32(0)
        for _ in cuda.range(iters, unroll=1):
            for u in cuda.range(MATRICES, unroll=0):
                at = p if dependent else uint32(p + u * 16)
                a, b, c, d = cuda.ldmatrix(s, cuda.index_at(s, at), 4, trans)
                if dependent:
                    p = uint32(p + a)
                q = uint32(q ^ a ^ b ^ c ^ d)
            p = uint32(p + zero)
        sink[cuda.grid(1)] = uint32(q + p)

    return matrices


def atomics(returns: int, floats: int) -> Any:
    """A kernel in which lane l adds to word (l % addresses) * step of shared memory. returns: each adds what the one before gave back."""
    dtype = float32 if floats else uint32

    @cuda.jit(launch_bounds=1024)
    def atomics(sink, iters, addresses, step):
        s = cuda.shared.array(0, dtype)
        for i in cuda.range(cuda.threadIdx.x, WORDS, cuda.blockDim.x, unroll=1):
            s[i] = dtype(0)
        cuda.syncthreads()
        i = (cuda.threadIdx.x & 31) % addresses * step
        x = dtype(cuda.threadIdx.x)
        for _ in cuda.range(iters, unroll=1):
            for _ in cuda.range(ATOMICS, unroll=0):
                if returns:
                    x = cuda.atomic.add(s, i, x)
                else:
                    cuda.atomic.add(s, i, x)
        cuda.syncthreads()
        sink[cuda.grid(1)] = uint32(x) + uint32(s[cuda.threadIdx.x])

    return atomics


def global_atomics(returns: int, pattern: int) -> Any:
    """A kernel in which every thread adds `iters` times to one word of `g`. pattern 0: the same for all; 1: lane l of every warp to word l;
    2: a word for each thread; 3: a random one of `mask` + 1. No thread stores: there are fewer than words."""

    @cuda.jit
    def global_atomics(g, sink, iters, mask):
        t = uint32(cuda.grid(1))
        x = t
        w = uint32(0)
        if pattern == 1:
            w = uint32(t & 31)
        elif pattern == 2:
            w = t
        elif pattern == 3:
            w = uint32((t ^ (t >> 16)) * 0x7FEB352D)
            w = uint32((w ^ (w >> 15)) * 0x846CA68B)
            w = w ^ (w >> 16)
        for _ in cuda.range(iters, unroll=1):
            if returns:
                x = uint32(x ^ cuda.atomic.add(g, w & mask, t))
            else:
                cuda.atomic.add(g, w & mask, t)
            if pattern == 3:
                w = uint32(w * 1664525 + 1013904223)
        if t > mask:
            sink[0] = x

    return global_atomics
