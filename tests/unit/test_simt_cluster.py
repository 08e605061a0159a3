# mypy: allow-untyped-defs
"""Clusters: ranks, shared memory of other blocks, barriers, where they run, and what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.cuda import int32
from gpusim.errors import GpusimError
from gpusim.launch.clusters import deal_clusters, resident
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve


@cuda.jit
def neighbour(out, further):
    """Every block writes its rank, and reads what another one wrote."""
    s = cuda.shared.array(32, int32)
    rank, size = cuda.cluster.block_rank(), cuda.cluster.num_blocks()
    s[cuda.threadIdx.x] = rank * 100 + cuda.threadIdx.x
    cuda.cluster.sync()
    out[cuda.grid(1)] = cuda.cluster.map_shared(s, (rank + further) % size)[cuda.threadIdx.x]
    cuda.cluster.sync()


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_block_reads_the_shared_memory_of_the_next_rank(size):
    out = np.zeros(16 * 32, np.int32)
    neighbour[16, 32, 0, 0, size](out, 1)
    rank = (np.arange(16) + 1) % size
    assert np.array_equal(out.reshape(16, 32), rank[:, None] * 100 + np.arange(32))


@cuda.jit
def histogram(values, out):
    """Rank 0 counts for the whole cluster; the others add to its shared memory."""
    bins = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    if t < 4:
        bins[t] = 0
    cuda.cluster.sync()
    first = cuda.cluster.map_shared(bins, 0)
    cuda.atomic.add(first, values[cuda.grid(1)], 1)
    cuda.cluster.sync()
    if cuda.cluster.block_rank() == 0 and t < 4:
        out[cuda.blockIdx.x // cuda.cluster.num_blocks() * 4 + t] = bins[t]


def test_atomics_reach_another_block():
    values = np.random.default_rng(1).integers(0, 4, 8 * 64).astype(np.int32)
    out = np.zeros(2 * 4, np.int32)
    gs.run(histogram, grid=8, block=64, cluster=4, args=(values, out), gpu="h200")
    assert np.array_equal(out.reshape(2, 4), [np.bincount(part, minlength=4) for part in values.reshape(2, -1)])


@cuda.jit
def square(out):
    s = cuda.shared.array(1, int32)
    s[0] = cuda.blockIdx.x + 10 * cuda.blockIdx.y
    cuda.cluster.sync()
    at = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    out[at] = cuda.cluster.map_shared(s, 3)[0]
    cuda.cluster.sync()


def test_ranks_of_a_square_cluster():
    out = np.zeros(16, np.int32)
    gs.run(square, grid=(4, 4), block=1, cluster=(2, 2), args=(out,), gpu="h200")
    x, y = np.arange(4) // 2 * 2 + 1, np.arange(4) // 2 * 2 + 1
    assert np.array_equal(out.reshape(4, 4), x[None] + 10 * y[:, None])


@cuda.jit
def wrong(out, mode):
    s = cuda.shared.array(32, int32)
    rank = cuda.cluster.block_rank()
    if mode != 1:
        s[cuda.threadIdx.x] = rank
    if mode == 0:
        out[0] = cuda.cluster.map_shared(s, 1 - rank)[cuda.threadIdx.x]
    if mode == 2:
        cuda.cluster.wait()
    if mode == 3:
        cuda.cluster.arrive()
        cuda.cluster.arrive()
    cuda.cluster.sync()
    if mode == 1:
        out[0] = cuda.cluster.map_shared(s, 1 - rank)[cuda.threadIdx.x]
    if mode == 5:
        out[0] = cuda.cluster.map_shared(s, 2)[cuda.threadIdx.x]
    cuda.cluster.sync()


@pytest.mark.parametrize(
    "mode, told",
    [(0, "of another block is used while"), (1, "nothing has written"), (2, "without an arrival"), (3, "second arrival"), (5, "rank 2 in a cluster of 2")],
)
def test_mistakes_are_told(mode, told):
    with pytest.raises(GpusimError, match=told):
        gs.run(wrong, grid=2, block=32, cluster=2, args=(np.zeros(1, np.int32), mode), gpu="h200")


@pytest.mark.parametrize("grid, cluster, told", [(6, 4, "no multiple"), (32, 32, "16 is the most"), (4, 0, "cluster")])
def test_launches_that_no_device_makes(grid, cluster, told):
    with pytest.raises(GpusimError, match=told):
        gs.run(neighbour, grid=grid, block=32, cluster=cluster, args=(np.zeros(1024, np.int32), 1), gpu="h200")


def test_older_chips_have_no_clusters():
    with pytest.raises(GpusimError, match="no clusters"):
        gs.run(neighbour, grid=4, block=32, cluster=2, args=(np.zeros(128, np.int32), 1), gpu="a100")


def test_as_many_clusters_as_measured_and_each_on_one_gpc():
    machine = resolve(load_spec("h200"), 1980)
    assert [resident(machine, 1, size) // size for size in (2, 4, 8, 16)] == [66, 30, 15, 7]
    gpc = np.repeat(np.arange(len(machine.gpc_sms)), machine.gpc_sms)
    for size in (2, 4, 8, 16):
        order = np.array(deal_clusters(machine, 1000, 1, size)).reshape(-1, size)
        assert len(np.unique(order)) == order.size
        assert all(len(set(gpc[row])) == 1 for row in order)


def test_another_block_is_farther_than_the_own_and_a_larger_cluster_meets_later():
    def cycles(size, further):
        return gs.run(neighbour, grid=size, block=32, cluster=size, args=(np.zeros(32 * size, np.int32), further), gpu="h200").run.cycles

    assert 100 < cycles(4, 1) - cycles(4, 0) < 250
    assert all(a < b for a, b in pairwise([cycles(size, 1) for size in (2, 4, 8)]))
