# mypy: allow-untyped-defs
"""A bfloat16 matrix product on the tensor core: cp.async into a ring of stages, ldmatrix, mma.sync m16n8k16.

C[M, N] = A[M, K] B[N, K]^T, all row-major, so K is contiguous in both operands; float32 accumulation. Leading dimensions are multiples of 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import bfloat16, float32, uint32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv, numpy_dtype

ZERO = float32(0.0)


def hgemm_mma(BM: int, BN: int, WM: int, WN: int, stages: int) -> Any:
    """A kernel with a tile of BM x BN x 32 a CTA, WM x WN a warp, and `stages` tiles of each operand in shared memory.

    A tile row is 64 bytes: chunk c (16 bytes) of row r lies at chunk c ^ (r / 2 % 4), so that the eight rows of one ldmatrix phase fall into
    different banks. Rows outside the matrix and columns from K on are filled with zeros by the copy itself.
    """
    threads = (BM // WM) * (BN // WN) * 32
    rows = threads // 4
    MT, NT = WM // 16, WN // 8
    stage = (BM + BN) * 32
    columns = BN // WN

    @cuda.jit(device=True)
    def issue(smem, at, g, start, step, row, end, ok, count):
        """This thread's chunk of every `rows`-th row, `count` times."""
        for i in cuda.range(count, unroll=0):
            cuda.cp_async(smem, at + i * rows * 32, g, start + i * step, 8, 8 if ok and row + i * rows < end else 0)

    @cuda.jit(device=True)
    def multiply(smem, sa, sb, acc, wm, wn, lane):
        """The warp's part of one stage: two steps of 16 columns, each operand loaded once."""
        a = cuda.local.array((MT, 4), uint32)
        b = cuda.local.array((NT, 2), uint32)
        for kk in cuda.range(2, unroll=0):
            for i in cuda.range(MT, unroll=0):
                r = wm + i * 16 + (lane & 15)
                c = kk * 2 + (lane >> 4)
                a[i, 0], a[i, 1], a[i, 2], a[i, 3] = cuda.ldmatrix(smem, sa + r * 32 + ((c ^ ((r >> 1) & 3)) << 3), 4)
            for j in cuda.range(0, NT, 2, unroll=0):
                r = wn + j * 8 + (lane & 7) + (lane >> 4) * 8
                c = kk * 2 + ((lane >> 3) & 1)
                b[j, 0], b[j, 1], b[j + 1, 0], b[j + 1, 1] = cuda.ldmatrix(smem, sb + r * 32 + ((c ^ ((r >> 1) & 3)) << 3), 4)
            for i in cuda.range(MT, unroll=0):
                for j in cuda.range(NT, unroll=0):
                    acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3] = cuda.mma_m16n8k16(
                        (a[i, 0], a[i, 1], a[i, 2], a[i, 3]), (b[j, 0], b[j, 1]), (acc[i, j, 0], acc[i, j, 1], acc[i, j, 2], acc[i, j, 3])
                    )

    @cuda.jit(device=True)
    def store(C, acc, m, n, M, N, ldc, lane):
        """Pairs of bfloat16, inside the matrix."""
        for i in cuda.range(MT, unroll=0):
            for j in cuda.range(NT, unroll=0):
                for h in cuda.range(2, unroll=0):
                    r = m + i * 16 + h * 8 + lane // 4
                    c = n + j * 8 + (lane % 4) * 2
                    if r < M and c < N:
                        if c + 1 < N:
                            cuda.store2(C, r * ldc + c, (bfloat16(acc[i, j, h * 2]), bfloat16(acc[i, j, h * 2 + 1])))
                        else:
                            C[r * ldc + c] = bfloat16(acc[i, j, h * 2])

    @cuda.jit(launch_bounds=threads)
    def hgemm_mma(A, B, C, M, N, K, lda, ldb, ldc, tiles_n):
        smem = cuda.shared.array(0, bfloat16)
        tid = cuda.threadIdx.x
        lane, warp = tid % 32, tid // 32
        wm, wn = (warp // columns) * WM, (warp % columns) * WN
        m0, n0 = (cuda.blockIdx.x // tiles_n) * BM, (cuda.blockIdx.x % tiles_n) * BN
        acc = cuda.local.array((MT, NT, 4), float32)
        for i in cuda.range(MT, unroll=0):
            for j in cuda.range(NT, unroll=0):
                for q in cuda.range(4, unroll=0):
                    acc[i, j, q] = ZERO

        row, chunk = tid // 4, tid % 4
        to = row * 32 + ((chunk ^ ((row >> 1) & 3)) << 3)
        ga = (m0 + row) * lda + chunk * 8
        gb = (n0 + row) * ldb + chunk * 8
        k_next = chunk * 8
        for s in cuda.range(stages - 1, unroll=0):
            issue(smem, s * stage + to, A, ga, rows * lda, m0 + row, M, k_next < K, BM // rows)
            issue(smem, s * stage + BM * 32 + to, B, gb, rows * ldb, n0 + row, N, k_next < K, BN // rows)
            cuda.cp_async_commit()
            ga += 32
            gb += 32
            k_next += 32

        read, write = 0, stages - 1
        for _ in cuda.range((K + 31) // 32, unroll=1):
            cuda.cp_async_wait(stages - 2)
            cuda.syncthreads()
            issue(smem, write * stage + to, A, ga, rows * lda, m0 + row, M, k_next < K, BM // rows)
            issue(smem, write * stage + BM * 32 + to, B, gb, rows * ldb, n0 + row, N, k_next < K, BN // rows)
            cuda.cp_async_commit()
            ga += 32
            gb += 32
            k_next += 32
            sa = read * stage
            sb = sa + BM * 32
            multiply(smem, sa, sb, acc, wm, wn, lane)
            read = 0 if read + 1 == stages else read + 1
            write = 0 if write + 1 == stages else write + 1
        cuda.cp_async_wait(0)

        store(C, acc, m0 + wm, n0 + wn, M, N, ldc, lane)

    return hgemm_mma


def _padded(rows: int, cols: int, ld: int) -> Array:
    def fill(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        matrix = rng.uniform(-1, 1, (rows, ld))
        matrix[:, cols:] = 0
        return matrix.ravel()

    return Array((rows * ld,), "bfloat16", fill)


def _full(p: Params) -> dict[str, Any]:
    """The params with leading dimensions and tiles in a row."""
    ld = {"lda": cdiv(p["K"], 8) * 8, "ldb": cdiv(p["K"], 8) * 8, "ldc": cdiv(p["N"], 8) * 8}
    return {**ld, "tiles_n": cdiv(p["N"], p["BN"]), **p}


def _args(p: Params) -> Args:
    f = _full(p)
    matrices = {"A": _padded(f["M"], f["K"], f["lda"]), "B": _padded(f["N"], f["K"], f["ldb"]), "C": Array((f["M"] * f["ldc"],), "bfloat16")}
    return {**matrices, **{name: f[name] for name in ("M", "N", "K", "lda", "ldb", "ldc", "tiles_n")}}


def _product(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    f = _full(p)
    A, B = (before[name].astype(np.float64).reshape(-1, f["lda"])[:, : f["K"]] for name in ("A", "B"))
    C = before["C"].astype(np.float64).reshape(f["M"], f["ldc"])
    C[:, : f["N"]] = (A @ B.T).astype(np.float32).astype(numpy_dtype("bfloat16")).astype(np.float64)
    return {"C": C.ravel()}


def _launch(p: Params) -> Launch:
    f = _full(p)
    threads = (f["BM"] // f["WM"]) * (f["BN"] // f["WN"]) * 32
    return Launch((f.get("tiles_launched") or f["tiles_n"] * cdiv(f["M"], f["BM"]), 1), (threads, 1), f["stages"] * (f["BM"] + f["BN"]) * 64)


TEMPLATE = ("BM", "BN", "WM", "WN", "stages")
EXAMPLE = {"M": 75, "N": 67, "K": 70, "BM": 64, "BN": 64, "WM": 32, "WN": 32, "stages": 3}
ENTRIES = {"hgemm_mma": Entry(hgemm_mma, _launch, _args, _product, EXAMPLE, template=TEMPLATE, rtol=1e-2, atol=2e-2)}
