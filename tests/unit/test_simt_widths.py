"""64-bit operations keep their bits when a launch proves that the values around them fit 32."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gpusim import cuda, float64, int32, int64, uint32, uint64


@cuda.jit
def reinterpret(out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = cuda.bitcast(int64(i) + 1023, float64)
        out[n + i] = cuda.bitcast((int64(i) + 1023) << 52, float64)


def test_bitcast_reads_all_64_bits_of_a_small_integer() -> None:
    out = np.zeros(8)
    reinterpret[1, 32](out, 4)
    bits = np.arange(4) + 1023
    assert np.array_equal(out, np.concatenate([bits.view(np.float64), (bits << 52).view(np.float64)]))


@cuda.jit
def count_bits(out, n):
    i = cuda.grid(1)
    if i < n:
        x = int64(i)
        out[i, 0] = cuda.clz(x)
        out[i, 1] = cuda.ffs(x)
        out[i, 2] = cuda.popc(x - 1)
        out[i, 3] = int64(cuda.brev(uint64(x)) >> uint64(60))
        out[i, 4] = cuda.clz(int32(x))


def test_bit_counts_of_64_bits() -> None:
    out = np.zeros((9, 5), np.int64)
    count_bits[1, 32](out, 9)
    for i in range(9):
        reversed_ = int(f"{i:064b}"[::-1], 2) >> 60
        assert list(out[i]) == [64 - i.bit_length(), (i & -i).bit_length(), ((i - 1) % 2**64).bit_count(), reversed_, 32 - i.bit_length()]


@cuda.jit
def shifted(out, n):
    i = cuda.grid(1)
    if i < n:
        x = int64(i) - 3
        out[i, 0] = x >> i
        out[i, 1] = x >> 40
        out[i, 2] = int64(i) << 40
        out[i, 3] = (int64(i) << 40) >> 38
        out[i, 4] = int64(uint32(x)) >> 4
        out[i, 5] = int64(uint64(x) >> uint64(32))


def test_shifts() -> None:
    out = np.zeros((7, 6), np.int64)
    shifted[1, 32](out, 7)
    for i in range(7):
        x = i - 3
        assert list(out[i]) == [x >> i, -1 if x < 0 else 0, i << 40, i << 2, (x % 2**32) >> 4, (x % 2**64) >> 32]


@cuda.jit
def divided(out, n, d):
    i = cuda.grid(1)
    if i < n:
        x = int64(i) - 5
        out[i, 0] = x // d
        out[i, 1] = x % d
        out[i, 2] = x // -d
        out[i, 3] = int64(uint64(x) // uint64(d))
        out[i, 4] = int64(uint64(x) % uint64(d))
        out[i, 5] = cuda.mulhi(uint64(x), uint64(d))
        out[i, 6] = cuda.mulhi(x, int64(d))


@pytest.mark.parametrize("d", [3, 8])
def test_division_by_sign(d: int) -> None:
    out = np.zeros((11, 7), np.int64)
    divided[1, 32](out, 11, d)
    for i in range(11):
        x = i - 5
        u = x % 2**64
        quotient = u // d - (2**64 if u // d >= 2**63 else 0)
        assert list(out[i]) == [x // d, x % d, x // -d, quotient, u % d, u * d >> 64, x * d >> 64]


@cuda.jit
def together(out, total, n):
    i = cuda.grid(1)
    x = (int64(i) << 33) + i
    out[i] = cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)
    out[n + i] = cuda.shfl_sync(0xFFFFFFFF, int64(i), 5)
    cuda.atomic.add(total, 0, x)
    cuda.atomic.max(total, 1, int64(i) - 64)
    cuda.atomic.add(total, 2, uint32(i))


def test_shuffles_and_atomics_of_64_bits() -> None:
    out, total = np.zeros(64, np.int64), np.array([0, -(2**40), 0])
    together[1, 32](out, total, 32)
    x = (np.arange(32) << 33) + np.arange(32)
    assert np.array_equal(out, np.concatenate([x[np.arange(32) ^ 1], np.full(32, 5)]))
    assert list(total) == [x.sum(), -33, 496]


@cuda.jit
def taken_apart(out, x):
    i = cuda.grid(1)
    m, e = math.frexp(x[i])
    out[i, 0] = m
    out[i, 1] = e


def test_frexp_of_float64() -> None:
    x = np.array([3.1415, -0.0, 1e300, -5e-324, 0.5, math.inf, 12345678.9, 1.0])
    out = np.zeros((8, 2))
    taken_apart[1, 8](out, x)
    assert np.array_equal(out, np.array([math.frexp(v) for v in x]))


@cuda.jit
def negated(out, a, b):
    i = cuda.grid(1)
    out[i, 0] = -a[i]
    out[i, 1] = ~a[i]
    out[i, 2] = -b[i]
    out[i, 3] = ~b[i]
    out[i, 4] = -(b[i] > 0)


def test_negation_in_the_width_of_the_operand() -> None:
    """As Numba: -uint8(5) is 251, in a uint64; -int8(-128) is -128."""
    a, b = np.array([5, 0, 255], np.uint8), np.array([-128, 127, 0], np.int8)
    out = np.zeros((3, 5), np.int64)
    negated[1, 3](out, a, b)
    assert np.array_equal(out, np.stack([-a, ~a, -b, ~b, -(b > 0).astype(int)], 1).astype(np.int64))
