"""The step that all one-kernel attentions share: scores of a block of keys, and the update of maximum, sum and output.

For each row with scores x of the new block, m the maximum so far, l the sum of exp(x - m), acc the sum of exp(x - m) v:
  m' = max(m, max x), c = exp(m - m'), p = exp(x - m'), l' = c l + sum p, acc' = c acc + p v.
At the end o = acc / l. (Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1.)
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.build import Builder
from gpusim.ir.expr import Expr, ExprLike
from gpusim.ir.program import Tensor
from gpusim.kernels.attention.shape import LOG2E, Shape, ends

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Running:
    """Names of the tiles that the loop carries: maximum [rows, 1] in units of log2, sum [rows, 1], output [rows, head_dim], all fp32."""

    m: str
    total: str
    acc: str


def begin(b: Builder, s: Shape) -> Running:
    """Before the first block of keys."""
    m = b.full((s.rows, 1), "fp32", NEVER)
    return Running(m, b.full((s.rows, 1), "fp32"), b.full((s.rows, s.head_dim), "fp32"))


def scores(b: Builder, s: Shape, q: str, kt: str, first_query: ExprLike, first_key: ExprLike) -> str:
    """Scores [rows, cols] in units of log2: scale log2(e) q k^T, -inf where a query does not see a key."""
    x = b.full((s.rows, s.cols), "fp32")
    b.dot(x, q, kt)
    x = b.map("mul", x, b.full((1, 1), "fp32", s.scale * LOG2E))
    seen = visible(b, s, first_query, first_key)
    return b.map("where", seen, x, b.full((1, 1), "fp32", NEVER)) if seen else x


def visible(b: Builder, s: Shape, first_query: ExprLike, first_key: ExprLike) -> str:
    """A bool tile: does query i see key j? "" where every query sees every key of the block. Places are counted from the first key."""
    if not s.causal and s.keys % s.cols == 0:
        return ""
    keys = b.index((1, s.cols), first_key, (0, 1))
    if not s.causal:
        return b.map("lt", keys, b.full((1, 1), "int32", s.keys))
    queries = b.index((s.rows, 1), first_query, (1, 0))
    seen = b.map("ge", queries, keys)
    if s.window:
        near = b.map("lt", b.map("sub", queries, keys), b.full((1, 1), "int32", s.window))
        seen = b.map("logical_and", seen, near)
    return seen


def update(
    b: Builder, s: Shape, run: Running, x: str, v: Tensor, at: tuple[ExprLike, ExprLike], end: ExprLike, kept: Expr | None = None, guarded: bool = False
) -> None:
    """One block of keys: maximum, sum and output take in the scores `x` and the values of `v` at `at`, which end at row `end`. kept: the number of the
    block's first pair, where weights are dropped. guarded: a row may have seen no key yet."""
    mn = b.map("maximum", run.m, b.reduce("max", x, 1))
    base = b.map("where", b.map("eq", mn, b.full((1, 1), "fp32", NEVER)), b.full((1, 1), "fp32"), mn) if s.window or (guarded and s.causal) else mn
    p = b.map("exp2", b.map("sub", x, base))
    c = b.map("exp2", b.map("sub", run.m, base))
    b.update(run.total, b.map("add", b.map("mul", run.total, c), b.reduce("sum", p, 1)))
    b.update(run.acc, b.map("mul", run.acc, c))
    if kept is not None:
        p = dropped(b, s, p, kept)
    vb = b.load(v, at, (s.cols, s.head_dim), not s.even, limits=ends(s, end))
    b.dot(run.acc, b.cast(p, s.dtype), vb)
    b.update(run.m, mn)


def dropped(b: Builder, s: Shape, p: str, first: Expr) -> str:
    """`p` with elements dropped and the others enlarged by 1 / (1 - dropout). Which ones follows from seed and place alone, so that the backward
    pass finds the same mask. first: the number of the tile's first pair; a row of scores has `keys` numbers."""
    number = b.index((s.rows, s.cols), first, (s.keys, 1))
    draw = b.map("uniform", b.map("philox0", b.full((1, 1), "int32", s.seed), number))
    keep = b.map("ge", draw, b.full((1, 1), "fp32", s.dropout))
    grown = b.map("mul", p, b.full((1, 1), "fp32", 1.0 / (1.0 - s.dropout)))
    return b.map("where", keep, grown, b.full((1, 1), "fp32"))
