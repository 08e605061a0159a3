"""Kernels of one idea each, of the kinds that Numba's manual shows. Every case returns its results by name."""

import math

import numpy as np
from home import cuda, float32, int32, int64, uint32, void

N = 1000


@cuda.jit
def vector_add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit(void(float32[:], float32[:], float32))
def saxpy(x, y, a):
    i = cuda.grid(1)
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]


@cuda.jit("void(int32[:, ::1], int32)")
def increment_2d(a, by):
    x, y = cuda.grid(2)
    if x < a.shape[0] and y < a.shape[1]:
        a[x, y] += by


@cuda.jit
def stride_loop(x, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] = x[i] * x[i] - 1


@cuda.jit
def coordinates(out):
    """Where every thread of a grid of blocks stands, in three dimensions."""
    x, y, z = cuda.grid(3)
    w = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    b = cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)
    out[x, y, z] = 1000 * b + w


@cuda.jit(device=True)
def is_divisor(n, d):
    return n % d == 0


@cuda.jit(device=True)
def count_divisors(n):
    found = 0
    for d in range(1, n + 1):
        if is_divisor(n, d):
            found += 1
    return found


@cuda.jit
def divisors(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = count_divisors(i + 1)


@cuda.jit
def collatz(start, steps):
    i = cuda.grid(1)
    if i >= start.size:
        return
    n = start[i]
    count = 0
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        count += 1
    steps[i] = count


@cuda.jit
def mandelbrot(out, x0, y0, dx, dy, limit):
    row, col = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        cr = x0 + col * dx
        ci = y0 + row * dy
        zr = 0.0
        zi = 0.0
        for k in range(limit):
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            if zr * zr + zi * zi > 4.0:
                out[row, col] = k
                return
        out[row, col] = limit


@cuda.jit
def negative_index(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[-1 - i]


@cuda.jit
def skips(x, out):
    """break, continue, and both in one loop."""
    i = cuda.grid(1)
    total = 0
    for j in range(x.size):
        if x[j] == i % 5:
            continue
        if x[j] > 90 + i % 7:
            break
        total += x[j]
    out[i] = total


@cuda.jit
def integers(a, b, out):
    """Division, remainder and shifts of negative numbers, as Python has them."""
    i = cuda.grid(1)
    if i < a.size and b[i] != 0:
        out[i, 0] = a[i] // b[i]
        out[i, 1] = a[i] % b[i]
        out[i, 2] = a[i] << 3
        out[i, 3] = a[i] >> 2
        out[i, 4] = (a[i] ^ b[i]) & ~7
        out[i, 5] = abs(a[i]) ** 2
        out[i, 6] = min(a[i], b[i]) - max(a[i], b[i])
        out[i, 7] = int64(a[i] > b[i]) + (1 if a[i] == b[i] else -1)


@cuda.jit
def functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = math.sqrt(abs(x[i]))
        out[i, 1] = math.floor(x[i])
        out[i, 2] = math.ceil(x[i])
        out[i, 3] = math.fabs(x[i])
        out[i, 4] = x[i] / 3.0
        out[i, 5] = math.copysign(1.5, x[i])
        out[i, 6] = max(x[i], 0.25)
        out[i, 7] = math.fmod(x[i], 0.75)


@cuda.jit
def bits(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i, 0] = cuda.popc(x[i])
        out[i, 1] = cuda.clz(x[i])
        out[i, 2] = cuda.ffs(x[i])
        out[i, 3] = cuda.brev(x[i])


def make_adder(amount):
    @cuda.jit
    def adder(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += amount

    return adder


TABLE = np.arange(40, 56, dtype=np.int32)


@cuda.jit
def constants(out):
    table = cuda.const.array_like(TABLE)
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[i % 16] * 2


@cuda.jit
def local_sort(x, out):
    """Every thread sorts eight numbers of its own."""
    own = cuda.local.array(8, int32)
    t = cuda.grid(1)
    for j in range(8):
        own[j] = x[8 * t + j]
    for i in range(1, 8):
        key = own[i]
        j = i - 1
        while j >= 0 and own[j] > key:
            own[j + 1] = own[j]
            j -= 1
        own[j + 1] = key
    for j in range(8):
        out[8 * t + j] = own[j]


def case_vector_add(rng):
    a, b = rng.random((2, N))
    c = np.zeros(N)
    vector_add[-(-N // 128), 128](a, b, c)
    return {"c": c}


def case_saxpy(rng):
    x, y = rng.random((2, N)).astype(np.float32)
    saxpy[8, 128](x, y, np.float32(2.5))
    return {"y": y}


def case_increment_2d(rng):
    a = rng.integers(-50, 50, (19, 33)).astype(np.int32)
    increment_2d[(3, 5), (8, 8)](a, 7)
    return {"a": a}


def case_stride_loop(rng):
    x, out = rng.integers(-99, 99, N), np.zeros(N, np.int64)
    stride_loop[2, 64](x, out)
    return {"out": out}


def case_coordinates(rng):
    out = np.zeros((6, 6, 4), np.int64)
    coordinates[(2, 3, 2), (3, 2, 2)](out)
    return {"out": out}


def case_divisors(rng):
    out = np.zeros(150, np.int64)
    divisors.forall(out.size)(out)
    return {"out": out}


def case_collatz(rng):
    start, steps = rng.integers(1, 5000, 200), np.zeros(200, np.int64)
    collatz[4, 64](start, steps)
    return {"steps": steps}


def case_mandelbrot(rng):
    out = np.zeros((20, 30), np.int32)
    mandelbrot[(3, 4), (8, 8)](out, -2.0, -1.0, 0.1, 0.1, 40)
    return {"out": out}


def case_negative_index(rng):
    x, out = rng.random(50), np.zeros(50)
    negative_index[1, 64](x, out)
    return {"out": out}


def case_skips(rng):
    x, out = rng.integers(0, 100, 60), np.zeros(64, np.int64)
    skips[2, 32](x, out)
    return {"out": out}


def case_integers(rng):
    a, b, out = rng.integers(-1000, 1000, 100), rng.integers(-9, 9, 100), np.zeros((100, 8), np.int64)
    integers[1, 128](a, b, out)
    return {"out": out}


def case_functions(rng):
    x, out = rng.normal(0, 10, 100), np.zeros((100, 8))
    functions[1, 128](x, out)
    return {"out": out}


def case_bits(rng):
    x, out = rng.integers(1, 2**32, 100).astype(np.uint32), np.zeros((100, 4), np.uint32)
    bits[1, 128](x, out)
    return {"out": out}


def case_closures(rng):
    x, y = np.zeros(40, np.int32), np.zeros(40, np.int32)
    make_adder(3)[1, 64](x)
    make_adder(-8)[1, 64](y)
    return {"x": x, "y": y}


def case_constants(rng):
    out = np.zeros(50, np.int32)
    constants[2, 32](out)
    return {"out": out}


def case_local_sort(rng):
    x, out = rng.integers(0, 1000, 8 * 32).astype(np.int32), np.zeros(8 * 32, np.int32)
    local_sort[1, 32](x, out)
    return {"out": out}


def case_device_arrays(rng):
    host = rng.random((6, 40)).astype(np.float32)
    a, c = cuda.to_device(host), cuda.device_array((40,), np.float32)
    stream = cuda.stream()
    vector_add[1, 64, stream](a[2], a[3], c)
    stream.synchronize()
    vector_add[1, 64, stream, 0](c, a[5], c)
    return {"c": c.copy_to_host(), "first": a[:2].copy_to_host()}


def case_int_types(rng):
    x = rng.integers(0, 2**32, 100, dtype=np.uint32)
    out = np.zeros((100, 3), np.uint32)
    wrapping[1, 128](x, out)
    return {"out": out}


@cuda.jit
def wrapping(x, out):
    """A hash in 32 bits: casts say where it wraps."""
    i = cuda.grid(1)
    if i < x.size:
        h = x[i]
        h = uint32(h ^ (h >> uint32(16)))
        h = uint32(int64(h) * int64(0x45D9F3B) & int64(0xFFFFFFFF))
        out[i, 0] = h
        out[i, 1] = h % uint32(1000)
        out[i, 2] = h // uint32(7)
