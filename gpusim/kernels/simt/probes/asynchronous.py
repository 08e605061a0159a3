# mypy: allow-untyped-defs
"""Copies from global to shared memory that nobody waits for at once: cp.async of 16 bytes a thread, and its latency against a load."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import uint32

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
