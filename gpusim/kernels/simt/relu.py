# mypy: allow-untyped-defs
"""The rectifier as a branch, as a mask, and with a costly else side: what lanes of one warp that disagree cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.kernels.simt.entry import Args, Array, Entry, Params, line, uniform

ZERO, DECAY, DROP = float32(0.0), float32(0.999), float32(-0.001)


@cuda.jit
def relu_branch(x, y, n, iters):
    """if/else with so little in it that a compiler makes it a select: no divergence."""
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        if v > ZERO:
            r = v
        else:
            r = ZERO
        y[i] = r


@cuda.jit
def relu_mask(x, y, n, iters):
    """A comparison as 0 or 1, and a multiplication: arithmetic instead of a branch."""
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        y[i] = v * float32(v > ZERO)


@cuda.jit
def relu_costly(x, y, n, iters):
    """The else side is a loop of dependent multiply-adds: a warp pays for it as soon as one of its lanes goes there."""
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        if not v > ZERO:
            for _ in cuda.range(iters, unroll=1):
                v = cuda.fma(v, DECAY, DROP)
        y[i] = v


def _args(p: Params) -> Args:
    return {"x": Array((p["n"],), fill=uniform()), "y": Array((p["n"],)), "n": p["n"], "iters": p["iters"]}


def _relu(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"y": np.maximum(before["x"].astype(np.float64), 0)}


def _costly(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    x = before["x"].astype(np.float64)
    y = x.copy()
    for _ in range(p["iters"]):
        y = y * float(np.float32(0.999)) - float(np.float32(0.001))
    return {"y": np.where(x > 0, x, y)}


EXAMPLE = {"n": 1000, "iters": 64}
ENTRIES = {
    "relu_branch": Entry(relu_branch, lambda p: line(p["n"]), _args, _relu, EXAMPLE),
    "relu_mask": Entry(relu_mask, lambda p: line(p["n"]), _args, _relu, EXAMPLE),
    "relu_costly": Entry(relu_costly, lambda p: line(p["n"]), _args, _costly, EXAMPLE, rtol=2e-5, atol=1e-6, data=("x",)),
}
