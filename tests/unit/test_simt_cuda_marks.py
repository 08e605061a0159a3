"""Reads of device memory that nothing has written, element by element, over several launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpusim import GpusimError, cuda


@cuda.jit
def copy(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i]


@cuda.jit
def fill_even(x: Any) -> None:
    i = cuda.grid(1)
    if 2 * i < x.size:
        x[2 * i] = i


@cuda.jit
def twice(x: Any, y: Any) -> None:
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        y[i, j] = 2 * x[i, j]


@cuda.jit
def count(bins: Any) -> None:
    cuda.atomic.add(bins, cuda.threadIdx.x % bins.size, 1)


def refused(run: Callable[[], Any], *words: str) -> None:
    with pytest.raises(GpusimError) as error:
        run()
    for word in (*words, "which nothing has written"):
        assert word in str(error.value)


def test_a_partly_written_array() -> None:
    x, y = cuda.device_array(100), np.zeros(100)
    fill_even[1, 64](x)
    assert x.written is not None and x.written.tolist() == [i % 2 == 0 for i in range(100)]
    refused(lambda: copy[4, 32](x, y), "read of x[")
    evens = cuda.device_array(50)
    copy[2, 32](x[::2], evens)
    np.testing.assert_array_equal(evens.copy_to_host(), np.arange(50))
    assert evens.written is not None and evens.written.all()
    x[1::2] = 0.0
    copy[4, 32](x, y)
    assert (y[1::2] == 0).all()


def test_a_launch_with_fewer_threads_leaves_marks_open() -> None:
    y = cuda.device_array(100)
    copy[1, 64](np.ones(100), y)
    out = np.zeros(100)
    refused(lambda: copy[2, 64](y, out), "x[64]")
    copy[1, 64](y[:64], out[:64])
    assert (out[:64] == 1).all() and (out[64:] == 0).all()


@pytest.mark.parametrize("order", ["C", "F"])
def test_orders_and_parts_of_two_dimensions(order: str) -> None:
    x = cuda.device_array((6, 5), np.float32, order=order)
    y = cuda.device_array((6, 5), np.float32)
    x[1:4, 2:] = 3.0
    twice[(1, 1), (8, 8)](x[1:4, 2:], y[1:4, 2:])
    assert y.written is not None and y.written.sum() == 9 and (y.copy_to_host()[1:4, 2:] == 6).all()
    refused(lambda: twice[(1, 1), (8, 8)](x[1:5, 2:], y[1:5, 2:]), "x[")


def test_wrapped_arrays() -> None:
    x, y = np.ones((4, 3), order="F"), np.full((4, 3), -1.0, order="F")
    twice[(1, 1), (4, 4)](cuda.In(x), cuda.Out(y))
    assert (y == 2).all()
    refused(lambda: twice[(1, 1), (4, 4)](cuda.Out(x), y), "x[0]")
    d = cuda.device_array(8)
    copy[1, 8](np.ones(8), cuda.In(d))
    refused(lambda: copy[1, 8](d, np.zeros(8)), "x[0]")


def test_an_atomic_reads() -> None:
    bins = cuda.device_array(4, np.int32)
    refused(lambda: count[1, 32](bins), "bins[0]")
    bins[:] = 0
    count[1, 32](bins)
    assert bins.copy_to_host().tolist() == [8, 8, 8, 8]


def test_timing_alone_writes_nothing() -> None:
    import gpusim as gs

    y = cuda.device_array(64)
    gs.run(copy, grid=2, block=32, args=(np.ones(64), y), values=False)
    assert y.written is not None and not y.written.any()
