"""What attention should compute: NumPy in float64, the mask of dropout included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim.ir.program import Program


def heads_of(program: Program, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q [batch, heads, queries, head_dim], K and V [batch, heads, keys, head_dim] with shared heads repeated, in float64."""
    p = program.params
    batch, heads, shared, d = p["batch"], p["heads"], p["kv_heads"], p["head_dim"]
    q = inputs["q"].astype(np.float64).reshape(batch, heads, -1, d)
    k, v = (inputs[name].astype(np.float64).reshape(batch, shared, -1, d).repeat(heads // shared, axis=1) for name in ("k", "v"))
    return q, k, v


def weights(p: Mapping[str, Any], q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """softmax of the visible scores [batch, heads, queries, keys]."""
    x = q @ k.swapaxes(-1, -2) / np.sqrt(p["head_dim"])
    queries, keys = x.shape[-2:]
    i, j = np.arange(queries)[:, None] + keys - queries, np.arange(keys)
    seen = np.ones((queries, keys), bool) if not p["causal"] else j <= i
    if "window" in p:
        seen &= i - j < p["window"]
    x = np.where(seen, x, -np.inf)
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def kept(p: Mapping[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """Factor of each weight under dropout: 0 or 1 / (1 - dropout). The weight's number is the counter, the seed the key; the draw is the first word."""
    if "dropout" not in p:
        return np.ones(shape)
    word = philox(np.arange(np.prod(shape), dtype=np.uint64).reshape(shape), p["seed"]).astype(np.int32)
    draw = np.where(word < 0, -1 - word, word).astype(np.float32) * np.float32(4.6566127342e-10)
    return (draw >= np.float32(p["dropout"])) / (1.0 - p["dropout"])


def philox(counter: np.ndarray, seed: int) -> np.ndarray:
    """First word (uint32) of Philox 4x32-10 for the counter (n, 0, 0, 0) and the key (seed, 0). Salmon et al., SC 2011."""
    low = np.uint64(0xFFFFFFFF)
    c = [counter & low, counter * 0, counter * 0, counter * 0]
    key = (np.uint64(seed), np.uint64(0))
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [b >> np.uint64(32) ^ c[1] ^ key[0], b & low, a >> np.uint64(32) ^ c[3] ^ key[1], a & low]
        key = ((key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low)
    return c[0].astype(np.uint32)


def attention_reference(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """{"o": softmax(q k^T / sqrt(head_dim)) v} in float64, from the arrays as given."""
    q, k, v = heads_of(program, inputs)
    w = weights(program.params, q, k)
    return {"o": ((w * kept(program.params, w.shape)) @ v).reshape(-1, program.params["head_dim"])}
