"""The closed form of a systolic array against one in which every number moves: values, passes, and cycles to the cycle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gpusim.parts.systolic import Array, passes, product
from gpusim.parts.systolic_frames import IDLE, frames
from tests.oracle.systolic_array import multiply

DIM = 8
SHAPES = list(itertools.product((1, 2, 7, 8, 9, 20), (1, 7, 8, 9, 17), (1, 8, 9, 24)))


@pytest.mark.parametrize("m, k, n", SHAPES)
def test_values_passes_and_cycles(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(m * 10000 + k * 100 + n)
    a, b = rng.integers(-8, 8, (m, k)).astype(float), rng.integers(-8, 8, (k, n)).astype(float)
    found = multiply(a, b, DIM)
    closed = product(Array(1, DIM), m, k, n)
    assert np.array_equal(found.values, a @ b)
    assert found.passes == passes(DIM, k, n) == closed.passes
    assert found.cycles == closed.cycles
    assert found.multiplied == closed.passes * m * DIM * DIM


def test_all_small_shapes_have_the_passes_of_the_array() -> None:
    for k, n in itertools.product(range(1, 26), repeat=2):
        squares = [(x, y) for x in range(0, k, DIM) for y in range(0, n, DIM)]
        assert passes(DIM, k, n) == len(squares)


@pytest.mark.parametrize("dim, rows, count", [(4, 1, 1), (4, 3, 2), (8, 8, 3), (8, 20, 2), (3, 5, 4)])
def test_the_picture_shows_the_cells_that_multiply(dim: int, rows: int, count: int) -> None:
    rng = np.random.default_rng(0)
    found = multiply(rng.random((rows, dim)), rng.random((dim, dim * count)), dim, keep=True)
    shown = list(frames(dim, rows, count))
    assert len(shown) == found.cycles
    for frame, busy in zip(shown, found.history, strict=True):
        assert np.array_equal(np.array(frame.cells) != IDLE, busy)
        assert frame.busy == busy.mean()


def test_few_rows_wait_for_their_weights() -> None:
    few, many = product(Array(1, DIM), 2, 64, 64), product(Array(1, DIM), DIM, 64, 64)
    assert few.starve > 0 and many.starve == 0
    assert few.stream + few.starve < many.stream


@pytest.mark.parametrize(
    "m, n, k, cycles", [(128, 128, 128, 509), (64, 256, 384, 2675), (512, 512, 512, 14303), (1000, 300, 200, 8291), (1024, 1024, 1024, 89983)]
)
def test_without_double_buffering_the_cycles_are_those_of_scale_sim(m: int, n: int, k: int, cycles: int) -> None:
    """Its weight-stationary array of 128x128, version 3.0.0 (tests/speed/against_scalesim.py runs it): it counts from cycle 0."""
    assert product(Array(1, 128, double_buffered=False), m, k, n).cycles == pytest.approx(cycles + 1, abs=0)
