"""Gradients of attention with recomputation: scores are computed again from Q, K and the statistics of the forward pass, never stored.

With P = softmax(scale Q K^T), row statistics L = m + log2 l (forward, in units of log2) and D = rowsum(dO o O):
  dV = P^T dO, dP = dO V^T, dS = P o (dP - D), dQ = scale dS K, dK = scale dS^T Q.    (Dao et al. 2022, algorithm 4)
Three kernels: D; dK and dV, a block of keys a CTA; dQ, a block of queries a CTA. Nobody adds to what another writes, so there are no atomics;
scores are computed twice for that: seven products instead of five.
"""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.expr import cdiv
from gpusim.ir.program import Program, Tensor
from gpusim.kernels.attention.online import visible
from gpusim.kernels.attention.shape import LOG2E, Shape, params


def backward(s: Shape, variant: str) -> tuple[Program, ...]:
    """D, then dK and dV, then dQ. The arrays lse and delta [batch heads queries, 1] in fp32 hold L and D."""
    if not s.even or s.dropout or s.heads != s.kv_heads or s.queries != s.keys or s.window:
        what = "the backward pass takes whole tiles, as many queries as keys, heads of their own, and neither windows nor dropout"
        raise GpusimError(f"{what}.", where="attention", hint="Choose seq as a multiple of both sides of block, and leave the others out.")
    return delta_kernel(s, variant), keys_kernel(s, variant), queries_kernel(s, variant)


def _rows(s: Shape) -> int:
    return s.batch * s.heads * s.queries


def _array(b: Builder, s: Shape, name: str, role: str = "in") -> Tensor:
    return b.tensor(name, s.dtype, (_rows(s), s.head_dim), role=role)


def delta_kernel(s: Shape, variant: str) -> Program:
    """D = rowsum(dO o O), one row a CTA."""
    wide = 1 << (s.head_dim - 1).bit_length()
    b = Builder("attention_delta", (_rows(s),), 1)
    o, do, out = _array(b, s, "o"), _array(b, s, "do"), b.tensor("delta", "fp32", (_rows(s), 1), role="out")
    at, cut = (b.program_id(0), 0), wide > s.head_dim
    x, y = (b.cast(b.load(t, at, (1, wide), masked=cut), "fp32") for t in (o, do))
    b.store(out, at, b.reduce("sum", b.map("mul", x, y), 1), (1, 1))
    return b.finish(params(s, variant, "backward"), flops=2 * _rows(s) * s.head_dim)


def keys_kernel(s: Shape, variant: str) -> Program:
    """dK and dV. Everything is transposed, so that rows are keys and the weights lie as an A operand must: P^T [keys, queries]."""
    b = Builder("attention_dkdv", (s.keys // s.rows, s.batch * s.heads), s.warps)
    q, k, v, do = (_array(b, s, name) for name in ("q", "k", "v", "do"))
    lse, delta = b.tensor("lse", "fp32", (_rows(s), 1)), b.tensor("delta", "fp32", (_rows(s), 1))
    dk_out, dv_out = _array(b, s, "dk", "out"), _array(b, s, "dv", "out")
    first = b.let("first", b.program_id(0) * s.rows)
    base = b.let("base", b.program_id(1) * s.keys)
    kb, vb = (b.load(t, (base + first, 0), (s.rows, s.head_dim)) for t in (k, v))
    dk, dv = b.full((s.rows, s.head_dim), "fp32"), b.full((s.rows, s.head_dim), "fp32")
    start = b.let("begin", first // s.cols) if s.causal else 0
    with b.loop("block", s.queries // s.cols, start, stages=s.stages) as block:
        at = base + block * s.cols
        qb, dob = (b.load(t, (at, 0), (s.cols, s.head_dim)) for t in (q, do))
        x = b.full((s.rows, s.cols), "fp32")
        b.dot(x, kb, b.transpose(qb, (1, 0)))
        row_l, row_d = (b.load(t, (at, 0), (s.cols, 1), axes=(1, 0)) for t in (lse, delta))
        p = b.map("exp2", b.map("sub", b.map("mul", x, b.full((1, 1), "fp32", s.scale * LOG2E)), row_l))
        if s.causal:
            keys = b.index((s.rows, 1), first, (1, 0))
            queries = b.index((1, s.cols), block * s.cols, (0, 1))
            p = b.map("where", b.map("ge", queries, keys), p, b.full((1, 1), "fp32"))
        b.dot(dv, b.cast(p, s.dtype), dob)
        dp = b.full((s.rows, s.cols), "fp32")
        b.dot(dp, vb, b.transpose(dob, (1, 0)))
        ds = b.map("mul", p, b.map("sub", dp, row_d))
        b.dot(dk, b.cast(ds, s.dtype), qb)
    for out, acc, factor in ((dv_out, dv, 1.0), (dk_out, dk, s.scale)):
        b.store(out, (base + first, 0), b.cast(b.map("mul", acc, b.full((1, 1), "fp32", factor)), s.dtype), (s.rows, s.head_dim))
    return b.finish(params(s, variant, "backward"), flops=4 * s.products)


def queries_kernel(s: Shape, variant: str) -> Program:
    """dQ, in the order of the forward pass."""
    b = Builder("attention_dq", (s.blocks, s.batch * s.heads), s.warps)
    q, k, v, do = (_array(b, s, name) for name in ("q", "k", "v", "do"))
    lse, delta = b.tensor("lse", "fp32", (_rows(s), 1)), b.tensor("delta", "fp32", (_rows(s), 1))
    out = _array(b, s, "dq", "out")
    first, base = b.let("first", b.program_id(0) * s.rows), b.let("base", b.program_id(1) * s.queries)
    qb, dob = (b.load(t, (base + first, 0), (s.rows, s.head_dim)) for t in (q, do))
    row_l, row_d = (b.load(t, (base + first, 0), (s.rows, 1)) for t in (lse, delta))
    dq = b.full((s.rows, s.head_dim), "fp32")
    stop = cdiv((first + s.rows).minimum(s.keys), s.cols) if s.causal else s.keys // s.cols
    with b.loop("block", stop, stages=s.stages) as block:
        kb, vb = (b.load(t, (base + block * s.cols, 0), (s.cols, s.head_dim)) for t in (k, v))
        x = b.full((s.rows, s.cols), "fp32")
        b.dot(x, qb, b.transpose(kb, (1, 0)))
        p = b.map("exp2", b.map("sub", b.map("mul", x, b.full((1, 1), "fp32", s.scale * LOG2E)), row_l))
        seen = visible(b, s, first, block * s.cols)
        p = b.map("where", seen, p, b.full((1, 1), "fp32")) if seen else p
        dp = b.full((s.rows, s.cols), "fp32")
        b.dot(dp, dob, b.transpose(vb, (1, 0)))
        ds = b.map("mul", p, b.map("sub", dp, row_d))
        b.dot(dq, b.cast(ds, s.dtype), kb)
    b.store(out, (base + first, 0), b.cast(b.map("mul", dq, b.full((1, 1), "fp32", s.scale)), s.dtype), (s.rows, s.head_dim))
    return b.finish(params(s, variant, "backward"), flops=3 * s.products)
