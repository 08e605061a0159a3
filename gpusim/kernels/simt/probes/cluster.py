# mypy: allow-untyped-defs
"""Clusters: loads from shared memory of another CTA, barriers of the cluster; and a barrier of the CTA made of an mbarrier."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import int32, uint32, uint64
from gpusim.kernels.simt.probes.latency import STEPS

#: pointers of a ring, and how many of them a step goes on
NODES, JUMP = 512, 33
#: mbarrier rounds in one pass of the loop
ROUNDS = 16
#: bits below the rank in an address of the cluster's shared memory
RANK = 24


@cuda.jit
def chase(further, passes, sink):
    """Thread 0 of every CTA follows a ring in the shared memory of the rank that is `further` than its own. A pointer holds its own rank."""
    ring = cuda.shared.array(NODES, uint32)
    rank = cuda.cluster.block_rank()
    for i in range(cuda.threadIdx.x, NODES, cuda.blockDim.x):
        ring[i] = uint32(rank << RANK) + uint32(((i + JUMP) % NODES) * 4)
    cuda.cluster.sync()
    if cuda.threadIdx.x == 0:
        every = cuda.cluster.map_shared(ring, 0)
        p = uint32(uint32((rank + further) % cuda.cluster.num_blocks()) << RANK)
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                p = every[cuda.index_at(ring, p)]
        if p == 1:
            sink[0] = p
    cuda.cluster.sync()


@cuda.jit
def meet(passes):
    """All threads of the cluster meet, and see what the others wrote before."""
    for _ in cuda.range(passes, unroll=1):
        cuda.cluster.sync()


@cuda.jit
def meet_relaxed(passes):
    """The same without a word on earlier writes."""
    for _ in cuda.range(passes, unroll=1):
        cuda.cluster.arrive_relaxed()
        cuda.cluster.wait()


#: how threads arrive, as the measurements name it
MEETING: dict[str, Any] = {"release (default)": meet, "relaxed": meet_relaxed}


@cuda.jit
def barrier_mbarrier(sink, iters):
    """All threads of the CTA arrive at an mbarrier, then wait for its phase."""
    bars = cuda.shared.array(1, uint64)
    if cuda.threadIdx.x == 0:
        cuda.mbarrier.init(bars, 0, cuda.blockDim.x)
    cuda.syncthreads()
    parity = int32(0)
    for _ in cuda.range(iters, unroll=1):
        for _ in cuda.range(ROUNDS, unroll=0):
            cuda.mbarrier.arrive(bars, 0)
            cuda.mbarrier.wait(bars, 0, parity)
            parity = parity ^ int32(1)
