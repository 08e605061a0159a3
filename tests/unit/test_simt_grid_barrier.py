"""The barrier of the grid (cooperative groups): values, counters, time, and blocks that do not come to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpusim import GpusimError, cuda


@pytest.fixture(autouse=True)
def default_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("GPUSIM_GPU", raising=False)
    yield
    cuda.set_gpu(None)


@cuda.jit
def mirrored_rows(m: Any) -> None:
    col = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, m.shape[0]):
        m[row, col] = m[row - 1, m.shape[1] - col - 1] + 1
        grid.sync()


@cuda.jit
def diffuse(a: Any, b: Any, steps: int, k: float) -> None:
    i = cuda.grid(1)
    if i >= a.size:
        return
    grid = cuda.cg.this_grid()
    for step in range(steps):
        if step % 2 == 0:
            old, new = a, b
        else:
            old, new = b, a
        left = old[i - 1] if i > 0 else 0.0
        right = old[i + 1] if i + 1 < a.size else 0.0
        new[i] = old[i] + k * (left - 2 * old[i] + right)
        grid.sync()


@cuda.jit
def label_runs(first: Any, labels: Any) -> None:
    i = cuda.grid(1)
    if i < first.size and first[i]:
        labels[i] = i
        cuda.cg.this_grid().sync()
        ahead = 1
        while i + ahead < first.size and labels[i + ahead] < 0:
            labels[i + ahead] = i
            ahead += 1


@cuda.jit
def total(x: Any, parts: Any, out: Any) -> None:
    s = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        parts[cuda.blockIdx.x] = s[0]
    cuda.cg.this_grid().sync()
    if cuda.grid(1) == 0:
        for b in range(cuda.gridDim.x):
            out[0] += parts[b]


@cuda.jit
def once(x: Any) -> None:
    x[cuda.grid(1)] += 1
    cuda.cg.this_grid().sync()


@cuda.jit
def without_sync(x: Any) -> None:
    x[cuda.grid(1)] += 1
    cuda.syncthreads()


@cuda.jit
def first_block_only(x: Any) -> None:
    if cuda.blockIdx.x == 0:
        cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = 1.0


@cuda.jit
def one_block_leaves(x: Any) -> None:
    if cuda.blockIdx.x == 2:
        return
    cuda.cg.this_grid().sync()
    x[cuda.grid(1)] = 1.0


@cuda.jit
def two_places(x: Any) -> None:
    if cuda.blockIdx.x == 0:
        cuda.cg.this_grid().sync()
    else:
        x[cuda.grid(1)] = 1.0
        cuda.cg.this_grid().sync()


def test_every_block_sees_the_row_of_the_others() -> None:
    m = np.zeros((20, 256), np.int32)
    mirrored_rows[8, 32](m)
    np.testing.assert_array_equal(m, np.tile(np.arange(20)[:, None], 256))


@pytest.mark.parametrize("size, steps", [(1, 1), (131, 7), (1001, 30)])
def test_diffusion_over_blocks(size: int, steps: int) -> None:
    rng = np.random.default_rng(size)
    start = rng.random(size)
    a, b = cuda.to_device(start), cuda.device_array(size)
    diffuse.forall(size, tpb=64)(a, b, steps, 0.25)
    want = start
    for _ in range(steps):
        wide = np.pad(want, 1)
        want = want + 0.25 * (wide[:-2] - 2 * want + wide[2:])
    np.testing.assert_allclose((b if steps % 2 else a).copy_to_host(), want)


def test_threads_that_have_ended_are_not_waited_for() -> None:
    first = np.zeros(50, bool)
    first[[0, 3, 4, 11, 40]] = True
    labels = np.full(50, -1)
    label_runs[1, 64](first, labels)
    np.testing.assert_array_equal(labels, np.maximum.accumulate(np.where(first, np.arange(50), 0)))


def test_shared_memory_and_barriers_of_both_kinds() -> None:
    x, out = np.random.default_rng(1).random(64 * 9), np.zeros(1)
    total[9, 64](x, cuda.device_array(9), out)
    np.testing.assert_allclose(out[0], x.sum())


@pytest.mark.parametrize("kernel", [first_block_only, one_block_leaves, two_places])
def test_a_block_that_does_not_come_is_found(kernel: Any) -> None:
    with pytest.raises(GpusimError, match="barrier under divergence") as error:
        kernel[4, 32](np.zeros(128))
    assert "this_grid().sync()" in str(error.value) and "block (" in str(error.value)
    assert "of the grid reach it" in str(error.value)
    once[4, 32](np.zeros(128))


def test_one_barrier_costs_fences_and_round_trips() -> None:
    """Between the sum of its parts and twice that: fence, atomic, load and fence behind each other."""
    once[132, 256](np.zeros(132 * 256))
    without_sync[132, 256](np.zeros(132 * 256))
    run = once.report.run
    cost = run.cycles - without_sync.report.run.cycles
    assert 2 * 516 + 2 * 282 < cost < 2 * (2 * 516 + 2 * 282)
    assert run.stalls["barrier"] > 0.5 * run.warp_cycles


def test_a_barrier_makes_l1_forget() -> None:
    """Every row is read from L2: what another SM wrote before the barrier must be seen."""
    m = np.zeros((20, 256), np.int32)
    mirrored_rows[8, 32](m)
    counters = mirrored_rows.report.run.counters
    assert counters["l2_read_sectors"] >= 19 * 256 * 4 / 32


def test_more_ctas_on_an_sm_meet_too() -> None:
    """Time per step grows with the CTAs that take their turn at the counter, not with the waves: all are resident."""

    def cycles(blocks: int) -> float:
        mirrored_rows[blocks, 32](np.zeros((6, blocks * 32), np.int32))
        return float(mirrored_rows.report.run.cycles)

    one, many = cycles(132), cycles(132 * 4)
    assert one < many < 2 * one


def test_loops_around_it_are_shortened_alike_in_all_warps() -> None:
    """Else warps would wait for each other for ever."""
    m = np.zeros((1200, 256), np.int32)
    mirrored_rows[1, 256](m)
    run = mirrored_rows.report.run
    assert "equal iterations of a loop timed" in run.extrapolated
    few = np.zeros((120, 256), np.int32)
    mirrored_rows[1, 256](few)
    assert run.cycles == pytest.approx(mirrored_rows.report.run.cycles * 10, rel=0.02)
