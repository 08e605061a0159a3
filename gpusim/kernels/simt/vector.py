# mypy: allow-untyped-defs
"""Element by element: what a thread costs, what wider accesses and loops save, what strides and offsets waste."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv, line, uniform


@cuda.jit
def empty_kernel():
    """What a launch costs when no thread does anything."""
    return


@cuda.jit
def vector_add_1(a, b, c, n):
    """One element a thread: 12 bytes of traffic for about 20 instructions of a warp."""
    i = cuda.grid(1)
    if i < n:
        c[i] = a[i] + b[i]


@cuda.jit
def vector_add_f4(a, b, c, n4):
    """Four elements a thread with 16-byte accesses: a quarter of the instructions for the same bytes."""
    i = cuda.grid(1)
    if i < n4:
        x0, x1, x2, x3 = cuda.load4(a, 4 * i)
        y0, y1, y2, y3 = cuda.load4(b, 4 * i)
        cuda.store4(c, 4 * i, (x0 + y0, x1 + y1, x2 + y2, x3 + y3))


@cuda.jit
def vector_add_gs(a, b, c, n):
    """A grid-stride loop: few threads, each waits for its loads before it asks for the next."""
    stride = cuda.gridsize(1)
    for i in cuda.range(cuda.grid(1), n, stride, unroll=1):
        c[i] = a[i] + b[i]


@cuda.jit
def vector_add_gs_u4(a, b, c, n):
    """The same loop with eight loads in flight. n is a multiple of four strides."""
    s = cuda.gridsize(1)
    for i in cuda.range(cuda.grid(1), n, 4 * s, unroll=1):
        a0, a1, a2, a3 = a[i], a[i + s], a[i + 2 * s], a[i + 3 * s]
        b0, b1, b2, b3 = b[i], b[i + s], b[i + 2 * s], b[i + 3 * s]
        c[i] = a0 + b0
        c[i + s] = a1 + b1
        c[i + 2 * s] = a2 + b2
        c[i + 3 * s] = a3 + b3


@cuda.jit
def saxpy(x, y, alpha, n):
    """y = alpha x + y in place: one fused multiply-add an element."""
    i = cuda.grid(1)
    if i < n:
        y[i] = cuda.fma(alpha, x[i], y[i])


@cuda.jit
def copy_stride(x, y, n, s):
    """Reads every s-th element: each sector that is fetched carries less and less that is used."""
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i * s]


@cuda.jit
def copy_wstride(x, y, n, s):
    """Writes every s-th element: partial sectors."""
    i = cuda.grid(1)
    if i < n:
        y[i * s] = x[i]


@cuda.jit
def copy_offset(x, y, n, o):
    """Reads begin o elements later: a warp's 128 bytes touch five sectors instead of four."""
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i + o]


#: CTAs of a grid-stride launch: eight for each SM of a machine with 132 of them
GRID_STRIDE_CTAS = 1056


def _sum(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"c": before["a"].astype(np.float64) + before["b"]}


def _saxpy(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {"y": float(before["alpha"]) * before["x"].astype(np.float64) + before["y"]}


def _copied(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    read, write, offset = (p.get("stride", 1), 1, p.get("offset", 0)) if "write" not in p else (1, p["stride"], 0)
    n, out = p["n"], before["y"].copy()
    out[: n * write : write] = before["x"][offset : offset + n * read : read]
    return {"y": out}


def _add_args(p: Params) -> Args:
    n = p["n"]
    return {"a": Array((n,), fill=uniform()), "b": Array((n,), fill=uniform()), "c": Array((n,)), "n": n}


def _f4_args(p: Params) -> Args:
    return {**{name: arg for name, arg in _add_args(p).items() if name != "n"}, "n4": p["n"] // 4}


def _saxpy_args(p: Params) -> Args:
    return {"x": Array((p["n"],), fill=uniform()), "y": Array((p["n"],), fill=uniform()), "alpha": np.float32(2.5), "n": p["n"]}


def _stride_args(p: Params) -> Args:
    return {"x": Array((p["n"] * p["stride"],), fill=uniform()), "y": Array((p["n"],)), "n": p["n"], "s": p["stride"]}


def _wstride_args(p: Params) -> Args:
    return {"x": Array((p["n"] + 64,), fill=uniform()), "y": Array((p["n"] * p["stride"],)), "n": p["n"], "s": p["stride"]}


def _offset_args(p: Params) -> Args:
    return {"x": Array((p["n"] + 64,), fill=uniform()), "y": Array((p["n"],)), "n": p["n"], "o": p["offset"]}


def _line(p: Params) -> Launch:
    return line(p["n"])


ENTRIES = {
    "empty_kernel": Entry(empty_kernel, lambda p: Launch((p["grid"], 1), (p["block"], 1)), lambda p: {}, lambda p, b: {}, {"grid": 2, "block": 64}),
    "vector_add_1": Entry(vector_add_1, _line, _add_args, _sum, {"n": 1000}),
    "vector_add_f4": Entry(vector_add_f4, lambda p: line(p["n"] // 4), _f4_args, _sum, {"n": 1100}),
    "vector_add_gs": Entry(vector_add_gs, lambda p: Launch((min(GRID_STRIDE_CTAS, cdiv(p["n"], 256)), 1), (256, 1)), _add_args, _sum, {"n": 1003}),
    "vector_add_gs_u4": Entry(vector_add_gs_u4, lambda p: Launch((min(1024, p["n"] // 1024), 1), (256, 1)), _add_args, _sum, {"n": 2048}),
    "saxpy": Entry(saxpy, _line, _saxpy_args, _saxpy, {"n": 777}),
    "copy_stride": Entry(copy_stride, _line, _stride_args, _copied, {"n": 515, "stride": 3}, rtol=0, atol=0),
    "copy_wstride": Entry(copy_wstride, _line, _wstride_args, lambda p, b: _copied({**p, "write": True}, b), {"n": 515, "stride": 3}, rtol=0, atol=0),
    "copy_offset": Entry(copy_offset, _line, _offset_args, _copied, {"n": 515, "offset": 5}, rtol=0, atol=0),
}
