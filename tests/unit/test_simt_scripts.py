"""Scripts as people write them for Numba, one thread's code each, against NumPy: images, grids, and numbers."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from gpusim import cuda, float32, int32, uint8
from gpusim.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

RNG = np.random.default_rng(7)
RADIUS = 2
TAPS = np.array([1, 4, 6, 4, 1], np.float32) / 16
View = namedtuple("View", "left top step")


@cuda.jit
def blur(image, out):
    x, y = cuda.grid(2)
    h, w, channels = image.shape
    if x >= w or y >= h:
        return
    for c in range(channels):
        total, count = 0, 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                yy, xx = y + dy, x + dx
                if 0 <= yy < h and 0 <= xx < w:
                    total += image[yy, xx, c]
                    count += 1
        out[y, x, c] = total // count


def test_blur_of_a_colour_image() -> None:
    image = RNG.integers(0, 256, (13, 21, 3), dtype=np.uint8)
    out = np.zeros_like(image)
    blur[(2, 2), (16, 8)](image, out)
    sums, counts = np.zeros(image.shape, int), np.zeros(image.shape, int)
    padded, ones = np.pad(image.astype(int), ((1, 1), (1, 1), (0, 0))), np.pad(np.ones(image.shape, int), ((1, 1), (1, 1), (0, 0)))
    for dy in range(3):
        for dx in range(3):
            sums += padded[dy : dy + 13, dx : dx + 21]
            counts += ones[dy : dy + 13, dx : dx + 21]
    assert np.array_equal(out, sums // counts)


@cuda.jit
def life(old, new):
    i, j = cuda.grid(2)
    h, w = old.shape
    if i >= h or j >= w:
        return
    alive = 0
    for di in (-1, 0, 1):
        for dj in (-1, 0, 1):
            if di == 0 and dj == 0:
                continue
            alive += old[(i + di) % h, (j + dj) % w]
    new[i, j] = 1 if alive == 3 or (alive == 2 and old[i, j]) else 0


def test_game_of_life() -> None:
    old = RNG.integers(0, 2, (14, 19)).astype(np.uint8)
    new = np.zeros_like(old)
    life[(1, 2), (16, 16)](old, new)
    around = sum(np.roll(old, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - old
    assert np.array_equal(new, (around == 3) | ((around == 2) & (old == 1)))


@cuda.jit
def convolve(x, out):
    taps = cuda.const.array_like(TAPS)
    i = cuda.grid(1)
    if i < out.size:
        total = float32(0)
        for k in range(-RADIUS, RADIUS + 1):
            j = min(max(i + k, 0), x.size - 1)
            total += x[j] * taps[k + RADIUS]
        out[i] = total


def test_convolution_with_constant_memory() -> None:
    x = RNG.random(301, np.float32)
    out = np.zeros_like(x)
    convolve[3, 128](x, out)
    np.testing.assert_allclose(out, np.convolve(np.pad(x, 2, "edge"), TAPS, "valid"), rtol=1e-5)


@cuda.jit(device=True)
def escape(cx, cy, most):
    zx, zy = 0.0, 0.0
    for i in range(most):
        zx, zy = zx * zx - zy * zy + cx, 2 * zx * zy + cy
        if zx * zx + zy * zy > 4.0:
            return i
    return most


@cuda.jit
def mandelbrot(view, image, most):
    start_x, start_y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for x in range(start_x, image.shape[1], step_x):
        for y in range(start_y, image.shape[0], step_y):
            image[y, x] = uint8(escape(view.left + x * view.step, view.top + y * view.step, most))


def test_mandelbrot_of_bytes() -> None:
    image = np.zeros((24, 40), np.uint8)
    view = View(-2.0, -1.2, 0.1)
    mandelbrot[(2, 2), (8, 8)](view, image, 50)
    for y, x in np.ndindex(24, 40):
        assert image[y, x] == escape.py_func(view.left + x * view.step, view.top + y * view.step, 50)


@cuda.jit(device=True)
def distance(p):
    """From a point to the unit sphere in (0, 0, 3)."""
    return math.sqrt(p.x * p.x + p.y * p.y + (p.z - 3.0) ** 2) - 1.0


@cuda.jit
def march(depth):
    x, y = cuda.grid(2)
    if x >= depth.shape[1] or y >= depth.shape[0]:
        return
    u, v = (x + 0.5) / depth.shape[1] * 2 - 1, (y + 0.5) / depth.shape[0] * 2 - 1
    scale = 1.0 / math.sqrt(u * u + v * v + 1)
    t = 0.0
    for _ in range(64):
        d = distance(cuda.float64x3(u * scale * t, v * scale * t, scale * t))
        if d < 1e-6:
            depth[y, x] = t
            break
        t += d
        if t > 10.0:
            break
    else:
        depth[y, x] = -1


def test_ray_marching() -> None:
    depth = np.zeros((12, 16))
    march[(1, 2), (16, 8)](depth)
    u, v = np.meshgrid((np.arange(16) + 0.5) / 8 - 1, (np.arange(12) + 0.5) / 6 - 1)
    along = 3 / np.sqrt(u * u + v * v + 1)
    inside = along**2 - 8
    hit = inside > 0.05
    np.testing.assert_allclose(depth[hit], (along - np.sqrt(np.maximum(inside, 0)))[hit], atol=1e-4)
    assert hit.any() and (depth[inside < -0.05] == 0).all()


@cuda.jit(device=True)
def normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    tail = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    value = 0.39894228040143267794 * math.exp(-0.5 * d * d) * tail
    return 1.0 - value if d > 0 else value


@cuda.jit("void(float64[:], float64[:], float64[:], float64[:], float64, float64)")
def black_scholes(call, put, price, strike, years, rate):
    i = cuda.grid(1)
    if i >= price.shape[0]:
        return
    root = 0.3 * math.sqrt(years)
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.045) * years) / root
    d2 = d1 - root
    left = strike[i] * math.exp(-rate * years)
    call[i] = price[i] * normal_cdf(d1) - left * normal_cdf(d2)
    put[i] = left * (1.0 - normal_cdf(d2)) - price[i] * (1.0 - normal_cdf(d1))


def test_black_scholes() -> None:
    price, strike = RNG.uniform(5, 30, 200), RNG.uniform(1, 100, 200)
    call, put = np.zeros(200), np.zeros(200)
    black_scholes.forall(200)(call, put, price, strike, 2, 0.02)
    np.testing.assert_allclose(call - put, price - strike * np.exp(-0.04), rtol=1e-9)  # put-call parity
    root = 0.3 * np.sqrt(2)
    d1 = (np.log(price / strike) + 0.13) / root
    cdf = np.vectorize(lambda d: (1 + math.erf(d / math.sqrt(2))) / 2)
    exact = price * cdf(d1) - strike * np.exp(-0.04) * cdf(d1 - root)
    np.testing.assert_allclose(call, exact, atol=1e-5)


@cuda.jit
def collatz(n, steps):
    i = cuda.grid(1)
    if i < n.size:
        x, count = n[i], 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            count += 1
        steps[i] = count


def test_collatz() -> None:
    n = np.arange(1, 101)
    steps = np.zeros(100, np.int32)
    collatz[1, 128](n, steps)

    def reference(x: int) -> int:
        return 0 if x == 1 else 1 + reference(x // 2 if x % 2 == 0 else 3 * x + 1)

    assert list(steps) == [reference(int(x)) for x in n]


@cuda.jit
def heat(old, new):
    i, j = cuda.grid(2)
    if 1 <= i < old.shape[0] - 1 and 1 <= j < old.shape[1] - 1:
        new[i, j] = old[i, j] + 0.2 * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1] - 4 * old[i, j])


def test_heat_with_swapped_buffers_on_a_stream() -> None:
    field = RNG.random((18, 35))
    stream = cuda.stream()
    with stream.auto_synchronize():
        a, b = cuda.to_device(field, stream), cuda.to_device(field, stream)
        for _ in range(5):
            heat[(2, 3), (16, 16), stream](a, b)
            a, b = b, a
        result = a.copy_to_host(stream=stream)
    for _ in range(5):
        inner = field[1:-1, 1:-1]
        flow = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:] - 4 * inner
        field = np.pad(inner + 0.2 * flow, 1) + np.where(np.pad(np.ones_like(inner), 1) == 0, field, 0)
    np.testing.assert_allclose(result, field)


@cuda.jit
def estimate_pi(states, inside, rounds):
    i = cuda.grid(1)
    count = int32(0)
    for _ in range(rounds):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x**2 + y**2 <= 1:
            count += 1
    inside[i] = count


def test_monte_carlo() -> None:
    states = create_xoroshiro128p_states(256, seed=1)
    inside = cuda.device_array(256, np.int32)
    estimate_pi[4, 64](states, inside, 40)
    assert abs(4 * inside.copy_to_host().sum() / (256 * 40) - math.pi) < 0.05
