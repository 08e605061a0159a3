# mypy: allow-untyped-defs
"""Loops and branches that lanes of a warp leave at different times: the warp runs until its last lane is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32, int32, uint32
from gpusim.kernels.simt.entry import Args, Array, Entry, Launch, Params, cdiv, integers, line, uniform

FOUR, HALF, ONE = float32(4.0), float32(0.5), float32(1.0)


@cuda.jit
def mandelbrot(out, w, h, x0, y0, dx, dy, max_it):
    """How many steps a point of the plane stays near zero: neighbours mostly agree, except along the border of the set."""
    px, py = cuda.grid(2)
    if px >= w or py >= h:
        return
    cr = cuda.fma(float32(px), dx, x0)
    ci = cuda.fma(float32(py), dy, y0)
    zr, zi = float32(0.0), float32(0.0)
    it = 0
    while it < max_it:
        zr2, zi2 = zr * zr, zi * zi
        if zr2 + zi2 > FOUR:
            break
        zi = cuda.fma(zr + zr, zi, ci)
        zr = (zr2 - zi2) + cr
        it += 1
    out[py * w + px] = it


@cuda.jit
def collatz(start, steps, n):
    """Trip counts that nobody can predict: in a warp of random starts most lanes wait for one."""
    i = cuda.grid(1)
    if i >= n:
        return
    v = start[i]
    s = int32(0)
    while v != 1:
        v = uint32(3 * v + 1) if v & 1 else uint32(v >> 1)
        s = int32(s + 1)
    steps[i] = s


@cuda.jit
def lane_trip(trip, out, n):
    """Each lane brings its own trip count: the cost is that of the largest in the warp."""
    i = cuda.grid(1)
    if i >= n:
        return
    t = trip[i]
    y = float32(i)
    for _ in cuda.range(t, unroll=1):
        y = cuda.fma(y, HALF, ONE)
    out[i] = y


def switch_paths(paths: int) -> Any:
    """A kernel whose lanes spread over `paths` (1 to 8) loops of equal length: the time is that of all of them in turn."""

    @cuda.jit
    def switch_paths(x, out, n, iters):
        i = cuda.grid(1)
        if i >= n:
            return
        y = x[i]
        case = cuda.threadIdx.x % paths
        if case == 0:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.50), float32(1.0))
        elif case == 1:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.51), float32(1.1))
        elif case == 2:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.52), float32(1.2))
        elif case == 3:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.53), float32(1.3))
        elif case == 4:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.54), float32(1.4))
        elif case == 5:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.55), float32(1.5))
        elif case == 6:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.56), float32(1.6))
        elif case == 7:
            for _ in cuda.range(iters, unroll=1):
                y = cuda.fma(y, float32(0.57), float32(1.7))
        out[i] = y

    return switch_paths


def _mandelbrot_args(p: Params) -> Args:
    floats = {name: np.float32(p[name]) for name in ("x0", "y0", "dx", "dy")}
    return {"out": Array((p["w"] * p["h"],), "int32"), "w": p["w"], "h": p["h"], **floats, "max_it": p["max_it"]}


def _mandelbrot(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """In float32 with single roundings, because the number of steps at the border hangs on the last bit. A fused step is done in float64,
    which holds the product of two float32 exactly."""
    c = [
        (np.arange(p[size], dtype=np.float64) * before[step] + before[begin]).astype(np.float32) for size, step, begin in (("w", "dx", "x0"), ("h", "dy", "y0"))
    ]
    cr, ci = (grid.ravel() for grid in np.meshgrid(*c))
    zr, zi, steps = np.zeros_like(cr), np.zeros_like(ci), np.zeros(cr.shape, np.int32)
    alive = np.ones(cr.shape, bool)
    for _ in range(p["max_it"]):
        with np.errstate(over="ignore", invalid="ignore"):
            zr2, zi2 = zr * zr, zi * zi
            alive &= ~(zr2 + zi2 > np.float32(4))
            zi = ((zr + zr).astype(np.float64) * zi + ci).astype(np.float32)
            zr = (zr2 - zi2) + cr
        steps += alive
    return {"out": steps}


def _collatz(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    v, steps = before["start"].astype(np.int64), np.zeros(p["n"], np.int32)
    while (v != 1).any():
        steps += v != 1
        v = np.where(v == 1, 1, np.where(v % 2 == 1, 3 * v + 1, v // 2))
    return {"steps": steps}


def _lane_trip(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    y, trip = np.arange(p["n"], dtype=np.float64), before["trip"]
    for k in range(trip.max(initial=0)):
        y = np.where(k < trip, y * 0.5 + 1, y)
    return {"out": y}


def _switch(p: Params, before: Mapping[str, Any]) -> dict[str, np.ndarray]:
    path = np.arange(p["n"]) % 256 % p["paths"]
    a = np.array([0.50, 0.51, 0.52, 0.53, 0.54, 0.55, 0.56, 0.57], np.float32).astype(np.float64)[path]
    b = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7], np.float32).astype(np.float64)[path]
    y = before["x"].astype(np.float64)
    for _ in range(p["iters"]):
        y = y * a + b
    return {"out": y}


def _plane(p: Params) -> Launch:
    bx, by = p.get("block", (32, 8))
    return Launch((cdiv(p["w"], bx), cdiv(p["h"], by)), (bx, by))


def _line(p: Params) -> Launch:
    return line(p["n"])


PLANE = {"w": 40, "h": 21, "max_it": 64, "x0": -2.0, "y0": -1.25, "dx": 2.5 / 40, "dy": 2.5 / 21}
ENTRIES = {
    "mandelbrot": Entry(mandelbrot, _plane, _mandelbrot_args, _mandelbrot, PLANE, rtol=0, atol=0),
    "collatz": Entry(
        collatz,
        _line,
        lambda p: {"start": Array((p["n"],), "uint32", integers(1, 1 << 17)), "steps": Array((p["n"],), "int32"), "n": p["n"]},
        _collatz,
        {"n": 300},
        rtol=0,
        atol=0,
        data=("start",),
    ),
    "lane_trip": Entry(
        lane_trip,
        _line,
        lambda p: {"trip": Array((p["n"],), "int32", integers(0, p["T"] + 1)), "out": Array((p["n"],)), "n": p["n"]},
        _lane_trip,
        {"n": 300, "T": 40},
        rtol=1e-5,
        data=("trip",),
    ),
    "switch_paths": Entry(
        switch_paths,
        _line,
        lambda p: {"x": Array((p["n"],), fill=uniform()), "out": Array((p["n"],)), "n": p["n"], "iters": p["iters"]},
        _switch,
        {"n": 300, "paths": 4, "iters": 20},
        template=("paths",),
        rtol=1e-5,
    ),
}
