"""Attention as three kernels: scores to memory, softmax of their rows, weights times values. S and P are [batch heads queries, keys].

A head of 4096 queries and keys has 32 MB of scores and 32 MB of weights in 16 bits; what the one-kernel variants save is writing and reading them.
"""

from __future__ import annotations

from dataclasses import replace

from gpusim.ir.build import Builder
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.program import Program
from gpusim.kernels.attention.online import NEVER, visible
from gpusim.kernels.attention.shape import Shape, params

#: tile of the two products, warps and columns or keys of a step
TILE, WARPS, STEP = 128, 4, 64
#: a row of the softmax in registers has at most this many warps, one for so many elements
ROW_WARPS, ROW_ELEMENTS = 16, 512


def naive(s: Shape, variant: str) -> tuple[Program, ...]:
    """Scores, softmax, output; the arrays s, p stand in memory between them."""
    return scores_kernel(s, variant), softmax_kernel(s, variant), output_kernel(s, variant)


def _grid(s: Shape, cols: int) -> tuple[int, int, int]:
    return -(-s.queries // TILE), -(-cols // TILE), s.batch * s.heads


def scores_kernel(s: Shape, variant: str) -> Program:
    """S = scale Q K^T, -inf where a query does not see a key: every tile is computed, also those that no query sees."""
    b = Builder("attention_scores", _grid(s, s.keys), WARPS)
    q = b.tensor("q", s.dtype, (s.batch * s.heads * s.queries, s.head_dim))
    k = b.tensor("k", s.dtype, (s.batch * s.kv_heads * s.keys, s.head_dim))
    out = b.tensor("s", s.dtype, (s.batch * s.heads * s.queries, s.keys), role="out")
    head = b.program_id(2)
    queries, keys = b.let("queries", head * s.queries), b.let("keys", head // (s.heads // s.kv_heads) * s.keys)
    i, j = b.let("i", b.program_id(0) * TILE), b.let("j", b.program_id(1) * TILE)
    step = min(STEP, s.head_dim)
    acc = b.full((TILE, TILE), ACCUMULATORS[s.dtype.name])
    cut = bool(s.queries % TILE or s.keys % TILE)
    with b.loop("d", -(-s.head_dim // step), stages=s.stages or min(2, 1 + s.head_dim // step)) as d:
        x = b.load(q, (queries + i, d * step), (TILE, step), cut or bool(s.head_dim % step), limits=(queries + s.queries, None) if cut else ())
        y = b.load(k, (keys + j, d * step), (TILE, step), cut or bool(s.head_dim % step), axes=(1, 0), limits=(keys + s.keys, None) if cut else ())
        b.dot(acc, x, y)
    scaled = b.map("mul", acc, b.full((1, 1), "fp32", s.scale))
    if s.causal:
        seen = visible(b, replace(s, rows=TILE, cols=TILE), i + (s.keys - s.queries), j)
        scaled = b.map("where", seen, scaled, b.full((1, 1), "fp32", NEVER))
    b.store(out, (queries + i, j), b.cast(scaled, s.dtype), (TILE, TILE), masked=cut, limits=(queries + s.queries, None) if cut else ())
    return b.finish(params(s, variant, "forward"), flops=2 * s.batch * s.heads * s.queries * s.keys * s.head_dim)


def softmax_kernel(s: Shape, variant: str) -> Program:
    """P = softmax of the rows of S, one row a CTA, in registers."""
    rows = s.batch * s.heads * s.queries
    block = 1 << max(0, s.keys - 1).bit_length()
    b = Builder("attention_softmax", (rows,), max(4, min(ROW_WARPS, block // ROW_ELEMENTS)))
    x, y = b.tensor("s", s.dtype, (rows, s.keys)), b.tensor("p", s.dtype, (rows, s.keys), role="out")
    row = b.load(x, (b.program_id(0), 0), (1, block), True, NEVER)
    wide = b.cast(row, "fp32")
    e = b.map("exp", b.map("sub", wide, b.reduce("max", wide, 1)))
    p = b.map("div", e, b.reduce("sum", e, 1))
    b.store(y, (b.program_id(0), 0), b.cast(p, s.dtype), (1, block), masked=True)
    return b.finish(params(s, variant, "forward"), flops=5 * rows * s.keys)


def output_kernel(s: Shape, variant: str) -> Program:
    """O = P V."""
    cols = min(TILE, s.head_dim)
    b = Builder("attention_output", (-(-s.queries // TILE), -(-s.head_dim // cols), s.batch * s.heads), WARPS)
    p = b.tensor("p", s.dtype, (s.batch * s.heads * s.queries, s.keys))
    v = b.tensor("v", s.dtype, (s.batch * s.kv_heads * s.keys, s.head_dim))
    out = b.tensor("o", s.dtype, (s.batch * s.heads * s.queries, s.head_dim), role="out")
    head = b.program_id(2)
    queries, keys = b.let("queries", head * s.queries), b.let("keys", head // (s.heads // s.kv_heads) * s.keys)
    i, j = b.let("i", b.program_id(0) * TILE), b.let("j", b.program_id(1) * cols)
    cut = bool(s.queries % TILE or s.keys % STEP or s.head_dim % cols)
    acc = b.full((TILE, cols), ACCUMULATORS[s.dtype.name])
    with b.loop("step", -(-s.keys // STEP), stages=s.stages) as step:
        x = b.load(p, (queries + i, step * STEP), (TILE, STEP), cut, limits=(queries + s.queries, None) if cut else ())
        y = b.load(v, (keys + step * STEP, j), (STEP, cols), cut, limits=(keys + s.keys, None) if cut else ())
        b.dot(acc, x, y)
    b.store(out, (queries + i, j), b.cast(acc, s.dtype), (TILE, cols), masked=cut, limits=(queries + s.queries, None) if cut else ())
    return b.finish(params(s, variant, "forward"), flops=2 * s.batch * s.heads * s.queries * s.keys * s.head_dim)
