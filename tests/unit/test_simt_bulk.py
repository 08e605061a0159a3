# mypy: allow-untyped-defs
"""Bulk copies and mbarriers in kernels of threads: values, what is refused, and time that follows the engine's rate."""

from __future__ import annotations

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.cuda import float32, uint64
from gpusim.errors import GpusimError

PIECE = 256


@cuda.jit
def pipeline(src, out, pieces, stages):
    """One thread has pieces copied ahead; all threads double them."""
    ring = cuda.shared.array(1024, float32)
    full = cuda.shared.array(4, uint64)
    empty = cuda.shared.array(4, uint64)
    t = cuda.threadIdx.x
    if t == 0:
        for s in range(stages):
            cuda.mbarrier.init(full, s, 1)
            cuda.mbarrier.init(empty, s, cuda.blockDim.x)
    cuda.syncthreads()
    first = cuda.blockIdx.x * pieces
    for i in range(pieces + stages - 1):
        if t == 0 and i < pieces:
            if i >= stages:
                cuda.mbarrier.wait(empty, i % stages, (i // stages - 1) % 2)
            cuda.mbarrier.arrive_expect_tx(full, i % stages, PIECE * 4)
            cuda.bulk_copy(ring, i % stages * PIECE, src, (first + i) * PIECE, PIECE, full, i % stages)
        k = i - stages + 1
        if k >= 0:
            cuda.mbarrier.wait(full, k % stages, k // stages % 2)
            out[(first + k) * PIECE + t] = ring[k % stages * PIECE + t] * 2
            cuda.mbarrier.arrive(empty, k % stages)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_ring_of_stages_gives_what_the_array_holds(stages):
    src = np.arange(3 * 7 * PIECE, dtype=np.float32)
    out = np.zeros_like(src)
    report = gs.run(pipeline, grid=3, block=PIECE, args=(src, out, 7, stages), gpu="h200")
    assert np.array_equal(out, 2 * src)
    assert report.run.counters["bulk_copy_requests"] == 21
    assert report.run.counters["bulk_copy_sectors"] == src.nbytes // 32


def test_deeper_rings_take_less_time():
    src = np.arange(16 * PIECE, dtype=np.float32)
    cycles = [gs.run(pipeline, grid=1, block=PIECE, args=(src, np.zeros_like(src), 16, stages), gpu="h200").run.cycles for stages in (1, 4)]
    assert cycles[1] < 0.75 * cycles[0]


@cuda.jit
def careless(src, out, mode, n):
    s = cuda.shared.array(512, float32)
    bars = cuda.shared.array(1, uint64)
    t = cuda.threadIdx.x
    if t == 0:
        if mode != 1:
            cuda.mbarrier.init(bars, 0, 1)
        cuda.mbarrier.arrive_expect_tx(bars, 0, 8 if mode == 2 else 4 * n)
        cuda.bulk_copy(s, 1 if mode == 3 else 0, src, 0, n, bars, 0)
        if mode == 4:
            cuda.mbarrier.arrive(bars, 0)
            cuda.mbarrier.arrive(bars, 0)
    cuda.syncthreads()
    if mode == 5:
        cuda.mbarrier.wait(bars, 0, 2)
    if mode == 2:
        cuda.mbarrier.wait(bars, 0, 0)
    if mode == 0:
        out[t] = s[t]


@pytest.mark.parametrize(
    "mode, n, told",
    [
        (0, 128, "may still be under way"),
        (1, 128, "before anybody has made it an mbarrier"),
        (2, 128, "deadlock"),
        (3, 128, "remainder 4"),
        (6, 3, "12 bytes"),
        (6, 1024, "out of bounds"),
        (6, 128, "ends while this bulk copy"),
        (5, 128, "neither 0 nor 1"),
    ],
)
def test_mistakes_are_told_with_their_line(mode, n, told):
    src = np.ones(512, np.float32)
    with pytest.raises(GpusimError, match=told) as error:
        gs.run(careless, grid=1, block=128, args=(src, np.zeros(128, np.float32), mode, n), gpu="h200")
    assert "test_simt_bulk.py:" in str(error.value.where)


def test_a_chip_without_the_engine_says_so():
    src = np.ones(PIECE, np.float32)
    with pytest.raises(GpusimError, match="no bulk copy engine"):
        gs.run(pipeline, grid=1, block=PIECE, args=(src, np.zeros_like(src), 1, 1), gpu="a100")


def test_an_mbarrier_lies_in_shared_memory():
    @cuda.jit
    def wrong(x):
        cuda.mbarrier.init(x, 0, 1)

    with pytest.raises(GpusimError, match="mbarrier in a global array"):
        gs.run(wrong, grid=1, block=1, args=(np.zeros(1, np.uint64),), gpu="h200")
