"""Views: slices with steps, one of several, of different lengths."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import GpusimError, cuda, float64


@cuda.jit
def sliced(a, m, out, rows):
    tile = cuda.shared.array((3, 4), float64)
    tile[:] = 1.0
    tile[1, :] = a[1:8:2]
    tile[1:, 3] = a[-1]
    rows[:, 1:] = tile[:, 1:]
    rows[...] = rows[...]
    back = a[6:1:-2]
    out[0] = back[2] + 10 * len(back)
    out[1] = m[::2, ::-1][1, 0]
    out[2] = a[5:2].shape[0] + a[::-1][0]
    a[::3] = back


def test_slices_with_steps_and_as_targets() -> None:
    a, m, out, rows = np.arange(9.0), np.arange(20.0).reshape(4, 5), np.zeros(3), np.zeros((3, 4))
    expected = np.ones((3, 4))
    expected[1] = a[1:8:2]
    expected[1:, 3] = a[-1]
    expected[:, 0] = 0
    wanted = [a[6:1:-2][2] + 30, m[::2, ::-1][1, 0], a[8]]
    sliced[1, 1](a, m, out, rows)
    assert np.array_equal(rows, expected) and list(out) == wanted
    assert np.array_equal(a, [6, 1, 2, 4, 4, 5, 2, 7, 8])


@cuda.jit
def swapped_views(x, out, n):
    a, b = x[:3], x[3:]
    for _ in range(n):
        for i in range(min(len(a), len(b))):
            b[i] = a[i] + 1
        a, b = b, a
    w = x[1:]
    if n > 1:
        w = x[2:]
    out[0], out[1], out[2], out[3], out[4] = len(a), len(b), a[0], w[0], len(w)
    while len(w) > 1:
        w = w[1:]
    out[5] = w[0]


@pytest.mark.parametrize("n", [0, 1, 4])
def test_a_variable_may_be_one_of_several_views(n: int) -> None:
    x, out = np.arange(8.0), np.zeros(6)
    swapped_views[1, 1](x, out, n)
    y = np.arange(8.0)
    a, b = y[:3], y[3:]
    for _ in range(n):
        b[:3] = a[:3] + 1
        a, b = b, a
    w = y[2:] if n > 1 else y[1:]
    assert np.array_equal(x, y) and list(out) == [len(a), len(b), a[0], w[0], len(w), y[-1]]


def test_slices_of_different_lengths_are_found() -> None:
    @cuda.jit
    def shorter(a, b):
        a[:] = b[1:]

    with pytest.raises(GpusimError, match="same length"):
        shorter[1, 1](np.zeros(4), np.zeros(4))
