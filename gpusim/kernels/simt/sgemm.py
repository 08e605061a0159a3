# mypy: allow-untyped-defs
"""The ladder of float32 matrix products: each step needs fewer memory instructions for a multiply-add. Row-major, C = A B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv

ZERO = float32(0.0)


@cuda.jit
def sgemm_naive_uncoalesced(A, B, C, M, N, K, lda, ldb, ldc):
    """Lanes walk down the rows: every load of A touches 32 lines."""
    row = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    col = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    if row < M and col < N:
        acc = ZERO
        for k in cuda.range(K, unroll=4):
            acc = cuda.fma(A[row * lda + k], B[k * ldb + col], acc)
        C[row * ldc + col] = acc


@cuda.jit
def sgemm_naive_coalesced(A, B, C, M, N, K, lda, ldb, ldc):
    """Lanes walk along the columns: A is one address a warp, B is one line. Two loads for each multiply-add."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    if row < M and col < N:
        acc = ZERO
        for k in cuda.range(K, unroll=4):
            acc = cuda.fma(A[row * lda + k], B[k * ldb + col], acc)
        C[row * ldc + col] = acc


@cuda.jit
def sgemm_tile32(A, B, C, M, N, K, lda, ldb, ldc):
    """Tiles of 32 x 32 in shared memory: global traffic falls by 32, but each multiply-add still loads two values."""
    As = cuda.shared.array((32, 32), float32)
    Bs = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col = cuda.blockIdx.x * 32 + tx
    row = cuda.blockIdx.y * 32 + ty
    acc = ZERO
    for k0 in cuda.range(0, K, 32, unroll=1):
        As[ty, tx] = A[row * lda + k0 + tx] if row < M and k0 + tx < K else ZERO
        Bs[ty, tx] = B[(k0 + ty) * ldb + col] if k0 + ty < K and col < N else ZERO
        cuda.syncthreads()
        for k in cuda.range(32, unroll=0):
            acc = cuda.fma(As[ty, k], Bs[k, tx], acc)
        cuda.syncthreads()
    if row < M and col < N:
        C[row * ldc + col] = acc


@cuda.jit(launch_bounds=512)
def sgemm_reg1d(A, B, C, M, N, K, lda, ldb, ldc):
    """Eight rows of one column a thread: a value of B serves eight multiply-adds. Tile 64 x 64 x 8."""
    As = cuda.shared.array(64 * 8, float32)
    Bs = cuda.shared.array(8 * 64, float32)
    tid = cuda.threadIdx.x
    tc, tr = tid % 64, tid // 64
    a_row, a_col = tid // 8, tid % 8
    b_row, b_col = tid // 64, tid % 64
    row0, col0 = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    acc = cuda.local.array(8, float32)
    for i in cuda.range(8, unroll=0):
        acc[i] = ZERO
    for k0 in cuda.range(0, K, 8, unroll=1):
        As[a_row * 8 + a_col] = A[(row0 + a_row) * lda + k0 + a_col] if row0 + a_row < M and k0 + a_col < K else ZERO
        Bs[b_row * 64 + b_col] = B[(k0 + b_row) * ldb + col0 + b_col] if k0 + b_row < K and col0 + b_col < N else ZERO
        cuda.syncthreads()
        for k in cuda.range(8, unroll=0):
            b = Bs[k * 64 + tc]
            for i in cuda.range(8, unroll=0):
                acc[i] = cuda.fma(As[(tr * 8 + i) * 8 + k], b, acc[i])
        cuda.syncthreads()
    for i in cuda.range(8, unroll=0):
        if row0 + tr * 8 + i < M and col0 + tc < N:
            C[(row0 + tr * 8 + i) * ldc + col0 + tc] = acc[i]


@cuda.jit(launch_bounds=256)
def sgemm_reg2d(A, B, C, M, N, K, lda, ldb, ldc):
    """8 x 8 outputs a thread: 16 values from shared memory serve 64 multiply-adds. Tile 128 x 128 x 8."""
    As = cuda.shared.array(128 * 8, float32)
    Bs = cuda.shared.array(8 * 128, float32)
    tid = cuda.threadIdx.x
    tc, tr = tid % 16, tid // 16
    a_row, a_col = tid // 8, tid % 8
    b_row, b_col = tid // 128, tid % 128
    row0, col0 = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
    acc = cuda.local.array((8, 8), float32)
    a = cuda.local.array(8, float32)
    b = cuda.local.array(8, float32)
    for i in cuda.range(8, unroll=0):
        for j in cuda.range(8, unroll=0):
            acc[i, j] = ZERO
    for k0 in cuda.range(0, K, 8, unroll=1):
        for i in cuda.range(0, 128, 32, unroll=0):
            As[(a_row + i) * 8 + a_col] = A[(row0 + a_row + i) * lda + k0 + a_col] if row0 + a_row + i < M and k0 + a_col < K else ZERO
        for i in cuda.range(0, 8, 2, unroll=0):
            Bs[(b_row + i) * 128 + b_col] = B[(k0 + b_row + i) * ldb + col0 + b_col] if k0 + b_row + i < K and col0 + b_col < N else ZERO
        cuda.syncthreads()
        for k in cuda.range(8, unroll=0):
            for i in cuda.range(8, unroll=0):
                a[i] = As[(tr * 8 + i) * 8 + k]
            for j in cuda.range(8, unroll=0):
                b[j] = Bs[k * 128 + tc * 8 + j]
            for i in cuda.range(8, unroll=0):
                for j in cuda.range(8, unroll=0):
                    acc[i, j] = cuda.fma(a[i], b[j], acc[i, j])
        cuda.syncthreads()
    for i in cuda.range(8, unroll=0):
        for j in cuda.range(8, unroll=0):
            if row0 + tr * 8 + i < M and col0 + tc * 8 + j < N:
                C[(row0 + tr * 8 + i) * ldc + col0 + tc * 8 + j] = acc[i, j]


@cuda.jit(launch_bounds=256)
def sgemm_vec(A, B, C, M, N, K, lda, ldb, ldc):
    """As sgemm_reg2d with 16-byte accesses; A is turned on its way into shared memory. Leading dimensions are multiples of 4, and what pads
    A and B holds zeros."""
    As = cuda.shared.array(8 * 128, float32)
    Bs = cuda.shared.array(8 * 128, float32)
    tid = cuda.threadIdx.x
    tc, tr = tid % 16, tid // 16
    a_row, a_col = tid // 2, (tid % 2) * 4
    b_row, b_col = tid // 32, (tid % 32) * 4
    row0, col0 = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
    acc = cuda.local.array((8, 8), float32)
    a = cuda.local.array(8, float32)
    b = cuda.local.array(8, float32)
    for i in cuda.range(8, unroll=0):
        for j in cuda.range(8, unroll=0):
            acc[i, j] = ZERO
    for k0 in cuda.range(0, K, 8, unroll=1):
        a0, a1, a2, a3 = ZERO, ZERO, ZERO, ZERO
        b0, b1, b2, b3 = ZERO, ZERO, ZERO, ZERO
        if row0 + a_row < M and k0 + a_col < lda:
            a0, a1, a2, a3 = cuda.load4(A, (row0 + a_row) * lda + k0 + a_col)
        if k0 + b_row < K and col0 + b_col < ldb:
            b0, b1, b2, b3 = cuda.load4(B, (k0 + b_row) * ldb + col0 + b_col)
        As[(a_col + 0) * 128 + a_row] = a0
        As[(a_col + 1) * 128 + a_row] = a1
        As[(a_col + 2) * 128 + a_row] = a2
        As[(a_col + 3) * 128 + a_row] = a3
        cuda.store4(Bs, b_row * 128 + b_col, (b0, b1, b2, b3))
        cuda.syncthreads()
        for k in cuda.range(8, unroll=0):
            for h in cuda.range(2, unroll=0):
                a[4 * h], a[4 * h + 1], a[4 * h + 2], a[4 * h + 3] = cuda.load4(As, k * 128 + h * 64 + tr * 4)
                b[4 * h], b[4 * h + 1], b[4 * h + 2], b[4 * h + 3] = cuda.load4(Bs, k * 128 + h * 64 + tc * 4)
            for i in cuda.range(8, unroll=0):
                for j in cuda.range(8, unroll=0):
                    acc[i, j] = cuda.fma(a[i], b[j], acc[i, j])
        cuda.syncthreads()
    for i in cuda.range(8, unroll=0):
        row = row0 + (i // 4) * 64 + tr * 4 + i % 4
        for j in cuda.range(0, 8, 4, unroll=0):
            col = col0 + (j // 4) * 64 + tc * 4
            if row < M and col < ldc:
                cuda.store4(C, row * ldc + col, (acc[i, j], acc[i, j + 1], acc[i, j + 2], acc[i, j + 3]))


def _padded(rows: int, cols: int, ld: int) -> Array:
    def fill(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        matrix = rng.uniform(-1, 1, (rows, ld))
        matrix[:, cols:] = 0
        return matrix.ravel()

    return Array((rows * ld,), fill=fill)


def _sizes(p: Params) -> tuple[int, int, int]:
    """Leading dimensions of A, B and C; all `ld` where there is one."""
    return tuple(p.get("ld") or cdiv(p[size], 4) * 4 for size in ("K", "N", "N"))  # type: ignore[return-value]


def _args(p: Params) -> Args:
    (lda, ldb, ldc), (M, N, K) = _sizes(p), (p["M"], p["N"], p["K"])
    matrices = {"A": _padded(M, K, lda), "B": _padded(K, N, ldb), "C": Array((M * ldc,))}
    return {**matrices, "M": M, "N": N, "K": K, "lda": lda, "ldb": ldb, "ldc": ldc}


def _product(whole_rows: bool) -> Any:
    def product(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
        (lda, ldb, ldc), (M, N, K) = _sizes(p), (p["M"], p["N"], p["K"])
        A, B = before["A"].astype(np.float64).reshape(M, lda), before["B"].astype(np.float64).reshape(K, ldb)
        C = before["C"].astype(np.float64).reshape(M, ldc)
        C[:, :N] = A[:, :K] @ B[:, :N]
        C[:, N:] = 0 if whole_rows else C[:, N:]
        return {"C": C.ravel()}

    return product


def _tiles(tile: int, block: tuple[int, int], rows_first: bool = False) -> Any:
    def launch(p: Params) -> Launch:
        rows, cols = cdiv(p["M"], tile), cdiv(p["N"], tile)
        return Launch((rows, cols) if rows_first else (cols, rows), block)

    return launch


def _entry(kernel: Any, launch: Any, whole_rows: bool = False) -> Entry:
    return Entry(kernel, launch, _args, _product(whole_rows), {"M": 45, "N": 37, "K": 19}, rtol=1e-4, atol=1e-5)


ENTRIES = {
    "sgemm_naive_uncoalesced": _entry(sgemm_naive_uncoalesced, _tiles(32, (32, 32), rows_first=True)),
    "sgemm_naive_coalesced": _entry(sgemm_naive_coalesced, _tiles(32, (32, 32))),
    "sgemm_tile32": _entry(sgemm_tile32, _tiles(32, (32, 32))),
    "sgemm_reg1d": _entry(sgemm_reg1d, _tiles(64, (512, 1))),
    "sgemm_reg2d": _entry(sgemm_reg2d, _tiles(128, (256, 1))),
    "sgemm_vec": _entry(sgemm_vec, _tiles(128, (256, 1)), whole_rows=True),
}
