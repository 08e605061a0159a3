"""Group scheduling: barriers, waves of equal CTAs, launches, and warps that hide each other's waiting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.kernels.simt.probes import scheduling
from gpusim.kernels.simt.vector import empty_kernel
from gpusim.launch.program import timeline
from gpusim.launch.protocol import L2_STATES
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe import cluster
from gpusim.probe.loops import MOST_WARPS, Loop, excluded, nanoseconds, refused, run, slope, sms
from gpusim.probe.plan import Curve, Excluded, Params, Plan, Point, Simulation
from gpusim.probe.steady import steady
from gpusim.spec.device import GpuSpec


def _barrier(p: Params) -> Simulation:
    if p["kind"] in cluster.BARRIER:
        return cluster.BARRIER[p["kind"]](p)
    if p["kind"] not in scheduling.BARRIER:
        raise GpusimError(f"barrier '{p['kind']}': kernels have no such barrier.", where="front end")
    return slope(Loop(scheduling.BARRIER[p["kind"]], p["warps"], ("iters",), lambda c: c / scheduling.BARRIERS))


def _waves(p: Params) -> Simulation:
    shared, args = 200 * 1024 // p["ctas_per_sm"], (ArraySpec((1,), "float32"), p["ffma_chain"] // 16)
    grid, threads = int(p["grid"]), p["threads"]
    return lambda spec: nanoseconds(spec, scheduling.fixed_work, (grid, threads), args, shared)


#: CTAs per SM -> grid of the i-th entry of a list of waves, and how many entries are left out between two points
WAVES = {1: (lambda i: i + 1, 33), 2: (lambda i: 4 * (i + 1), 16)}


def _wave_points(p: Params, times: Sequence[float]) -> list[tuple[Params, float]]:
    """Both sides of every step, and some in between."""
    grid_of, step = WAVES[p["ctas_per_sm"]]
    places = {0, len(times) - 1, *(j + side for j in range(step - 1, len(times) - 1, step) for side in (0, 1))}
    return [({**p, "grid": grid_of(i)}, times[i]) for i in sorted(places)]


#: steps of a chase, and how many of them are simulated: with one address a warp, and with 32
STEPS, FEW = 256, ((32, 64), (16, 32))


@cache
def _chase(each: int) -> Any:
    return scheduling.chase(each)


def _hiding(p: Params) -> Simulation:
    """The small ring was read before, so it lies in L2; the large one comes from DRAM. Its zeros are values, because addresses depend on
    them; pages of them that nobody touches take no memory. Every step is like the last, so most of them are not simulated."""
    each, words, small = p["lanes"].startswith("32"), int(p["footprint"]) // 4, p["footprint"] < 2**26
    if small and "warm" not in L2_STATES:
        raise GpusimError("its ring lies in L2 before the launch; launches begin with an L2 that holds nothing of theirs.", where="latency_hiding")
    ctas = -(-p["warps_per_sm"] // MOST_WARPS)
    threads = p["warps_per_sm"] // ctas * 32

    def simulate(spec: GpuSpec) -> float:
        n = sms(spec)

        def time(steps: int) -> float:
            args = (np.zeros(words, np.int32), np.int32(steps), np.int32(words // scheduling.NODE), ArraySpec((1,), "int32"))
            return nanoseconds(spec, _chase(int(each)), (n * ctas, threads), args, l2="warm" if small else "cold")

        return n * p["warps_per_sm"] * STEPS * (32 if each else 1) / steady(time, STEPS, FEW[each])

    return simulate


def _cta_launch(p: Params) -> Simulation:
    ctas = int(p["ctas"])
    return lambda spec: 1000 * ctas / nanoseconds(spec, empty_kernel, (ctas, p["threads"]), (), int(p["dynamic_smem"]))


def _empty(p: Params) -> Simulation:
    if "host" in str(p.get("how")) or "stream" in str(p.get("how")):
        raise Excluded("empty_kernel by the host's clock, or launch by launch from the host: what the host and its driver take")
    chain, grid, threads = int(str(p["how"]).rsplit(" ", 1)[1]), int(p["grid"]), int(p["threads"])

    def simulate(spec: GpuSpec) -> float:
        """ns of a launch in a chain of equal ones."""
        alone = run(spec, empty_kernel, (grid, threads), ()).time_ps
        return timeline([alone] * chain, spec, "in", "graph").total / chain / 1000

    return simulate


PLANS: dict[str, Plan] = {
    "barrier": _barrier,
    "wave_quantization": _waves,
    "latency_hiding": _hiding,
    "cta_launch": _cta_launch,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
    "cta_to_sm": excluded("cta_to_sm: the value is how many CTAs were launched"),
    "cluster_to_sm": excluded("cluster_to_sm: the value is how many CTAs were launched"),
    "cta_start_time": refused("CTAs that spin until a clock value: kernels' paths do not depend on time.", "cta_start_time"),
    **cluster.SCHEDULING,
    "empty_kernel": _empty,
}

#: records that hold a curve in one list -> the points of it that are simulated
SPLIT = {"wave_quantization": _wave_points}

_WORK: dict[str, Any] = {"ctas_per_sm": 1, "threads": 256, "ffma_chain": 8192}

UNITS = {
    **dict.fromkeys(("barrier", *cluster.SCHEDULING), "cycles"),
    "wave_quantization": "ns",
    "cta_launch": "CTAs/us",
    "empty_kernel": "ns/launch",
    "latency_hiding": "sector loads/ns",
}


POINTS: tuple[Point, ...] = (
    *cluster.SCHEDULING_POINTS,
    *(("barrier", {"kind": "__syncthreads", "warps": w}) for w in (1, 2, 4, 8, 16, 32)),
    *(("wave_quantization", {**_WORK, "grid": grid}) for grid in (1, 66, 132, 133, 198, 264, 265, 396)),
    *(("cta_launch", {"ctas": 100000, "threads": t, "dynamic_smem": 0}) for t in (32, 128, 512, 1024)),
    *(("empty_kernel", {"how": "CUDA graph, chain of 1000", "grid": grid, "threads": 128}) for grid in (1, 132)),
    *(("latency_hiding", {"footprint": 2**24, "lanes": "1 address per warp", "warps_per_sm": w}) for w in (1, 4, 16, 64)),
)

CURVES: tuple[Curve, ...] = (
    *cluster.SCHEDULING_CURVES,
    Curve("Barriers", "barrier", "warps", "warps that meet", "cycles", ("kind",)),
    Curve("Waves of equal CTAs", "wave_quantization", "grid", "CTAs", "ns", ("ctas_per_sm",), (), False),
    Curve("Warps that hide latency", "latency_hiding", "warps_per_sm", "warps an SM", "sector loads a ns", ("lanes", "footprint"), (), True, True),
)
