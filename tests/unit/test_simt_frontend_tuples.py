"""Tuples, named tuples, vectors, enumerations, slices as targets, and functions that are operators."""

from __future__ import annotations

import enum
import math
import operator
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

from gpusim import GpusimError, cuda, float32, float64
from gpusim.cuda.types import Tuple, UniTuple

Point = namedtuple("Point", "x y")
ORIGIN = Point(3, 4)


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


@cuda.jit(device=True)
def length(p):
    return math.sqrt(p.x * p.x + p.y * p.y)


@cuda.jit
def takes_tuples(out, pair, point, nested):
    a, b = pair
    out[0] = a[1] + b[0]
    out[1] = length(point)
    out[2] = nested[0] + nested[1].y[1]
    out[3] = len(pair) + ORIGIN.x + ORIGIN[1]
    pair[1][0] = -1


def test_tuples_as_arguments() -> None:
    out, x, y = np.zeros(4), np.arange(3.0), np.full(2, 7, np.int32)
    takes_tuples[1, 1](out, (x, y), Point(np.float32(3), 4), (1, Point(x, (5, 6))))
    assert list(out) == [8, 5, 7, 9] and y[0] == -1


def test_none_and_complex_arguments() -> None:
    @cuda.jit
    def kernel(out, bias, z):
        out[0] = z.real if bias is None else z.imag + bias

    out = np.zeros(1)
    for bias, expected in ((None, 1), (5, 7), (None, 1)):
        kernel[1, 1](out, bias, 1 + 2j)
        assert out[0] == expected


@cuda.jit
def takes_apart(out, values):
    out[0] = sum(values) + any((values[0] > 5, values[1] > 5)) * 100 + all((True, values[0] > 0)) * 1000
    out[1] = length(Point(*values))


def test_functions_of_tuples() -> None:
    out = np.zeros(2)
    takes_apart[1, 1](out, (6, 8))
    assert list(out) == [1114, 10]


@cuda.jit
def one_of(out, arrays):
    i = cuda.grid(1)
    ...
    out[i] = arrays[i % 2][i]
    for a in arrays:
        if a[i] > 2:
            break
        out[i] += 10


def test_arrays_of_a_tuple_by_a_number_of_the_thread() -> None:
    out = np.zeros(4)
    one_of[1, 4](out, (np.arange(4.0), np.ones(4)))
    assert list(out) == [20, 21, 22, 1]


def test_tuples_of_other_shapes_are_other_programs() -> None:
    @cuda.jit
    def total(out, items):
        out[0] = 0
        for item in items:
            out[0] += item

    out = np.zeros(1)
    for items, expected in (((1, 2), 3), ((1.5, 2, 3), 6.5), ((4, 5), 9)):
        total[1, 1](out, items)
        assert out[0] == expected


def test_signatures_with_tuples() -> None:
    @cuda.jit([(float64[:], UniTuple(float32, 2)), (float64[:], Tuple((float64[:], float64)))])
    def second(out, p):
        out[0] = p[1] * 2

    out = np.zeros(1)
    second[1, 1](out, (1, 2))
    assert out[0] == 4
    second[1, 1](out, (out, 3))
    assert out[0] == 6
    with pytest.raises(GpusimError, match="no signature"):
        second[1, 1](out, (1, 2, 3))


@cuda.jit
def makes_tuples(out, x):
    i = cuda.grid(1)
    p = Point(x[i], 1.0)
    if i % 2 == 0:
        p = Point(x[i], 2.0)
    v = cuda.float4(cuda.float32x2(x[i], 3), p.y, cuda.float1(4))
    out[i] = p.x + 10 * p.y + 100 * v.w + 1000 * v.y + v.x * v.z


def test_named_tuples_and_vectors_made_in_a_kernel() -> None:
    x, out = np.arange(4.0), np.zeros(4)
    makes_tuples[1, 4](out, x)
    second = np.array([2, 1, 2, 1])
    assert np.array_equal(out, x + 10 * second + 3400 + x * second)


@pytest.mark.parametrize("body", ["cuda.float32x3(1, 2)", "cuda.float2(1, y=2)", "Point(1)"])
def test_vectors_of_wrong_length(body: str, tmp_path: Any) -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    path = tmp_path / "mine.py"
    path.write_text(f"from collections import namedtuple\nfrom gpusim import cuda\nPoint = namedtuple('Point', 'x y')\ndef k(x):\n    x[0] = {body}.x\n")
    spec = spec_from_file_location("mine", path)
    assert spec is not None and spec.loader is not None
    mine = module_from_spec(spec)
    spec.loader.exec_module(mine)
    with pytest.raises(GpusimError, match="mine.py:5"):
        cuda.jit(mine.k)[1, 1](np.zeros(1))


@cuda.jit
def enumerations(out, colour):
    out[0] = colour == Colour.GREEN
    out[1] = Colour["RED"] is Colour.RED
    out[2] = Colour.RED is not colour


def test_enumerations() -> None:
    out = np.zeros(3)
    enumerations[1, 1](out, Colour.GREEN)
    assert list(out) == [1, 1, 1]


@cuda.jit(device=True)
def first_above(values, limit):
    for name, value in ((10, values[0]), (20.5, values[1]), (30, values[2])):
        if value > limit:
            return name
    return -1


@cuda.jit
def searches(out, values):
    i = cuda.grid(1)
    out[i] = first_above((values[0], values[1], values[2]), i)
    for v in (5, 1, 7):
        if v == 1:
            continue
        if v > 5 and i > 1:
            break
        out[i] += 100 * v
    else:
        out[i] += 10000


def test_break_continue_and_return_in_loops_over_tuples() -> None:
    out = np.zeros(4)
    searches[1, 4](out, np.array([1.0, 2.0, 2.5]))
    assert list(out) == [10 + 1200 + 10000, 20.5 + 1200 + 10000, 30 + 500, -1 + 500]


@cuda.jit
def functions(out, x, y, digits):
    out[0] = operator.add(x, y) + operator.floordiv(7, 2) + operator.lt(x, y)
    out[1] = round(x, digits)
    out[2] = round(x * 100, -1)
    out[3] = math.remainder(x, y)
    out[4], out[5] = math.modf(x)


@pytest.mark.parametrize(("x", "y", "digits"), [(2.675, 0.5, 1), (-7.5, 5.0, 0), (1234.5678, 3.0, -2), (5.5, 1.0, 25)])
def test_functions_composed_of_others(x: float, y: float, digits: int) -> None:
    out = np.zeros(6)
    functions[1, 1](out, x, y, digits)
    expected = [x + y + 3 + (x < y), round(x, digits), round(x * 100, -1), math.remainder(x, y), *math.modf(x)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_infinities_and_nan() -> None:
    @cuda.jit
    def edge(out, x):
        out[0], out[1] = math.modf(x)
        out[2] = round(x, 3)
        out[3] = math.remainder(x, 2.0)
        out[4] = math.remainder(2.0, x)

    out = np.zeros(5)
    edge[1, 1](out, -math.inf)
    np.testing.assert_array_equal(out, [-0.0, -math.inf, -math.inf, math.nan, 2.0])


def test_raise_is_an_error_of_the_launch() -> None:
    @cuda.jit
    def checked(x):
        i = cuda.grid(1)
        if x[i] < 0:
            raise ValueError("negative")
        x[i] = math.sqrt(x[i])

    x = np.array([4.0, 9.0])
    checked[1, 2](x)
    assert list(x) == [2, 3]
    with pytest.raises(GpusimError, match="negative"):
        checked[1, 2](-x)


def test_column_major_signature() -> None:
    @cuda.jit("void(float32[::1, :], float32[:, :])")
    def copied(out, x):
        i, j = cuda.grid(2)
        out[i, j] = x[i, j]

    x = np.random.default_rng(0).random((4, 8), np.float32)
    out = np.zeros_like(x, order="F")
    copied[1, (4, 8)](out, x)
    assert np.array_equal(out, x)
    with pytest.raises(GpusimError, match="no signature"):
        copied[1, (4, 8)](np.zeros_like(x), x)


def test_names_for_a_star() -> None:
    names: dict[str, Any] = {}
    exec("from gpusim.cuda import *", names)
    assert names["jit"] is cuda.jit and names["float4"] == cuda.float32x4 and "syncthreads" in names
    assert "range" not in names and "int" not in names
