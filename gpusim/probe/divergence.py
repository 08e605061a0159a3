"""Group divergence: what branches inside a warp cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.kernels.simt.hashing import hash32
from gpusim.kernels.simt.probes import control
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import Loop, excluded, nanoseconds, slope
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation

#: what a record tells of its lanes' mask is rounded
MASKS = (0xFFFFFFFF, 0, 0x55555555, 0xFFFF, 1)


@cache
def _made(factory: Callable[..., Any], *args: Any) -> Any:
    return factory(*args)


def _kway(p: Params) -> Simulation:
    m = p["ffma_per_path"] // control.PATH
    return slope(Loop(_made(control.kway, p["form"]), p["warps"], ("iters", p["k"], m), float, max(2, 4 // m), "float32"))


def _nested(p: Params) -> Simulation:
    m, lanes = p["ffma_per_level"] // control.PATH, 31 if p["divergent"] else 0
    return slope(Loop(_made(control.nested, p["depth"]), p["warps"], ("iters", m, lanes), float, 4, "float32"))


def _trips(p: Params) -> Simulation:
    thread = np.arange(32 * p["warps"])
    lane = thread & 31
    trip = {
        "all 32": np.full(len(lane), 32),
        "lane+1": lane + 1,
        "lane 0: 32, others 1": np.where(lane == 0, 32, 1),
        "lanes 0-15: 32, others 1": np.where(lane < 16, 32, 1),
        "random 1..32": 1 + hash32((lane + 7 * thread).astype(np.uint32)) % 32,
        "all 16": np.full(len(lane), 16),
    }[p["trips"]]
    return slope(Loop(_made(control.trips), p["warps"], (trip.astype(np.int32), "iters"), float, 2, "float32"))


def _relu_compute(p: Params) -> Simulation:
    mask = min(MASKS, key=lambda m: abs(m - p["mask"]))
    args = ("iters", mask, np.float32(0.5), np.float32(0.0))
    return slope(Loop(_made(control.relu_compute, p["form"]), p["warps"], args, lambda c: c / 4, 4, "float32"))


def _relu_array(p: Params) -> Simulation:
    n = int(p["elements"])
    if p["form"].startswith("if"):
        raise GpusimError("lanes go by the signs of 2^28 values, and memory decides the time.", where=f"relu_array, form = {p['form']}")
    args = (ArraySpec((n,), "float32"), ArraySpec((n,), "float32"), np.float32(0.5))
    return lambda spec: nanoseconds(spec, _made(control.relu_array, p["form"]), (n // 1024, 256), args)


PLANS: dict[str, Plan] = {
    "kway_branch": _kway,
    "nested_if": _nested,
    "lane_trip_count": _trips,
    "relu_compute": _relu_compute,
    "relu_array": _relu_array,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
}

UNITS = {
    **dict.fromkeys(("kway_branch", "nested_if", "lane_trip_count"), "cycles"),
    "relu_compute": "cycles per application (all warps of an SM)",
    "relu_array": "ns",
}


POINTS: tuple[Point, ...] = (
    *(("kway_branch", {"form": "switch of 32", "k": k, "ffma_per_path": 64, "warps": 1}) for k in (1, 2, 4, 8, 16, 32)),
    *(("nested_if", {"depth": d, "ffma_per_level": 64, "divergent": x, "warps": 1}) for x in (0, 1) for d in (1, 2, 3, 4, 5)),
    *(("lane_trip_count", {"trips": t, "warps": 1, "ffma_per_trip": 16}) for t in ("all 32", "lane+1", "lane 0: 32, others 1", "random 1..32")),
)

CURVES: tuple[Curve, ...] = (
    Curve(
        "A choice of k paths in one warp",
        "kway_branch",
        "k",
        "different paths in the warp",
        "cycles a pass",
        ("form", "warps"),
        (("ffma_per_path", 64),),
        True,
        True,
    ),
    Curve("Ifs inside ifs", "nested_if", "depth", "depth of nesting", "cycles a pass", ("divergent", "warps"), (("ffma_per_level", 64),), False),
)
