"""Kernels whose threads work together: shared memory, barriers, atomics."""

import numpy as np
from home import cuda, float32, float64, int32

TILE = 8
THREADS = 64


@cuda.jit
def matmul(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


@cuda.jit
def fast_matmul(a, b, c):
    """Tiles of both factors pass through shared memory; edges are filled with zeros."""
    sa = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    sb = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0.0)
    for step in range((a.shape[1] + TILE - 1) // TILE):
        sa[ty, tx] = 0
        sb[ty, tx] = 0
        if y < a.shape[0] and tx + step * TILE < a.shape[1]:
            sa[ty, tx] = a[y, tx + step * TILE]
        if x < b.shape[1] and ty + step * TILE < b.shape[0]:
            sb[ty, tx] = b[ty + step * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@cuda.jit
def block_sum(x, out):
    """A tree in shared memory, then one atomic a block."""
    held = cuda.shared.array(THREADS, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    held[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        if t % (2 * step) == 0:
            held[t] += held[t + step]
        step *= 2
        cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(out, 0, held[0])


@cuda.jit
def dynamic_reverse(x, out):
    """Shared memory whose size the launch gives, seen as two arrays."""
    held = cuda.shared.array(0, float32)
    marks = cuda.shared.array(0, int32)[THREADS:]
    t = cuda.threadIdx.x
    held[t] = x[cuda.grid(1)]
    marks[t] = t
    cuda.syncthreads()
    mirror = cuda.blockDim.x - 1 - t
    out[cuda.grid(1)] = held[mirror] + marks[mirror]


@cuda.jit
def two_on_a_line(out):
    a, b = cuda.shared.array(32, int32), cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    a[t] = t
    b[t] = 100 * t
    cuda.syncthreads()
    out[t] = a[31 - t] + b[t]


@cuda.jit
def histogram(x, counts):
    own = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        own[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    while i < x.size:
        cuda.atomic.add(own, x[i], 1)
        i += cuda.gridsize(1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, own[t])


@cuda.jit
def atomics(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.min(out, 1, x[i])
        cuda.atomic.add(out, 2, x[i])
        cuda.atomic.sub(out, 3, x[i])
        cuda.atomic.and_(out, 4, x[i])
        cuda.atomic.or_(out, 5, x[i])
        cuda.atomic.xor(out, 6, x[i])


@cuda.jit
def atomic_table(x, y, table):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(table, (x[i], y[i]), 1)


@cuda.jit
def claim(owner, winners):
    """Compare and swap: one thread of all gets the slot."""
    i = cuda.grid(1)
    if cuda.atomic.cas(owner, i % 8, -1, i % 8) == -1:
        cuda.atomic.add(winners, i % 8, 1)


@cuda.jit
def votes(x, out):
    i = cuda.grid(1)
    n = cuda.syncthreads_count(x[i] > 50)
    everybody = cuda.syncthreads_and(x[i] >= 0)
    anybody = cuda.syncthreads_or(x[i] > 98)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x, 0] = n
        out[cuda.blockIdx.x, 1] = 1 if everybody else 0
        out[cuda.blockIdx.x, 2] = 1 if anybody else 0


@cuda.jit
def scan(x, out):
    """Inclusive sums within a block, by doubling distances between two halves of one array."""
    held = cuda.shared.array((2, THREADS), float64)
    t = cuda.threadIdx.x
    held[0, t] = x[cuda.grid(1)]
    cuda.syncthreads()
    source = 0
    distance = 1
    while distance < THREADS:
        if t >= distance:
            held[1 - source, t] = held[source, t] + held[source, t - distance]
        else:
            held[1 - source, t] = held[source, t]
        source = 1 - source
        distance *= 2
        cuda.syncthreads()
    out[cuda.grid(1)] = held[source, t]


def _matrices(rng, m, n, k, dtype):
    return rng.integers(-9, 9, (m, k)).astype(dtype), rng.integers(-9, 9, (k, n)).astype(dtype), np.zeros((m, n), dtype)


def case_matmul(rng):
    a, b, c = _matrices(rng, 13, 9, 21, np.float64)
    matmul[(2, 2), (8, 8)](a, b, c)
    return {"c": c}


def case_fast_matmul(rng):
    a, b, c = rng.random((17, 23), np.float32), rng.random((23, 10), np.float32), np.zeros((17, 10), np.float32)
    fast_matmul[(2, 3), (TILE, TILE)](a, b, c)
    return {"c": c}


def case_block_sum(rng):
    x, out = rng.integers(-99, 99, 300).astype(np.int32), np.zeros(1, np.int32)
    block_sum[5, THREADS](x, out)
    return {"out": out}


def case_dynamic_reverse(rng):
    x = rng.random(2 * THREADS, np.float32)
    out = np.zeros_like(x)
    dynamic_reverse[2, THREADS, 0, 8 * THREADS](x, out)
    return {"out": out}


def case_two_on_a_line(rng):
    out = np.zeros(32, np.int32)
    two_on_a_line[1, 32](out)
    return {"out": out}


def case_histogram(rng):
    x, counts = rng.integers(0, 16, 500).astype(np.int32), np.zeros(16, np.int32)
    histogram[2, THREADS](x, counts)
    return {"counts": counts}


def case_atomics(rng):
    x = rng.integers(1, 2**20, 100)
    out = np.array([0, 2**40, 0, 0, 2**21 - 1, 0, 0], np.int64)
    atomics[2, THREADS](x, out)
    return {"out": out}


def case_atomic_table(rng):
    x, y = rng.integers(0, 5, (2, 200))
    table = np.zeros((5, 5), np.int64)
    atomic_table[4, THREADS](x, y, table)
    return {"table": table}


def case_claim(rng):
    owner, winners = np.full(8, -1, np.int32), np.zeros(8, np.int32)
    claim[2, THREADS](owner, winners)
    return {"owner": owner, "winners": winners}


def case_votes(rng):
    x, out = rng.integers(0, 100, 4 * 32), np.zeros((4, 3), np.int64)
    votes[4, 32](x, out)
    return {"out": out}


def case_scan(rng):
    x, out = rng.random(2 * THREADS), np.zeros(2 * THREADS)
    scan[2, THREADS](x, out)
    return {"out": out}
