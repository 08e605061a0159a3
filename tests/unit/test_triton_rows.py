"""Kernels of rows and elements in Triton's spelling: values against NumPy in float64."""

import math

import ml_dtypes
import numpy as np
import pytest

import gpusim as gs
import gpusim.triton as triton
from gpusim.interp.bits import philox, uniform
from tests.unit.triton_kernels import rows

RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def test_vectors_are_added() -> None:
    x, y = normal(5000), normal(5000)
    out = np.zeros_like(x)
    rows.vector_add[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](x, y, out, 5000, BLOCK=1024)
    assert (out == x + y).all()


@pytest.mark.parametrize(("count", "columns", "programs"), [(37, 781, 8), (16, 1024, 16), (5, 3, 2)])
def test_softmax_of_many_rows_in_each_program(count: int, columns: int, programs: int) -> None:
    x = normal(count, columns)
    y = np.zeros_like(x)
    block = triton.next_power_of_2(columns)
    rows.persistent_softmax[(programs, 1, 1)](y, x, columns, columns, count, columns, block, 2, num_warps=8)
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-7)


def test_dropout_draws_the_numbers_of_its_seed() -> None:
    x = normal(3000)
    out, again, other = (np.zeros_like(x) for _ in range(3))
    for seed, into in ((123, out), (123, again), (512, other)):
        rows.seeded_dropout[(3,)](x, into, 3000, 0.4, seed, BLOCK=1024)
    assert (out == again).all() and (out != other).any()
    keep = uniform(philox(np.uint64(123) + np.zeros(3000, np.uint64), np.arange(3000, dtype=np.uint64))[0]) > np.float32(0.4)
    np.testing.assert_allclose(out, np.where(keep, x / 0.6, 0), rtol=1e-5)
    assert 0.55 < keep.mean() < 0.65


def test_philox_gives_the_published_numbers() -> None:
    """Known answers of Philox 4x32-10: counter and key of zeros, and of ones."""
    zero = philox(np.zeros(1, np.uint64), np.zeros(1, np.uint64))
    assert [int(w[0]) for w in zero] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = x.astype(np.float64)
    mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 1e-5)
    return (x - mean[:, None]) * rstd[:, None] * w + b, mean, rstd


def test_layer_norm_and_its_gradient_under_locks() -> None:
    count, columns, groups = 40, 200, 8
    x, dy, w, b = normal(count, columns), normal(count, columns), normal(columns), normal(columns)
    y, dx = np.zeros_like(x), np.zeros_like(x)
    mean, rstd = np.zeros(count, np.float32), np.zeros(count, np.float32)
    rows.norm_forward[(count,)](x, y, w, b, mean, rstd, columns, columns, 1e-5, BLOCK=128, num_warps=8)
    want, m, r = layer_norm(x, w, b)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(mean, m, rtol=1e-4, atol=1e-6)
    parts = [np.zeros((groups, columns), np.float32) for _ in range(2)]
    locks = np.zeros(2 * groups, np.int32)
    rows.norm_backward[(count,)](dx, dy, *parts, x, w, mean, rstd, locks, columns, columns, GROUPS=groups, BLOCK=256, num_warps=8)
    assert (locks[:groups] == 0).all() and (locks[groups:] == 1).all()
    sums = [np.zeros(columns, np.float32) for _ in range(2)]
    for part, into in zip(parts, sums, strict=True):
        rows.norm_sums[(triton.cdiv(columns, 128),)](part, into, groups, columns, ROWS=4, BLOCK=128)
    normal_x = (x.astype(np.float64) - m[:, None]) * r[:, None]
    np.testing.assert_allclose(sums[0], (dy * normal_x).sum(axis=0), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(sums[1], dy.astype(np.float64).sum(axis=0), rtol=1e-3, atol=1e-4)
    grown = dy * w.astype(np.float64)
    wanted = (grown - (normal_x * (normal_x * grown).mean(axis=1, keepdims=True) + grown.mean(axis=1, keepdims=True))) * r[:, None]
    np.testing.assert_allclose(dx, wanted, rtol=1e-3, atol=1e-4)


def test_functions_of_the_library_of_the_device() -> None:
    x = (RNG.random(500) * 2 - 1).astype(np.float32)
    y = np.zeros_like(x)
    rows.arc_sine[(1,)](x, y, 500, BLOCK=512)
    np.testing.assert_allclose(y, [math.asin(v) for v in x], rtol=1e-5)


def test_rows_of_an_array_with_gaps_and_bfloat16() -> None:
    wide = normal(20, 300, dtype=ml_dtypes.bfloat16)
    x, y = wide[:, :200], np.zeros((20, 256), ml_dtypes.bfloat16)[:, :200]
    rows.persistent_softmax[(20,)](y, x, 300, 256, 20, 200, 256, 1)
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y.astype(np.float64), e / e.sum(axis=1, keepdims=True), rtol=2**-7)


def test_an_option_of_the_launch_may_be_a_parameter_too() -> None:
    """num_stages reaches both the kernel and its pipeline, as where a kernel hands it to tl.range."""
    x = normal(16, 64)
    y = np.zeros_like(x)
    rows.staged_copy[(4,)](x, y, 16, BLOCK=64, num_stages=2)
    assert (x == y).all() and rows.staged_copy.report.run.params["num_stages"] == 2


def test_drawing_numbers_takes_time() -> None:
    """Ten rounds of Philox are at least 40 products and 40 XORs for each element: more than DRAM needs for it."""
    x = np.zeros(1 << 22, np.float32)
    grid = (len(x) // 1024,)
    drawn = gs.run(rows.seeded_dropout, grid=grid, args=(x, x.copy(), len(x), 0.5, 123, 1024), values=False)
    added = gs.run(rows.vector_add, grid=grid, args=(x, x.copy(), x.copy(), len(x), 1024), values=False)
    assert drawn.run.counters["instructions"] > 4 * added.run.counters["instructions"]
    assert drawn.traffic["dram_read_bytes"] < added.traffic["dram_read_bytes"]


def test_views_of_one_array_are_written_side_by_side() -> None:
    """In a 16-bit type values are computed in a copy; what lies between the elements of a view belongs to others."""
    both = np.zeros((8, 2, 64), ml_dtypes.bfloat16)
    left, right = both[:, 0], both[:, 1]
    rows.ones_and_twos[(8,)](left, right, 128, BLOCK=64)
    assert (left == 1).all() and (right == 2).all()
