# mypy: allow-untyped-defs
"""Copies from global to shared memory that nobody waits for at once: cp.async of 16 bytes a thread, and pieces by the bulk engine."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import int32, uint32, uint64

#: words of a copy of one thread: 16 bytes
WORDS = 4
#: threads of a CTA, and bytes that it copies in one stage
THREADS, STAGE = 256, 16384
COPIES = STAGE // (THREADS * WORDS * 4)
#: words of a line
LINE = 32
#: the measured loops end with their wait; some at once keep the branch small
UNROLLED = 8


@cuda.jit(device=True)
def slot(i, slots):
    """A place that looks random, of a power of two."""
    x = uint32(i * 2654435761)
    return int(uint32(uint32(x ^ (x >> 15)) * 2246822519) >> 9) & (slots - 1)


@cuda.jit
def copy_latency(src, slots, passes):
    """One thread copies 16 bytes of a random line and waits for them. The next address is made meanwhile."""
    s = cuda.shared.array(WORDS, uint32)
    at = slot(1, slots)
    for i in cuda.range(passes, unroll=1):
        for k in cuda.range(UNROLLED, unroll=0):
            cuda.cp_async(s, 0, src, at * LINE, WORDS)
            cuda.cp_async_commit()
            at = slot(i * UNROLLED + k, slots)
            cuda.cp_async_wait(0)


@cuda.jit
def load_latency(src, slots, passes):
    """The same by a load to registers and a store to shared memory."""
    s = cuda.shared.array(WORDS, uint32)
    at = slot(1, slots)
    for i in cuda.range(passes, unroll=1):
        for k in cuda.range(UNROLLED, unroll=0):
            v = cuda.load4(src, at * LINE)
            at = slot(i * UNROLLED + k, slots)
            cuda.store4(s, 0, v)
            cuda.syncwarp()


def copies(stages: int) -> Any:
    """A kernel whose CTAs copy pieces of 16 KB, `stages` of them under way."""

    @cuda.jit(launch_bounds=THREADS)
    def copies(src, words, passes):
        ring = cuda.shared.array(0, uint32)
        piece = STAGE // 4
        at = cuda.blockIdx.x * piece
        stage = 0
        for _ in cuda.range(passes, unroll=1):
            for k in cuda.range(COPIES, unroll=0):
                one = (k * THREADS + cuda.threadIdx.x) * WORDS
                cuda.cp_async(ring, stage * piece + one, src, at + one, WORDS)
            cuda.cp_async_commit()
            cuda.cp_async_wait(stages - 1)
            at += cuda.gridDim.x * piece
            at = cuda.selp(at >= words, at - words, at)
            stage = cuda.selp(stage + 1 == stages, 0, stage + 1)
        cuda.cp_async_wait(0)

    return copies


#: mbarriers of `bulk_stream`: copies under way at most
STAGES = 64


@cuda.jit
def bulk_latency(src, slots, words, passes):
    """One thread has a random piece copied and waits for it. The next address is made meanwhile."""
    data = cuda.shared.array(0, uint32)
    bars = cuda.shared.array(1, uint64)
    cuda.mbarrier.init(bars, 0, 1)
    at = slot(1, slots)
    for i in cuda.range(passes, unroll=1):
        for k in cuda.range(UNROLLED, unroll=0):
            cuda.mbarrier.arrive_expect_tx(bars, 0, words * 4)
            cuda.bulk_copy(data, 0, src, at * words, words, bars, 0)
            at = slot(i * UNROLLED + k, slots)
            cuda.mbarrier.wait(bars, 0, k & 1)


@cuda.jit
def bulk_stream(src, words, piece, stages, passes):
    """One thread of a CTA has `passes` pieces copied, each to the stage whose piece has landed longest ago; it waits for that first."""
    ring = cuda.shared.array(0, uint32)
    bars = cuda.shared.array(STAGES, uint64)
    if cuda.threadIdx.x == 0:
        for i in cuda.range(stages, unroll=1):
            cuda.mbarrier.init(bars, i, 1)
        at, stage, parity = cuda.blockIdx.x * piece, int32(0), int32(1)
        for i in cuda.range(passes, unroll=1):
            if i >= stages:
                cuda.mbarrier.wait(bars, stage, parity)
            cuda.mbarrier.arrive_expect_tx(bars, stage, piece * 4)
            cuda.bulk_copy(ring, stage * piece, src, at, piece, bars, stage)
            at += cuda.gridDim.x * piece
            at = cuda.selp(at >= words, at - words, at)
            stage += int32(1)
            if stage == stages:
                stage, parity = int32(0), parity ^ int32(1)
        for _ in cuda.range(stages, unroll=1):
            cuda.mbarrier.wait(bars, stage, parity)
            stage += int32(1)
            if stage == stages:
                stage, parity = int32(0), parity ^ int32(1)
    cuda.syncthreads()
