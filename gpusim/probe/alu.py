"""Group alu: latency and throughput of every arithmetic instruction, issue by warps and instruction-level parallelism, pipes side by side."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from gpusim.kernels.simt.probes import alu
from gpusim.kernels.simt.probes.operations import OPERATIONS
from gpusim.probe.loops import Loop, excluded, slope
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation

#: from which chains begin: what values they have does not matter
SEED = np.uint32(7)


@cache
def _chains(operation: str, ilp: int) -> Any:
    return alu.chains(operation, ilp)


@cache
def _mixed(a: str, b: str, na: int, nb: int) -> Any:
    return alu.mix(a, b, na, nb)


def _operation(name: str, p: Params) -> Simulation:
    lanes = 32 * p["warps"]
    value = {"latency": lambda c: c / alu.STEPS, "throughput": lambda c: alu.STEPS * lanes / c}[p["kind"]]
    return slope(Loop(_chains(name, p["ilp"]), p["warps"], ("iters", SEED), value))


def _issue(p: Params) -> Simulation:
    return slope(Loop(_chains("ffma", p["ilp"]), p["warps"], ("iters", SEED), lambda c: alu.STEPS * 32 * p["warps"] / c))


def _mix(p: Params) -> Simulation:
    return slope(Loop(_mixed(p["a"], p["b"], p["na"], p["nb"]), 32, ("iters", SEED), lambda c: 32 * (p["na"] + p["nb"]) * 1024 / c))


PLANS: dict[str, Plan] = {
    "ffma_issue": _issue,
    "mix": _mix,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
    **{name: partial(_operation, name) for name in OPERATIONS},
}

_KINDS: tuple[dict[str, Any], ...] = ({"kind": "latency", "warps": 1, "ilp": 1}, {"kind": "throughput", "warps": 32, "ilp": 4})

UNITS = {"latency": "cycles", "throughput": "ops/clk/SM", "ffma_issue": "ops/clk/SM", "mix": "ops/clk/SM"}


POINTS: tuple[Point, ...] = (
    *((name, kind) for name in OPERATIONS for kind in _KINDS),
    *(("ffma_issue", {"warps": warps, "ilp": ilp}) for ilp in (1, 2, 4) for warps in (1, 2, 4, 8, 16, 32)),
)

CURVES: tuple[Curve, ...] = (
    Curve("Multiply-adds issued, by warps and independent chains", "ffma_issue", "warps", "warps of an SM", "FFMA lanes a cycle and SM", ("ilp",)),
)
