"""C[M, N] = A[M, K] @ B[K, N]: one block per output tile, blocks rasterised in groups of `group_m` tile rows.

The index arithmetic and the loop are those of `gemm_kernel` in the measured sources (Triton's tutorial order).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.program import Program
from gpusim.ir.types import dtype as dtype_of

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
) -> Program:
    """A tiled matrix product with fp32 accumulation (fp64 for fp64).

    m, n, k: sizes in elements. tile: (BM, BN, BK) or "256x128x64"; None leaves it to the device: 128x128x64 on GPUs. warps per block: 4 up to 128x128, else 8.
    stages of the software pipeline: the most up to 4 that fit the device. ld: "padded" rounds leading dimensions up to
    16 elements and lets copies touch the padding, "packed" does neither; lda, ldb, ldc (elements) set a pitch whose padding
    is not touched. Raises GpusimError for sizes that make no sense.
    """
    bm, bn, bk = parse_tile(tile or DEFAULT_TILE)
    for what, value in (("m", m), ("n", n), ("k", k), ("group_m", group_m)):
        if value < 1:
            raise GpusimError(f"{what} = {value} is not a size.", where="gemm", hint="Give a positive integer.")
    if stages is not None and stages < 1:
        raise GpusimError(f"stages = {stages} is no pipeline depth.", where="gemm", hint="Give 1 (no pipeline) or more.")
    if warps is not None and warps not in (1, 2, 4, 8, 16, 32):
        raise GpusimError(f"warps = {warps} is not possible.", where="gemm", hint="Give 1, 2, 4, 8, 16 or 32.")
    if ld not in LEADING:
        raise GpusimError(f"ld = '{ld}' is unknown.", where="gemm", hint=f"Give one of {', '.join(LEADING)}.")
    of = dtype_of(dtype)
    if of.name not in ACCUMULATORS:
        raise GpusimError(f"dtype = {of} has no products.", where="gemm", hint=f"Give one of {', '.join(ACCUMULATORS)}.")
    warps = warps or (4 if bm * bn <= 128 * 128 else 8)
    pitch = [_pitch("lda", lda, k, ld), _pitch("ldb", ldb, n, ld), _pitch("ldc", ldc, n, ld)]
    rows, cols, steps = -(-m // bm), -(-n // bn), -(-k // bk)
    masked = bool(m % bm or n % bn or k % bk)

    b = Builder("gemm", grid=(rows * cols,), warps=warps)
    bounds = [p if ld == "padded" and given is None else 0 for p, given in zip(pitch, (lda, ldb, ldc), strict=True)]
    ta = b.tensor("a", of, (m, k), pitch[0], bound=bounds[0])
    tb = b.tensor("b", of, (k, n), pitch[1], bound=bounds[1])
    tc = b.tensor("c", of, (m, n), pitch[2], role="out", bound=bounds[2])
    pid = b.program_id(0)
    group = b.let("group", pid // (group_m * cols))
    height = b.let("height", (rows - group * group_m).minimum(group_m))
    pm = b.let("pm", group * group_m + pid % (group_m * cols) % height)
    pn = b.let("pn", pid % (group_m * cols) // height)
    acc = b.full((bm, bn), ACCUMULATORS[of.name])
    with b.loop("ks", steps, stages=stages) as ks:
        x = b.load(ta, (pm * bm, ks * bk), (bm, bk), masked)
        y = b.load(tb, (ks * bk, pn * bn), (bk, bn), masked)
        b.dot(acc, x, y)
    b.store(tc, (pm * bm, pn * bn), b.cast(acc, of), (bm, bn), masked=masked)
    params = {"m": m, "n": n, "k": k, "tile": f"{bm}x{bn}x{bk}", "warps": warps, "stages": stages, "group_m": group_m, "dtype": of.name, "ld": ld}
    params |= {"lda": pitch[0], "ldb": pitch[1], "ldc": pitch[2]}
    made = b.finish(params, flops=2 * m * n * k)
    if tile is not None:
        return made
    given = {"m": m, "n": n, "k": k, "stages": stages, "group_m": group_m, "dtype": of.name, "ld": ld, "lda": lda, "ldb": ldb, "ldc": ldc}
    return replace(made, retile=partial(_retiled, given))


def _retiled(given: dict[str, Any], tile: str) -> Program:
    """The product with these arguments and another tile."""
    return gemm(tile=tile, **given)


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
