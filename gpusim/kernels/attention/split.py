"""Attention with the keys of a head divided among CTAs (flash decoding): for few queries and many keys, where one CTA a head leaves SMs idle.

Each CTA computes maximum, sum and output of its share of the keys; a second kernel puts the shares together:
  m = max m_i, o = sum exp(m_i - m) l_i o_i / sum exp(m_i - m) l_i.
"""

from __future__ import annotations

from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.kernels.attention import online
from gpusim.kernels.attention.shape import Shape, ends, params

#: CTAs that a launch should have: about two for each SM of a large chip
WANTED = 264


def shares(s: Shape) -> int:
    """Into how many shares the keys of a head are divided: enough CTAs, and at least two blocks of keys each."""
    ctas, blocks = s.blocks * s.batch * s.heads, -(-s.keys // s.cols)
    return max(1, min(-(-WANTED // ctas), blocks // 2))


def split(s: Shape, variant: str) -> tuple[Program, ...]:
    """The shares, and their sum. The arrays part [shares batch heads queries, head_dim], m and l [shares batch heads queries, 1] stand between them."""
    return partial_kernel(s, variant), combine_kernel(s, variant)


def partial_kernel(s: Shape, variant: str) -> Program:
    """Grid [blocks of queries, batch heads, shares]."""
    n, rows = shares(s), s.batch * s.heads * s.queries
    b = Builder("attention_split", (s.blocks, s.batch * s.heads, n), s.warps)
    q = b.tensor("q", s.dtype, (rows, s.head_dim))
    k = b.tensor("k", s.dtype, (s.batch * s.kv_heads * s.keys, s.head_dim))
    v = b.tensor("v", s.dtype, (s.batch * s.kv_heads * s.keys, s.head_dim))
    part = b.tensor("part", "fp32", (n * rows, s.head_dim), role="out")
    m, total = b.tensor("m", "fp32", (n * rows, 1), role="out"), b.tensor("l", "fp32", (n * rows, 1), role="out")
    head, share = b.program_id(1), b.program_id(2)
    first = b.let("first", b.program_id(0) * s.rows)
    queries, keys = b.let("queries", head * s.queries), b.let("keys", head // (s.heads // s.kv_heads) * s.keys)
    blocks = -(-s.keys // s.cols)
    each = -(-blocks // n)
    begin = b.let("begin", share * each)
    qb = b.load(q, (queries + first, 0), (s.rows, s.head_dim), not s.even, limits=ends(s, queries + s.queries))
    run = online.begin(b, s)
    stop = (begin + each).minimum(blocks)
    with b.loop("block", stop, begin, stages=s.stages) as block:
        kt = b.load(k, (keys + block * s.cols, 0), (s.cols, s.head_dim), not s.even, axes=(1, 0), limits=ends(s, keys + s.keys))
        x = online.scores(b, s, qb, kt, first + (s.keys - s.queries), block * s.cols)
        online.update(b, s, run, x, v, (keys + block * s.cols, 0), keys + s.keys, guarded=True)
    at = share * rows + queries + first
    last = ends(s, share * rows + queries + s.queries)
    b.store(part, (at, 0), run.acc, (s.rows, s.head_dim), not s.even, limits=last)
    b.store(m, (at, 0), run.m, (s.rows, 1), not s.even, limits=last)
    b.store(total, (at, 0), run.total, (s.rows, 1), not s.even, limits=last)
    return b.finish(params(s, variant, "forward") | {"shares": n}, flops=2 * s.products)


def combine_kernel(s: Shape, variant: str) -> Program:
    """One row of queries a CTA."""
    n, rows = shares(s), s.batch * s.heads * s.queries
    b = Builder("attention_combine", (rows,), 1)
    part = b.tensor("part", "fp32", (n * rows, s.head_dim))
    m, total = b.tensor("m", "fp32", (n * rows, 1)), b.tensor("l", "fp32", (n * rows, 1))
    out = b.tensor("o", s.dtype, (rows, s.head_dim), role="out")
    row, wide = b.program_id(0), 1 << (s.head_dim - 1).bit_length()
    so_far, weight, acc = b.full((1, 1), "fp32", online.NEVER), b.full((1, 1), "fp32"), b.full((1, wide), "fp32")
    with b.loop("share", n) as share:
        mi = b.load(m, (share * rows + row, 0), (1, 1))
        li = b.load(total, (share * rows + row, 0), (1, 1))
        oi = b.load(part, (share * rows + row, 0), (1, wide), masked=wide > s.head_dim)
        new = b.map("maximum", so_far, mi)
        old, now = b.map("exp2", b.map("sub", so_far, new)), b.map("exp2", b.map("sub", mi, new))
        b.update(weight, b.map("add", b.map("mul", weight, old), b.map("mul", li, now)))
        b.update(acc, b.map("add", b.map("mul", acc, old), b.map("mul", oi, now)))
        b.update(so_far, new)
    b.store(out, (row, 0), b.cast(b.map("div", acc, weight), s.dtype), (1, wide), masked=wide > s.head_dim)
    return b.finish(params(s, variant, "forward") | {"shares": n}, flops=4 * n * rows * s.head_dim)
