"""FlashAttention-2, forward: a CTA keeps a block of queries and walks over the keys. `flash_kernel` of the measured sources is this.

FlashAttention-3 is the same mathematics with other hands: four warps only copy, and the others run ahead with their products.
"""

from __future__ import annotations

from dataclasses import replace

from gpusim.ir.build import Builder
from gpusim.ir.expr import cdiv
from gpusim.ir.program import Program
from gpusim.kernels.attention import online
from gpusim.kernels.attention.shape import Shape, arrays, ends, params


def forward(s: Shape, variant: str) -> Program:
    """Grid [blocks of queries, batch heads]; blocks of keys that no query of the CTA sees are not visited."""
    b = Builder("attention", grid=(s.blocks, s.batch * s.heads), warps=s.warps)
    t = arrays(b, s)
    pm, head = b.program_id(0), b.program_id(1)
    first = b.let("first", pm * s.rows)
    queries = b.let("queries", head * s.queries)
    keys = b.let("keys", head // (s.heads // s.kv_heads) * s.keys)
    q = b.load(t.q, (queries + first, 0), (s.rows, s.head_dim), not s.even, limits=ends(s, queries + s.queries))
    run = online.begin(b, s)
    place = first + (s.keys - s.queries)
    stop = cdiv((place + s.rows).minimum(s.keys), s.cols) if s.causal else -(-s.keys // s.cols)
    start = b.let("begin", (place - (s.window - 1)).maximum(0) // s.cols) if s.window else 0
    with b.loop("block", stop, start, stages=s.stages) as block:
        kt = b.load(t.k, (keys + block * s.cols, 0), (s.cols, s.head_dim), not s.even, axes=(1, 0), limits=ends(s, keys + s.keys))
        x = online.scores(b, s, q, kt, place, block * s.cols)
        pair = (queries + first) * s.keys + block * s.cols if s.dropout else None
        online.update(b, s, run, x, t.v, (keys + block * s.cols, 0), keys + s.keys, pair)
    o = b.cast(b.map("div", run.acc, run.total), s.dtype)
    b.store(t.o, (queries + first, 0), o, (s.rows, s.head_dim), not s.even, limits=ends(s, queries + s.queries))
    if s.statistics:
        lse = b.tensor("lse", "fp32", (s.batch * s.heads * s.queries, 1), role="out")
        b.store(lse, (queries + first, 0), b.map("add", run.m, b.map("log2", run.total)), (s.rows, 1), not s.even, limits=ends(s, queries + s.queries))
    return b.finish(params(s, variant, "forward"), flops=2 * s.products)


def specialised(s: Shape, variant: str) -> Program:
    """The same with four more warps that only copy."""
    made = forward(s, variant)
    return replace(made, params=made.params | {"producers": 4})
