# mypy: allow-untyped-defs
"""How lanes fall on sectors: strides and offsets, widths of access, random places, rows against columns.

Programs that only read keep what they read: a sum or an exclusive or, stored if `never` is not 0. Whether it is stored does not depend on
data, so that such a kernel can be timed without values.
"""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import float32, uint32
from gpusim.kernels.simt.probes.operations import mixed

#: accesses of a thread in `strided`, in `vectors`; loads in flight in `gather`
STRIDED, VECTORS, GATHERED = 8, 4, 4
MODES = ("read", "write", "copy")


def strided(mode: str) -> Any:
    """A kernel with eight accesses a thread: consecutive threads of the CTA are `s` elements apart, the first is `off` away from the begin."""
    reads, writes = mode != "write", mode != "read"

    @cuda.jit
    def strided(a, b, s, off, never, sink):
        at = (cuda.blockIdx.x * (STRIDED * cuda.blockDim.x) + cuda.threadIdx.x) * s + off
        step = cuda.blockDim.x * s
        v = cuda.local.array(STRIDED, float32)
        for u in cuda.range(STRIDED, unroll=0):
            v[u] = a[at + u * step] if reads else float32(1 + u)
        if writes:
            for u in cuda.range(STRIDED, unroll=0):
                b[at + u * step] = v[u]
        else:
            x = float32(0.0)
            for u in cuda.range(STRIDED, unroll=0):
                x += v[u]
            if never:
                sink[0] = x

    return strided


@cuda.jit(device=True)
def load_1(a, i):
    return (a[i], uint32(0))


@cuda.jit(device=True)
def load_2(a, i):
    return cuda.load2(a, i)


@cuda.jit(device=True)
def load_4(a, i):
    return cuda.load4(a, i)


@cuda.jit(device=True)
def ones_2(a, i):
    return (uint32(1), uint32(1))


@cuda.jit(device=True)
def ones_4(a, i):
    return (uint32(1), uint32(1), uint32(1), uint32(1))


@cuda.jit(device=True)
def store_1(a, i, v):
    a[i] = v[0]


@cuda.jit(device=True)
def store_2(a, i, v):
    cuda.store2(a, i, v)


@cuda.jit(device=True)
def store_4(a, i, v):
    cuda.store4(a, i, v)


@cuda.jit(device=True)
def fold_1(v):
    return v[0]


@cuda.jit(device=True)
def fold_2(v):
    return uint32(v[0] ^ v[1])


@cuda.jit(device=True)
def fold_4(v):
    return uint32(v[0] ^ v[1] ^ v[2] ^ v[3])


#: words of an access -> how a thread loads, makes, stores and folds them; one word comes as the first of two
LOAD = {1: load_1, 2: load_2, 4: load_4}
ONES = {1: ones_2, 2: ones_2, 4: ones_4}
STORE = {1: store_1, 2: store_2, 4: store_4}
FOLD = {1: fold_1, 2: fold_2, 4: fold_4}


def vectors(mode: str, words: int) -> Any:
    """A kernel with four accesses of `words` 32-bit words a thread, side by side in the CTA."""
    get, store, fold = (ONES if mode == "write" else LOAD)[words], STORE[words], FOLD[words]
    writes = mode != "read"

    @cuda.jit
    def vectors(a, b, never, sink):
        at = (cuda.blockIdx.x * (VECTORS * cuda.blockDim.x) + cuda.threadIdx.x) * words
        step = cuda.blockDim.x * words
        v0, v1, v2, v3 = get(a, at), get(a, at + step), get(a, at + 2 * step), get(a, at + 3 * step)
        if writes:
            store(b, at, v0)
            store(b, at + step, v1)
            store(b, at + 2 * step, v2)
            store(b, at + 3 * step, v3)
        else:
            x = fold(v0) ^ fold(v1) ^ fold(v2) ^ fold(v3)
            if never:
                sink[0] = x

    return vectors


@cuda.jit
def gather(a, mask, iters, run, never, sink):
    """Every load of a warp goes to 32 / run random places, where `run` lanes read consecutive words; four loads in flight."""
    t = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    group, lane = uint32(t // run), uint32(t % run)
    x = float32(0.0)
    for i in cuda.range(0, iters, GATHERED, unroll=1):
        for j in cuda.range(GATHERED, unroll=0):
            h = mixed(uint32(group * uint32(977) + uint32(i + j) * uint32(0x9E3779B9)))
            x += a[uint32(h * uint32(run) + lane) & mask]
    if never:
        sink[0] = x


def mapped(along: str) -> Any:
    """A kernel over the elements of an n x n matrix, one a thread: threadIdx.x runs along a "row" or along a "column"."""
    by_rows = along == "row"

    @cuda.jit
    def mapped(a, b, n):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        at = j * n + i if by_rows else i * n + j
        b[at] = cuda.fma(a[at], float32(2.0), float32(1.0))

    return mapped


def summed(of: str) -> Any:
    """A kernel in which a thread adds up the first `count` elements of a "column" (neighbours read neighbours) or of a "row" (they read n apart)."""
    columns = of == "column"

    @cuda.jit
    def summed(a, b, n, count):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        s = float32(0.0)
        for k in cuda.range(count, unroll=8):
            s += a[k * n + i] if columns else a[i * n + k]
        b[i] = s

    return summed
