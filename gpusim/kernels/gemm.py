"""C[M, N] = A[M, K] @ B[K, N]: one block per output tile, blocks rasterised in groups of `group_m` tile rows.

The index arithmetic and the loop are those of `gemm_kernel` in the measured sources (Triton's tutorial order).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import gpusim.triton as triton
import gpusim.triton.language as tl
from gpusim.errors import GpusimError
from gpusim.frontend.tiles.translate import translate
from gpusim.frontend.tiles.values import Array
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.ops import Op
from gpusim.ir.pipeline import CONSUMERS, Pipeline
from gpusim.ir.program import Program, Tensor
from gpusim.ir.rewrite import without_lines
from gpusim.ir.types import dtype as dtype_of
from gpusim.kernels.specialised import specialised
from gpusim.triton.markers import BY_IR

DEFAULT_TILE = (128, 128, 64)
#: ld= -> leading dimensions are rounded up to a multiple of this many elements
LEADING = {"padded": 16, "packed": 1}


def gemm(
    m: int = 4096,
    n: int = 4096,
    k: int = 4096,
    *,
    tile: tuple[int, int, int] | str | None = None,
    warps: int | None = None,
    stages: int | None = None,
    group_m: int = 8,
    dtype: str = "bf16",
    ld: str = "padded",
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
    registers: int | None = None,
    roles: str = "none",
    cluster: tuple[int, int] | str = "1x1",
    schedule: str = "persistent",
    mma_rows: str = "m",
    split: str = "rows",
    raster: str = "n",
    layout: str = "NN",
    epilogue: str = "",
) -> Program:
    """A tiled matrix product with fp32 accumulation (fp64 for fp64).

    m, n, k: sizes in elements. tile: (BM, BN, BK) or "256x128x64"; None leaves it to the device: 128x128x64 on GPUs. warps per block: 4 up to 128x128, else 8.
    stages of the software pipeline: the most up to 4 that fit the device. ld: "padded" rounds leading dimensions up to
    16 elements and lets copies touch the padding, "packed" does neither; lda, ldb, ldc (elements) set a pitch whose padding
    is not touched. registers: per thread, as a compiler reports them; None estimates them.

    roles: "none": all warps copy and multiply; "producer-consumer", "ping-pong", "cooperative": one warpgroup copies with the copy engine, one or two
    multiply (`ir/pipeline.py` says how; cluster, schedule, mma_rows and split are described there). Only then: raster "m" or "n", along which
    clusters of tiles follow each other, `group_m` of them side by side; layout of A and B, "N" or "T" (stored transposed) each; epilogue: some of bias,
    relu, gelu, silu, residual, joined with +. Raises GpusimError for sizes that make no sense.
    """
    bm, bn, bk = parse_tile(tile or DEFAULT_TILE)
    _check({"m": m, "n": n, "k": k, "group_m": group_m}, stages, registers, warps, ld)
    of = dtype_of(dtype)
    if of.name not in ACCUMULATORS:
        raise GpusimError(f"dtype = {of} has no products.", where="gemm", hint=f"Give one of {', '.join(ACCUMULATORS)}.")
    if roles != "none":
        plan = Pipeline(roles, extents(cluster), stages, mma_rows, split, schedule)
        pitches = (lda, ldb, ldc)
        return specialised(m, n, k, (bm, bn, bk), plan, dtype=of.name, layout=layout, pitches=pitches, raster=raster, group=group_m, epilogue=epilogue)
    if layout != "NN" or epilogue or extents(cluster) != (1, 1):
        what = f"layout = '{layout}', epilogue = '{epilogue}', cluster = {cluster} with roles = 'none'."
        raise GpusimError(what, where="gemm", hint=f"Give roles={', '.join(CONSUMERS)}; or write the kernel in Triton.")
    warps = warps or (4 if bm * bn <= 128 * 128 else 8)
    pitch = [_pitch("lda", lda, k, ld), _pitch("ldb", ldb, n, ld), _pitch("ldc", ldc, n, ld)]
    rows, cols = -(-m // bm), -(-n // bn)
    masked = bool(m % bm or n % bn or k % bk)

    bounds = [p if ld == "padded" and given is None else 0 for p, given in zip(pitch, (lda, ldb, ldc), strict=True)]
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n)}
    kinds = ("in", "in", "out")
    tensors = tuple(Tensor(name, of, shape, p, role, bound) for (name, shape), p, role, bound in zip(sizes.items(), pitch, kinds, bounds, strict=True))
    # copies may go as far as a row's padding, if it is theirs
    columns = (bounds[1] or n, bounds[0] or k)
    body = _body(of.name, (int(m), *map(int, columns)), (bm, bn, bk), int(group_m), masked, (int(rows * cols),), warps, stages)
    params = {"m": m, "n": n, "k": k, "tile": f"{bm}x{bn}x{bk}", "warps": warps, "stages": stages, "group_m": group_m, "dtype": of.name, "ld": ld}
    params |= {"lda": pitch[0], "ldb": pitch[1], "ldc": pitch[2]}
    params |= {"registers": registers} if registers else {}
    made = Program("gemm", tensors, (rows * cols,), body, warps, params, flops=2 * m * n * k)
    if tile is not None:
        return made
    given = {"m": m, "n": n, "k": k, "stages": stages, "group_m": group_m, "dtype": of.name, "ld": ld, "lda": lda, "ldb": ldb, "ldc": ldc}
    return replace(made, retile=partial(_retiled, given))


def _check(sizes: dict[str, int], stages: int | None, registers: int | None, warps: int | None, ld: str) -> None:
    for what, value in sizes.items():
        if value < 1:
            raise GpusimError(f"{what} = {value} is not a size.", where="gemm", hint="Give a positive integer.")
    if stages is not None and stages < 1:
        raise GpusimError(f"stages = {stages} is no pipeline depth.", where="gemm", hint="Give 1 (no pipeline) or more.")
    if registers is not None and not 1 <= registers <= 255:
        raise GpusimError(
            f"registers = {registers} is no number of registers of a thread.", where="gemm", hint="Give 1 to 255, or None to have them estimated."
        )
    if warps is not None and warps not in (1, 2, 4, 8, 16, 32):
        raise GpusimError(f"warps = {warps} is not possible.", where="gemm", hint="Give 1, 2, 4, 8, 16 or 32.")
    if ld not in LEADING:
        raise GpusimError(f"ld = '{ld}' is unknown.", where="gemm", hint=f"Give one of {', '.join(LEADING)}.")


@triton.jit
def _tiled(
    a: Any, b: Any, c: Any, M: Any, N: Any, K: Any, lda: Any, ldb: Any, ldc: Any,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, MASKED: tl.constexpr, SUMS: tl.constexpr,
) -> None:  # fmt: skip
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * cols)
    height = tl.minimum(rows - group * GROUP, GROUP)
    pm = group * GROUP + pid % (GROUP * cols) % height
    pn = pid % (GROUP * cols) // height
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    pa = a + rm[:, None] * lda + rk[None, :]
    pb = b + rk[:, None] * ldb + rn[None, :]
    pc = c + rm[:, None] * ldc + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=SUMS)
    for ks in range(0, tl.cdiv(K, BK)):
        if MASKED:
            x = tl.load(pa, mask=(rm[:, None] < M) & (rk[None, :] < K - ks * BK), other=0.0)
            y = tl.load(pb, mask=(rk[:, None] < K - ks * BK) & (rn[None, :] < N), other=0.0)
        else:
            x, y = tl.load(pa), tl.load(pb)
        acc = tl.dot(x, y, acc, input_precision="ieee")
        pa += BK
        pb += BK * ldb
    if MASKED:
        tl.store(pc, acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))
    else:
        tl.store(pc, acc.to(c.dtype.element_ty))


#: the pitch for which the body is made: rows lie farther apart than any product is wide, so that no row can be taken for a part of another
FAR = 1 << 32


@lru_cache(maxsize=1024)
def _body(
    of: str, sizes: tuple[int, int, int], tile: tuple[int, int, int], group_m: int, masked: bool, grid: tuple[int, ...], warps: int, stages: int | None
) -> tuple[Op, ...]:
    """What a block does. It is the same for all pitches. sizes: where the masks end."""
    m, n, k = sizes
    arrays = {name: Array(name, of, shape[0] * FAR, shape, (FAR, 1)) for name, shape in (("a", (m, k)), ("b", (k, n)), ("c", (m, n)))}
    numbers = {"M": m, "N": n, "K": k, "lda": FAR, "ldb": FAR, "ldc": FAR}
    fixed = dict(zip(("BM", "BN", "BK", "GROUP", "MASKED", "SUMS"), (*tile, group_m, masked, BY_IR[ACCUMULATORS[of]]), strict=True))
    made = translate(_tiled.py_func, {**arrays, **numbers, **fixed}, grid, warps, stages, any_extent=True)
    return without_lines(made.body)


def _retiled(given: dict[str, Any], tile: str) -> Program:
    """The product with these arguments and another tile."""
    return gemm(tile=tile, **given)


def extents(cluster: tuple[int, int] | str) -> tuple[int, int]:
    """(rows, columns) of tiles in a cluster from a tuple or from "2x1"."""
    try:
        down, across = (int(c) for c in (cluster.lower().split("x") if isinstance(cluster, str) else cluster))
    except ValueError:
        raise GpusimError(f"cluster = '{cluster}' is not rows x columns of tiles.", where="gemm", hint="Give two integers, such as 2x1.") from None
    return down, across


def parse_tile(tile: tuple[int, int, int] | str) -> tuple[int, int, int]:
    """(BM, BN, BK) from a tuple or from "256x128x64"; each a multiple of 8. What else a device asks of them, its lowering says."""
    try:
        parts = [int(p) for p in tile.lower().split("x")] if isinstance(tile, str) else [int(p) for p in tile]
    except ValueError:
        parts = []
    if len(parts) != 3 or any(p < 8 or p % 8 for p in parts):
        raise GpusimError(
            f"tile '{tile}' is not BMxBNxBK.", where="gemm", hint="Give three powers of two from 16 up, such as 128x128x64; on TPUs, multiples of 8."
        )
    return parts[0], parts[1], parts[2]


def _pitch(what: str, given: int | None, size: int, ld: str) -> int:
    if given is None:
        unit = LEADING[ld]
        return -(-size // unit) * unit
    if given < size:
        raise GpusimError(f"{what} = {given} is less than the row length {size}.", where="gemm", hint=f"Give {size} or more.")
    return given
