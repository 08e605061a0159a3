"""C = A @ B with k divided among CTAs, for products with fewer tiles than SMs: shares side by side, then their sum.

The shares are products by warps with roles, in fp32; a second kernel adds them up, rounds, and does what the epilogue asks for.
"""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.pipeline import Pipeline
from gpusim.ir.program import Program
from gpusim.kernels.behind import STEPS, Place
from gpusim.kernels.gemm import extents, parse_tile
from gpusim.kernels.specialised import specialised, words

#: columns of a CTA that adds up, and its warps
STRIP, WARPS = 1024, 4


def gemm_split_k(
    m: int = 128,
    n: int = 4096,
    k: int = 16384,
    *,
    splits: int = 4,
    tile: tuple[int, int, int] | str = "128x128x64",
    stages: int | None = None,
    roles: str = "cooperative",
    cluster: tuple[int, int] | str = "1x1",
    schedule: str = "persistent",
    mma_rows: str = "m",
    split: str = "rows",
    raster: str = "n",
    group_m: int = 8,
    dtype: str = "bf16",
    layout: str = "NN",
    epilogue: str = "",
) -> tuple[Program, ...]:
    """The shares, and their sum; the array c of the first, [splits m, n] fp32, is `part` of the second. splits: shares of k, each a multiple of BK
    but the last. The rest is as of `gemm` with roles. Raises GpusimError for what cannot be divided so."""
    if min(m, n, k, splits) < 1:
        raise GpusimError(f"m = {m}, n = {n}, k = {k}, splits = {splits}: each is at least 1.", where="gemm_split_k")
    plan = Pipeline(roles, extents(cluster), stages, mma_rows, split, schedule)
    shares = specialised(m, n, k, parse_tile(tile), plan, dtype=dtype, out="fp32", layout=layout, raster=raster, group=group_m, splits=splits)
    return shares, _sum(m, n, splits, dtype, epilogue)


def _sum(m: int, n: int, splits: int, dtype: str, epilogue: str) -> Program:
    """Grid [rows, strips of columns]."""
    wide = min(STRIP, 1 << (n - 1).bit_length())
    strips = -(-n // wide)
    build = Builder("gemm_sum", (m, strips), WARPS)
    part, c = build.tensor("part", "fp32", (splits * m, n)), build.tensor("c", dtype, (m, n), role="out")
    row, column, masked = build.program_id(0), build.program_id(1) * wide, n % wide > 0
    sums = build.load(part, (row, column), (1, wide), masked)
    for share in range(1, splits):
        sums = build.map("add", sums, build.load(part, (row + share * m, column), (1, wide), masked))
    at = Place((row, column), (1, wide), masked)
    for word in words(epilogue):
        sums = STEPS[word](build, c, at, sums)
    build.store(c, at.origin, build.cast(sums, c.dtype), at.shape, masked)
    return build.finish({"m": m, "n": n, "splits": splits, "dtype": c.dtype.name, "epilogue": epilogue}, flops=splits * m * n)
