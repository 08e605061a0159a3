# mypy: allow-untyped-defs
"""What the scheduler of an SM and of the chip does: barriers, waves of equal CTAs, and warps that hide each other's waiting."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import float32, int32, uint32

HALF, MORE = float32(0.5), float32(1.5)
#: barriers in one pass of the loop
BARRIERS = 16
#: words between two nodes of a chase: 128 bytes
NODE = 32


@cuda.jit
def barrier_block(sink, iters):
    """All threads of the CTA meet."""
    for _ in cuda.range(iters, unroll=1):
        for _ in cuda.range(BARRIERS, unroll=0):
            cuda.syncthreads()


@cuda.jit
def barrier_warp(sink, iters):
    """The lanes of a warp meet: they never parted."""
    for _ in cuda.range(iters, unroll=1):
        for _ in cuda.range(BARRIERS, unroll=0):
            cuda.syncwarp()


@cuda.jit
def barrier_count(sink, iters):
    """All threads meet and count who said yes; each answer is the next question."""
    p = int32(0)
    for _ in cuda.range(iters, unroll=1):
        for _ in cuda.range(BARRIERS, unroll=0):
            p = cuda.syncthreads_count(p)
    if p == 77:
        sink[0] = p


#: kind, as the measurements name it -> kernel
BARRIER: dict[str, Any] = {
    "__syncthreads": barrier_block,
    "__syncwarp": barrier_warp,
    "barrier.red.popc": barrier_count,
}


@cuda.jit
def fixed_work(sink, n):
    """The same arithmetic in every CTA: 16 n dependent multiply-adds a thread. A grid takes as many times that as it has waves."""
    x = float32(cuda.threadIdx.x)
    for _ in cuda.range(n, unroll=1):
        for _ in cuda.range(16, unroll=0):
            x = cuda.fma(x, HALF, MORE)
    if x == float32(123.0):
        sink[0] = x


def chase(each_lane: int) -> Any:
    """A kernel in which every warp (0) or every lane (1) follows its own random walk over nodes of 128 bytes: nothing to do but to wait, so
    the rate is that of the warps that wait side by side.

    The ring holds zeros; the next node is a hash of the step plus what was loaded. So the walk is as random and as dependent as a chase
    over pointers, and needs no ring that somebody built. A step takes an add and an address more than one over pointers, 15 cycles.
    """

    @cuda.jit(launch_bounds=1024)
    def chase(ring, steps, nodes, sink):
        t = cuda.grid(1)
        seed = uint32((t if each_lane else t // 32) * 40503)
        p = int32(0)
        for i in cuda.range(steps, unroll=4):
            node = uint32(uint32((seed + i) * 2654435761) >> 5) & (nodes - 1)
            p = cuda.ldcg(ring, int32(int32(node * NODE) + p))
        if p == 1:
            sink[0] = p

    return chase
