"""FlashAttention-1, forward: a CTA has a whole head. The outer loop walks over blocks of keys, the inner one over blocks of queries, whose outputs
and statistics wait in memory between two visits. (Dao et al. 2022, algorithm 1.)

Each visit reads Q and O and writes O: with N / Bc blocks of keys the SMs ask for (2 + 3 N / Bc) |Q| bytes, K and V once and three times |Q| a block.
"""

from __future__ import annotations

from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.kernels.attention import online
from gpusim.kernels.attention.shape import WHERE, Shape, params


def outer(s: Shape, variant: str) -> Program:
    """Grid [batch heads]. o, m, l are read before they are written, and what they held at first does not matter."""
    if not s.even or s.dropout or s.window or s.causal:
        hint = "Choose seq as a multiple of both sides of block, or variant='fa2'."
        raise GpusimError("variant 'fa1' takes whole tiles, and neither masks nor dropout.", where=WHERE, hint=hint)
    rows, cols = s.batch * s.heads * s.queries, s.batch * s.kv_heads * s.keys
    b = Builder("attention", grid=(s.batch * s.heads,), warps=s.warps)
    q = b.tensor("q", s.dtype, (rows, s.head_dim))
    k, v = (b.tensor(name, s.dtype, (cols, s.head_dim)) for name in ("k", "v"))
    o = b.tensor("o", s.dtype, (rows, s.head_dim), role="inout")
    m, total = (b.tensor(name, "fp32", (rows, 1), role="inout") for name in ("m", "l"))
    head = b.program_id(0)
    queries, keys = b.let("queries", head * s.queries), b.let("keys", head // (s.heads // s.kv_heads) * s.keys)
    with b.loop("j", s.keys // s.cols) as j:
        kt = b.load(k, (keys + j * s.cols, 0), (s.cols, s.head_dim), axes=(1, 0))
        vb = b.load(v, (keys + j * s.cols, 0), (s.cols, s.head_dim))
        with b.loop("i", s.queries // s.rows, stages=s.stages) as i:
            at = (queries + i * s.rows, 0)
            qb = b.load(q, at, (s.rows, s.head_dim))
            old_o, old_m, old_l = b.load(o, at, (s.rows, s.head_dim)), b.load(m, at, (s.rows, 1)), b.load(total, at, (s.rows, 1))
            x = online.scores(b, s, qb, kt, i * s.rows, j * s.cols)
            later = b.map("gt", b.index((1, 1), j, (0, 0)), b.full((1, 1), "int32", 0))
            old_m = b.map("where", later, old_m, b.full((1, 1), "fp32", online.NEVER))
            old_l = b.map("where", later, old_l, b.full((1, 1), "fp32"))
            new_m = b.map("maximum", old_m, b.reduce("max", x, 1))
            p = b.map("exp2", b.map("sub", x, new_m))
            weight = b.map("mul", old_l, b.map("exp2", b.map("sub", old_m, new_m)))
            new_l = b.map("add", weight, b.reduce("sum", p, 1))
            acc = b.full((s.rows, s.head_dim), "fp32")
            b.dot(acc, b.cast(p, s.dtype), vb)
            kept = b.map("where", later, b.map("mul", b.cast(old_o, "fp32"), weight), b.full((1, 1), "fp32"))
            b.store(o, at, b.cast(b.map("div", b.map("add", kept, acc), new_l), s.dtype), (s.rows, s.head_dim))
            b.store(m, at, new_m, (s.rows, 1))
            b.store(total, at, new_l, (s.rows, 1))
    return b.finish(params(s, variant, "forward"), flops=2 * s.products)
