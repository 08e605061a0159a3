# mypy: allow-untyped-defs
"""Streams: what DRAM, L2 and L1 deliver to loads and take from stores, 16 bytes a lane unless said.

As in `coalescing`, what is read is folded and stored if `never` is not 0.
"""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import uint32, uint64
from gpusim.kernels.simt.probes.coalescing import FOLD, LOAD

WORDS = 4
#: 16-byte stores of a thread in one pass of `rewrite`
REWRITTEN = 4


def stream(mode: str, unroll: int) -> Any:
    """A kernel whose CTAs take chunks of blockDim * unroll * 16 bytes, gridDim chunks apart: `unroll` loads of a thread, then what it does
    with them. a, b: words."""
    reads, writes = mode != "write", mode != "read"

    @cuda.jit(launch_bounds=1024)
    def stream(a, b, chunks, never, sink):
        x = uint32(0)
        v = cuda.local.array((unroll, WORDS), uint32)
        for c in cuda.range(cuda.blockIdx.x, chunks, cuda.gridDim.x, unroll=1):
            at = c * unroll * cuda.blockDim.x + cuda.threadIdx.x
            for u in cuda.range(unroll, unroll=0):
                if reads:
                    v[u, 0], v[u, 1], v[u, 2], v[u, 3] = cuda.load4(a, (at + u * cuda.blockDim.x) * WORDS)
                else:
                    for w in cuda.range(WORDS, unroll=0):
                        v[u, w] = uint32(u)
            for u in cuda.range(unroll, unroll=0):
                if writes:
                    cuda.store4(b, (at + u * cuda.blockDim.x) * WORDS, (v[u, 0], v[u, 1], v[u, 2], v[u, 3]))
                else:
                    x = uint32(x ^ v[u, 0] ^ v[u, 1] ^ v[u, 2] ^ v[u, 3])
        if not writes and never:
            sink[0] = x

    return stream


def sweep_l1(words: int, unroll: int) -> Any:
    """A kernel in which every CTA reads the same `pieces` of blockDim * unroll * words * 4 bytes, one a pass, again and again. A warp's loads
    lie side by side."""
    load, fold = LOAD[words], FOLD[words]

    @cuda.jit(launch_bounds=1024)
    def sweep_l1(a, pieces, passes, never, sink):
        x, c = uint32(0), 0
        lane = ((cuda.threadIdx.x >> 5) * unroll * 32 + (cuda.threadIdx.x & 31)) * words
        v = cuda.local.array(unroll, uint32)
        for _ in cuda.range(passes, unroll=1):
            at = c * (cuda.blockDim.x * unroll * words) + lane
            c = cuda.selp(c + 1 == pieces, 0, c + 1)
            for u in cuda.range(unroll, unroll=0):
                v[u] = fold(load(a, at + u * 32 * words))
            for u in cuda.range(unroll, unroll=0):
                x = uint32(x ^ v[u])
        if never:
            sink[0] = x

    return sweep_l1


#: loads of 8 bytes past the L1 in one pass of `sweep_l2`: 128 bytes a thread
PAST_L1 = 16


@cuda.jit(device=True)
def piece_past_l1(a, c):
    """A CTA reads the c-th piece of blockDim * 128 bytes; every thread all its words before it folds them."""
    at = c * (cuda.blockDim.x * PAST_L1) + (cuda.threadIdx.x >> 5) * PAST_L1 * 32 + (cuda.threadIdx.x & 31)
    v = cuda.local.array(PAST_L1, uint64)
    for u in cuda.range(PAST_L1, unroll=0):
        v[u] = cuda.ldcg(a, at + u * 32)
    x = uint64(0)
    for u in cuda.range(PAST_L1, unroll=0):
        x = uint64(x ^ v[u])
    return x


@cuda.jit(launch_bounds=1024)
def sweep_l2(a, pieces, first, passes, never, sink):
    """Reads past the L1: every CTA sweeps all `pieces`, one a pass, and begins at its number times `first`. a: 8-byte words."""
    x = uint64(0)
    c = cuda.blockIdx.x * first % pieces
    for _ in cuda.range(passes, unroll=1):
        x = uint64(x ^ piece_past_l1(a, c))
        c = cuda.selp(c + 1 == pieces, 0, c + 1)
    if never:
        sink[0] = x


@cuda.jit(launch_bounds=1024)
def sweep_own(a, slice_, passes, never, sink):
    """The same where every CTA sweeps `slice_` pieces that it shares with nobody."""
    x, c = uint64(0), 0
    for _ in cuda.range(passes, unroll=1):
        x = uint64(x ^ piece_past_l1(a, cuda.blockIdx.x * slice_ + c))
        c = cuda.selp(c + 1 == slice_, 0, c + 1)
    if never:
        sink[0] = x


@cuda.jit(launch_bounds=1024)
def rewrite(a, pieces, passes):
    """Every CTA of 1024 threads writes `passes` of the `pieces` of 64 KiB; it begins seven pieces behind the one before. a: words."""
    for i in cuda.range(passes, unroll=1):
        at = (cuda.blockIdx.x * 7 + i) % pieces * 4096 + cuda.threadIdx.x
        for u in cuda.range(REWRITTEN, unroll=0):
            cuda.store4(a, (at + u * 1024) * WORDS, (uint32(i), uint32(u), uint32(i), uint32(u)))


@cuda.jit
def touch(a, n, never, sink):
    """Reads n 16-byte words past the L1, in a grid-stride loop: what L2 holds afterwards. a: 8-byte words."""
    x = uint64(0)
    for i in cuda.range(cuda.grid(1), n, cuda.gridsize(1), unroll=1):
        x = uint64(x ^ cuda.ldcg(a, 2 * i) ^ cuda.ldcg(a, 2 * i + 1))
    if never:
        sink[0] = x
