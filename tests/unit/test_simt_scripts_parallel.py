"""Scripts as people write them for Numba, with threads that work together, against NumPy: scans, sorts, matrices, votes."""

from __future__ import annotations

import math

import numpy as np

from gpusim import cuda, float32, int32, uint32

RNG = np.random.default_rng(11)
THREADS = 64
TILE = 8
BINS = 16
FULL = 0xFFFFFFFF


@cuda.jit
def nbody(position, acceleration, softening):
    tile = cuda.shared.array((THREADS, 3), float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = position.shape[0]
    own = cuda.float32x3(0, 0, 0)
    if i < n:
        own = cuda.float32x3(position[i, 0], position[i, 1], position[i, 2])
    ax = ay = az = float32(0)
    for begin in range(0, n, THREADS):
        if begin + t < n:
            tile[t, :] = position[begin + t]
        cuda.syncthreads()
        for j in range(min(THREADS, n - begin)):
            dx, dy, dz = tile[j, 0] - own.x, tile[j, 1] - own.y, tile[j, 2] - own.z
            inverse = float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            force = inverse * inverse * inverse
            ax += dx * force
            ay += dy * force
            az += dz * force
        cuda.syncthreads()
    if i < n:
        acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


def test_nbody() -> None:
    position = RNG.random((100, 3), np.float32)
    acceleration = np.zeros_like(position)
    nbody[2, THREADS](position, acceleration, np.float32(0.01))
    d = position[None] - position[:, None]
    expected = (d / ((d**2).sum(-1, keepdims=True) + 0.01) ** 1.5).sum(1)
    np.testing.assert_allclose(acceleration, expected, rtol=1e-3, atol=1e-3)


@cuda.jit
def bitonic_step(values, j, k):
    i = cuda.grid(1)
    other = i ^ j
    if other > i:
        up = (i & k) == 0
        if (values[i] > values[other]) == up:
            values[i], values[other] = values[other], values[i]


def test_bitonic_sort() -> None:
    values = RNG.permutation(128).astype(np.int32)
    k = 2
    while k <= 128:
        j = k // 2
        while j:
            bitonic_step[2, 64](values, j, k)
            j //= 2
        k *= 2
    assert np.array_equal(values, np.arange(128))


@cuda.jit
def hillis_steele(x):
    temp = cuda.shared.array((2, THREADS), int32)
    t = cuda.threadIdx.x
    now, step = 0, 1
    temp[now, t] = x[t]
    cuda.syncthreads()
    while step < THREADS:
        now = 1 - now
        temp[now, t] = temp[1 - now, t] + (temp[1 - now, t - step] if t >= step else 0)
        cuda.syncthreads()
        step *= 2
    x[t] = temp[now, t]


@cuda.jit
def blelloch(x):
    temp = cuda.shared.array(shape=2 * THREADS, dtype=int32)
    t = cuda.threadIdx.x
    temp[2 * t], temp[2 * t + 1] = x[2 * t], x[2 * t + 1]
    offset = 1
    d = THREADS
    while d > 0:
        cuda.syncthreads()
        if t < d:
            temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1]
        offset *= 2
        d >>= 1
    if t == 0:
        temp[2 * THREADS - 1] = 0
    d = 1
    while d <= THREADS:
        offset >>= 1
        cuda.syncthreads()
        if t < d:
            a, b = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
            temp[a], temp[b] = temp[b], temp[a] + temp[b]
        d *= 2
    cuda.syncthreads()
    x[2 * t], x[2 * t + 1] = temp[2 * t], temp[2 * t + 1]


def test_prefix_sums() -> None:
    x = RNG.integers(-50, 50, THREADS).astype(np.int32)
    wide = np.concatenate([x, x])
    expected, before = np.cumsum(x), np.cumsum(wide) - wide
    hillis_steele[1, THREADS](x)
    blelloch[1, THREADS](wide)
    assert np.array_equal(x, expected) and np.array_equal(wide, before)


@cuda.jit
def nearest(points, centres, label):
    i = cuda.grid(1)
    if i < points.shape[0]:
        best, least = -1, np.inf
        for c in range(centres.shape[0]):
            d = 0.0
            for k in range(points.shape[1]):
                d += (points[i, k] - centres[c, k]) ** 2
            if d < least:
                best, least = c, d
        label[i] = best


def test_kmeans_assignment() -> None:
    points, centres = RNG.random((150, 4)), RNG.random((6, 4))
    label = np.zeros(150, np.int64)
    nearest[3, 64](points, centres, label)
    assert np.array_equal(label, ((points[:, None] - centres) ** 2).sum(-1).argmin(1))


@cuda.jit
def histogram(x, bins):
    own = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for b in range(t, BINS, cuda.blockDim.x):
        own[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(own, int(x[i] * BINS), 1)
    cuda.syncthreads()
    if t < BINS:
        cuda.atomic.add(bins, t, own[t])


def test_histogram_with_shared_atomics() -> None:
    x = RNG.random(1000)
    bins = np.zeros(BINS, np.int32)
    histogram[3, 64](x, bins)
    assert np.array_equal(bins, np.histogram(x, BINS, (0, 1))[0])


@cuda.jit
def transpose(a, out):
    tile = cuda.shared.array((TILE, TILE + 1), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if y < a.shape[0] and x < a.shape[1]:
        tile[ty, tx] = a[y, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * TILE + tx, cuda.blockIdx.x * TILE + ty
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = tile[tx, ty]


def test_transpose_with_padding() -> None:
    a = RNG.random((19, 30), np.float32)
    out = np.zeros((30, 19), np.float32)
    transpose[(4, 3), (TILE, TILE)](a, out)
    assert np.array_equal(out, a.T)


@cuda.jit
def csr_product(data, indices, indptr, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            total += data[k] * x[indices[k]]
        y[row] = total


def test_sparse_product() -> None:
    dense = RNG.random((70, 40)) * (RNG.random((70, 40)) < 0.1)
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=70))]).astype(np.int32)
    x, y = RNG.random(40), np.zeros(70)
    csr_product[2, 64](dense[rows, columns], columns.astype(np.int32), indptr, x, y)
    np.testing.assert_allclose(y, dense @ x)


@cuda.jit
def lu_step(a, k):
    i, j = cuda.grid(2)
    i += k + 1
    j += k + 1
    if i < a.shape[0] and j < a.shape[1]:
        a[i, j] -= a[i, k] * a[k, j]


@cuda.jit
def lu_scale(a, k):
    i = cuda.grid(1) + k + 1
    if i < a.shape[0]:
        a[i, k] /= a[k, k]


def test_lu() -> None:
    a = RNG.random((10, 10)) + 10 * np.eye(10)
    made = cuda.to_device(a)
    for k in range(9):
        lu_scale[1, 16](made, k)
        lu_step[(1, 2), (16, 8)](made, k)
    packed = made.copy_to_host()
    np.testing.assert_allclose((np.tril(packed, -1) + np.eye(10)) @ np.triu(packed), a)


@cuda.jit
def floyd_warshall(d, k):
    i, j = cuda.grid(2)
    if i < d.shape[0] and j < d.shape[1]:
        through = d[i, k] + d[k, j]
        if through < d[i, j]:
            d[i, j] = through


def test_floyd_warshall() -> None:
    d = RNG.integers(1, 100, (14, 14))
    np.fill_diagonal(d, 0)
    expected = d.copy()
    for k in range(14):
        floyd_warshall[(1, 2), (16, 8)](d, k)
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k])
    assert np.array_equal(d, expected)


@cuda.jit
def warp_sum(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else 0.0
    delta = cuda.warpsize // 2
    while delta:
        value += cuda.shfl_down_sync(FULL, value, delta)
        delta //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


def test_reduction_with_shuffles() -> None:
    x, out = RNG.random(300), np.zeros(1)
    warp_sum[5, 64](x, out)
    np.testing.assert_allclose(out[0], x.sum())


@cuda.jit
def keep_positive(x, kept, count):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        mask = cuda.activemask()
        leader = cuda.ffs(mask) - 1
        below = uint32(mask) & ((uint32(1) << uint32(cuda.laneid)) - uint32(1))
        base = 0
        if cuda.laneid == leader:
            base = cuda.atomic.add(count, 0, cuda.popc(mask))
        base = cuda.shfl_sync(mask, base, leader)
        kept[base + cuda.popc(below)] = x[i]


def test_warp_aggregated_atomics() -> None:
    x = RNG.integers(-9, 10, 200).astype(np.int32)
    kept, count = np.zeros_like(x), np.zeros(1, np.int32)
    keep_positive[4, 64](x, kept, count)
    assert count[0] == (x > 0).sum()
    assert np.array_equal(np.sort(kept[: count[0]]), np.sort(x[x > 0]))
