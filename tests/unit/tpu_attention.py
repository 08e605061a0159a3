"""Attention of one block of rows with a running maximum, in Triton's spelling: boxes only, so that a TPU can run it."""

from __future__ import annotations

from typing import Any

import gpusim.triton as triton
import gpusim.triton.language as tl


@triton.jit
def attention(q: Any, k: Any, v: Any, o: Any, size: Any, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):  # type: ignore[no-untyped-def]
    first, head = tl.program_id(0) * BM, tl.program_id(1) * size * D
    rows, columns, depth = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    mine = tl.load(q + head + rows[:, None] * D + depth[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = size
    if CAUSAL:
        end = first + BM
    for at in range(0, end, BN):
        keys = tl.load(k + head + (at + columns)[None, :] * D + depth[:, None])
        scores = tl.dot(mine, keys) * 0.125
        if CAUSAL:
            scores = tl.where(rows[:, None] >= (at + columns)[None, :], scores, -float("inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - higher[:, None])
        less = tl.exp(top - higher)
        total = total * less + tl.sum(weights, 1)
        values = tl.load(v + head + (at + columns)[:, None] * D + depth[None, :])
        acc = tl.dot(weights, values, acc * less[:, None])
        top = higher
    tl.store(o + head + rows[:, None] * D + depth[None, :], acc / total[:, None])
