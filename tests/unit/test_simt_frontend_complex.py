"""Complex numbers of a thread."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import GpusimError, cuda

UNIT = 1 + 2j


@cuda.jit(device=True)
def escape(c, most):
    z = 0
    for i in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return most


@cuda.jit
def mandelbrot(image, left, top, step, most):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        image[y, x] = escape(complex(left + x * step, top + y * step), most)


def test_mandelbrot_in_complex_numbers() -> None:
    image = np.zeros((12, 20), np.uint8)
    mandelbrot[(3, 2), (8, 8)](image, -2.0, -1.0, 0.15, 30)
    assert all(image[y, x] == escape.py_func(complex(-2 + x * 0.15, -1 + y * 0.15), 30) for y, x in np.ndindex(12, 20))


@cuda.jit
def arithmetic(out, x):
    z = UNIT * 2 - 1j
    z += x
    z /= 2j
    w = -(z**3) if x > 0 else 2
    out[0], out[1], out[2] = z.real, z.imag, abs(z)
    out[3], out[4] = w.real, w.imag
    out[5] = z == complex(1.5, -1.5)
    out[6] = UNIT != 1


@pytest.mark.parametrize("x", [1, -1])
def test_arithmetic_of_complex_numbers(x: int) -> None:
    out = np.zeros(7)
    arithmetic[1, 1](out, x)
    z = (UNIT * 2 - 1j + x) / 2j
    w = -(z**3) if x > 0 else 2 + 0j
    np.testing.assert_allclose(out, [z.real, z.imag, abs(z), w.real, w.imag, z == 1.5 - 1.5j, 1], rtol=1e-15)


def test_what_complex_numbers_do_not_have() -> None:
    @cuda.jit
    def compared(x):
        x[0] = complex(x[0], 1) < 1

    @cuda.jit
    def stored(x):
        x[0] = 1j

    @cuda.jit
    def raised(x):
        x[0] = (1j ** x[0]).real

    for kernel, words in ((compared, "complex number"), (stored, "complex number"), (raised, "small whole constant")):
        with pytest.raises(GpusimError, match=words):
            kernel[1, 1](np.zeros(1))
