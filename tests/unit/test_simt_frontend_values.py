"""The front end: programs, as they leave it, compute what Python computes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import float64, uint32, uint64
from gpusim.frontend.translate import translate
from gpusim.interp.simt.execute import execute
from gpusim.ir.simt import nodes as n
from gpusim.lower.simt.cfg import build


def run(function: Any, arrays: list[Any], threads: int = 32) -> None:
    """Execute the program as it leaves the front end, in one block."""
    args = tuple(n.Arg("", str(np.asarray(a).dtype), np.ndim(a)) for a in arrays)
    execute(build(translate(function, args)), n.Geometry((1, 1, 1), (threads, 1, 1)), arrays)


def in_python(function: Any, arrays: list[Any], threads: int = 32) -> None:
    """The same with Python itself, one thread after the other."""
    for thread in range(threads):
        raw: FunctionType = function.py_func
        world = {**raw.__globals__, "cuda": type("fake", (), {"grid": staticmethod(lambda _, t=thread: t)})}
        world["cuda"].local = type("local", (), {"array": staticmethod(lambda shape, _: np.zeros(shape))})
        device = {k: v.py_func for k, v in world.items() if getattr(v, "py_func", None) and v.device}
        world |= {k: FunctionType(f.__code__, world, argdefs=f.__defaults__) for k, f in device.items()}
        FunctionType(raw.__code__, world, closure=raw.__closure__)(*arrays)


def same(function: Any, *arrays: Any, threads: int = 32) -> None:
    mine, theirs = [np.copy(a) for a in arrays], [np.copy(a) for a in arrays]
    run(function, mine, threads)
    in_python(function, theirs, threads)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


# --- control flow against Python


@cuda.jit
def wandering(x, out):
    i = cuda.grid(1)
    s = 0
    for k in range(x.size):
        if x[k] < 0:
            continue
        if x[k] > i:
            break
        s += x[k]
    else:
        s = -s
    w = i
    while w > 1:
        if w % 5 == 0:
            break
        w = w - 1 if w % 2 else w >> 1
    else:
        w = 100
    for q in (1, 2, 3):
        w += q
    for j, q in enumerate((10, 20)):
        w += j * q
    for v in x:
        w += v
    for a, b in zip((1, 2), (3, 4)):  # noqa: B905
        w += a * b
    out[i] = s + w + (i or 4) + (0 < i <= 5) + (i in (3, 4)) + divmod(i, 3)[1] + i % -3 + (-i) // 4


@cuda.jit(device=True)
def sign(x):
    if x > 0:
        if x > 10:
            return 2
    elif x < 0:
        return -1.5
    y = x * 2
    if y == 0:
        return 0
    return 1


@cuda.jit(device=True)
def position(a, v, n=4):
    for i in range(n):
        for j in range(n):
            if a[i * n + j] == v:
                return i, j
        else:
            continue
    return -1, sign(v)


@cuda.jit
def calls(x, out):
    i = cuda.grid(1)
    r, c = position(x, i)
    out[i] = r * 10 + c + sign(x[i % 16] - 3) + sign(x=-i)


@cuda.jit
def carried(x, out):
    i = cuda.grid(1)
    for k in range(4):
        if k > 0:
            out[i] += prev * k  # noqa: F821
        prev = x[i % 16] + k  # noqa: F841
    for k in range(3):
        k = k * 2
        out[i] += k
    a, b = 1, i
    for _ in range(5):
        a, b = b, a + b
    n = 3
    for m in range(n):
        n = m
    t = (a, b)
    a = 0
    out[i] += t[0] + t[i % 2] + n + a


@pytest.mark.parametrize("kernel", [wandering, calls, carried])
def test_control_flow_equals_pythons(kernel: Any) -> None:
    same(kernel, np.array([3, -1, 4, 2, 20, 3, 9, 1, 0, 7, 5, 13, 8, 6, 2, 11]), np.zeros(32))


@cuda.jit
def early(out):
    i = cuda.grid(1)
    if i > 5:
        return
    v = i * 2
    while True:
        v += 1
        if v > 20:
            out[i] = v
            return


def test_returns_end_a_thread() -> None:
    same(early, np.zeros(32))


def make_kernel(scale: float, size: int) -> Any:
    @cuda.jit
    def kernel(out):
        tile = cuda.local.array(size, float64)
        for k in range(size):
            tile[k] = k * scale
        out[cuda.grid(1)] = tile[size - 1] + len(tile)

    return kernel


def test_closures_are_constants() -> None:
    out = np.zeros(32)
    run(make_kernel(2.5, 4), [out])
    assert set(out) == {2.5 * 3 + 4}


@dataclass(frozen=True)
class Config:
    rows: int = 4
    factor: float = 0.5


CONFIG = Config()
WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@cuda.jit
def constants(out):
    i = cuda.grid(1)
    w = cuda.const.array_like(WEIGHTS)
    out[i] = w[1, i % 3] + WEIGHTS[0, 2] + CONFIG.rows * CONFIG.factor + np.float32(1) + math.pi


def test_constants_of_the_module() -> None:
    out = np.zeros(32)
    run(constants, [out])
    np.testing.assert_allclose(out, [WEIGHTS[1, i % 3] + 3 + 2 + 1 + math.pi for i in range(32)], rtol=1e-6)


@cuda.jit
def swapped(x, out):
    a = cuda.local.array(4, float64)
    b = cuda.local.array(4, float64)
    i = cuda.grid(1)
    for k in range(4):
        a[k] = x[k] + i
    src, dst = a, b
    for _ in range(3):
        for k in range(len(src)):
            dst[k] = src[(k + 1) % 4] * 2
            dst[k] += 1
        src, dst = dst, src
    rows = x if i % 2 else out
    for k in range(4):
        out[i] += src[k] + rows[k % 1] * rows.size
    cuda.atomic.add(rows, i % 1 + 5, 1)


def test_a_variable_may_be_one_of_several_arrays() -> None:
    x, out = np.arange(8.0), np.zeros(32)
    run(swapped, [x, out], threads=4)
    values = [np.roll(np.arange(4.0) + i, 0) for i in range(4)]
    for _ in range(3):
        values = [np.roll(v, -1) * 2 + 1 for v in values]
    assert x[5] == 5 + 2 and out[5] == 2
    assert [out[1], out[3]] == [v.sum() for v in (values[1], values[3])]


@cuda.jit(device=True)
def total(row):
    s = 0
    for v in row:
        s += v
    for k, (a, b) in enumerate(zip(row, row[1:])):  # noqa: B905
        s += k * a * b
    return s + len(row)


@cuda.jit
def views(x, out):
    i = cuda.grid(1)
    plane = cuda.local.array((3, 4), float64)
    for r in range(3):
        for c in range(4):
            plane[r, c] = x[r * 4 + c] + i
    row, column, part = plane[1, :], plane[:, -1], x[i + 2 : 10]
    out[i] = total(row) + 100 * total(column) + row[-1] + part[0] + len(part) + x[3:][i] + len(x[-4:])
    m, e = math.frexp(x[i] + 0.3)
    out[i] += m * 1000 + e


def test_views_and_walks() -> None:
    same(views, np.arange(16.0), np.zeros(6), threads=6)


# --- device functions


ROTATION = 41


@cuda.jit(device=True)
def rotate(x, k):
    x = uint64(x)
    return (x << uint64(k)) | (x >> uint64(64 - k))


@cuda.jit(device=True)
def next_state(states, i):
    s0 = states[2 * i]
    s1 = states[2 * i + 1] ^ s0
    states[2 * i] = rotate(s0, 55) ^ s1 ^ (s1 << uint64(14))
    states[2 * i + 1] = rotate(s1, uint32(36))
    return s0 + s1 + uint64(ROTATION)


@cuda.jit
def random_bits(states, out):
    i = cuda.grid(1)
    out[i] = next_state(states, i) >> uint64(11)


def test_device_functions_with_unsigned_arithmetic() -> None:
    states = np.arange(64, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    out, old = np.zeros(32, np.uint64), states.copy()
    run(random_bits, [states, out])
    s0, s1 = old[0::2], old[1::2] ^ old[0::2]
    np.testing.assert_array_equal(out, (s0 + s1 + np.uint64(41)) >> np.uint64(11))
    assert not np.array_equal(states, old)
