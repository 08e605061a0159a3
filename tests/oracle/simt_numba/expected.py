"""What NumPy says the cases give. Each function draws the same random numbers as its case."""

import numpy as np

N = 1000


def vector_add(rng):
    a, b = rng.random((2, N))
    return {"c": a + b}


def saxpy(rng):
    x, y = rng.random((2, N)).astype(np.float32)
    return {"y": np.float32(2.5) * x + y}


def increment_2d(rng):
    return {"a": rng.integers(-50, 50, (19, 33)).astype(np.int32) + 7}


def stride_loop(rng):
    return {"out": rng.integers(-99, 99, N) ** 2 - 1}


def coordinates(rng):
    x, y, z = np.indices((6, 6, 4))
    block = x // 3 + 2 * (y // 2 + 3 * (z // 2))
    return {"out": 1000 * block + x % 3 + 3 * (y % 2 + 2 * (z % 2))}


def divisors(rng):
    return {"out": np.array([sum(n % d == 0 for d in range(1, n + 1)) for n in range(1, 151)])}


def collatz(rng):
    def steps(n):
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    return {"steps": np.array([steps(int(n)) for n in rng.integers(1, 5000, 200)])}


def mandelbrot(rng):
    c = (-2.0 + 0.1 * np.arange(30))[None, :] + 1j * (-1.0 + 0.1 * np.arange(20))[:, None]
    z, out = np.zeros_like(c), np.full(c.shape, 40, np.int32)
    for k in range(40):
        z = np.where(out == 40, z * z + c, z)
        out = np.where((out == 40) & (np.abs(z) > 2), k, out)
    return {"out": out}


def negative_index(rng):
    return {"out": rng.random(50)[::-1]}


def integers(rng):
    a, b = rng.integers(-1000, 1000, 100), rng.integers(-9, 9, 100)
    with np.errstate(divide="ignore"):
        rows = [a // b, a % b, a << 3, a >> 2, (a ^ b) & ~7, a * a, np.minimum(a, b) - np.maximum(a, b), (a > b) + np.where(a == b, 1, -1)]
    return {"out": np.where(b[:, None] == 0, 0, np.stack(rows, 1))}


def functions(rng):
    x = rng.normal(0, 10, 100)
    rows = [np.sqrt(np.abs(x)), np.floor(x), np.ceil(x), np.abs(x), x / 3, np.copysign(1.5, x), np.maximum(x, 0.25), np.fmod(x, 0.75)]
    return {"out": np.stack(rows, 1)}


def bits(rng):
    words = [f"{x:032b}" for x in rng.integers(1, 2**32, 100)]
    rows = [[w.count("1"), w.index("1"), 32 - w.rindex("1"), int(w[::-1], 2)] for w in words]
    return {"out": np.array(rows, np.uint32)}


def closures(rng):
    return {"x": np.full(40, 3, np.int32), "y": np.full(40, -8, np.int32)}


def constants(rng):
    return {"out": 2 * (40 + np.arange(50) % 16)}


def local_sort(rng):
    return {"out": np.sort(rng.integers(0, 1000, (32, 8)), axis=1).ravel()}


def device_arrays(rng):
    host = rng.random((6, 40)).astype(np.float32)
    return {"c": host[2] + host[3] + host[5], "first": host[:2]}


def int_types(rng):
    x = rng.integers(0, 2**32, 100, dtype=np.uint32).astype(np.uint64)
    h = ((x ^ (x >> np.uint64(16))) * np.uint64(0x45D9F3B)) & np.uint64(0xFFFFFFFF)
    return {"out": np.stack([h, h % np.uint64(1000), h // np.uint64(7)], 1)}


def matmul(rng):
    return {"c": rng.integers(-9, 9, (13, 21)) @ rng.integers(-9, 9, (21, 9))}


def block_sum(rng):
    return {"out": rng.integers(-99, 99, 300).sum(keepdims=True)}


def dynamic_reverse(rng):
    x = rng.random(128, np.float32)
    return {"out": (x.reshape(2, 64)[:, ::-1] + np.arange(63, -1, -1)).ravel().astype(np.float32)}


def two_on_a_line(rng):
    t = np.arange(32)
    return {"out": 31 - t + 100 * t}


def histogram(rng):
    return {"counts": np.bincount(rng.integers(0, 16, 500), minlength=16)}


def atomics(rng):
    x = rng.integers(1, 2**20, 100)
    rest = [np.bitwise_and.reduce(x), np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x)]
    return {"out": np.array([x.max(), x.min(), x.sum(), -x.sum(), *rest])}


def atomic_table(rng):
    x, y = rng.integers(0, 5, (2, 200))
    return {"table": np.bincount(5 * x + y, minlength=25).reshape(5, 5)}


def claim(rng):
    return {"owner": np.arange(8), "winners": np.ones(8)}


def votes(rng):
    x = rng.integers(0, 100, 4 * 32).reshape(4, 32)
    return {"out": np.stack([(x > 50).sum(1), np.ones(4), (x > 98).any(1)], 1)}


def heat(rng):
    a = np.zeros(120)
    a[0], a[60] = 100.0, 50.0
    for _ in range(6):
        a[1:-1] = a[1:-1] + 0.25 * (a[:-2] - 2.0 * a[1:-1] + a[2:])
    return {"rod": a}


def life(rng):
    cells = rng.integers(0, 2, (15, 18))
    for _ in range(3):
        around = sum(np.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - cells
        cells = ((around == 3) | ((cells == 1) & (around == 2))).astype(int)
    return {"cells": cells}


def sessions(rng):
    user = np.sort(rng.integers(0, 6, 100))
    time = np.concatenate([np.sort(rng.integers(0, 500, n)) for n in np.bincount(user, minlength=6)])
    begins = np.r_[True, (np.diff(user) != 0) | (np.diff(time) > 20)]
    return {"session": np.maximum.accumulate(np.where(begins, np.arange(100), 0))}


def sort(rng):
    return {"x": np.sort(rng.permutation(50))}


def primes(rng):
    return {"out": np.array([n > 1 and all(n % d for d in range(2, n)) for n in range(200)])}


def reduce(rng):
    x = rng.integers(-1000, 1000, 700)
    return {"sum": np.array([x.sum(), x.sum() + 5, x[0]])}


#: results that NumPy gives in another order of additions: compared within 1e-6
def fast_matmul(rng):
    return {"c": rng.random((17, 23), np.float32) @ rng.random((23, 10), np.float32)}


def scan(rng):
    return {"out": np.cumsum(rng.random((2, 64)), axis=1).ravel()}


def nbody(rng):
    p = rng.random((40, 2))
    d = p[None] - p[:, None]
    return {"force": (d / np.sqrt((d**2).sum(2, keepdims=True) + 0.01) ** 3).sum(1)}


CLOSE = ("fast_matmul", "scan", "nbody", "mandelbrot")
