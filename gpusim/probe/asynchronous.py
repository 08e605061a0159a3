"""Asynchronous copies: latency and bandwidth of cp.async. Groups take these plans over.

L2 means that the array was just read, and fits; DRAM that L2 holds nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gpusim.kernels.simt.probes import asynchronous as kernels
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import int32, nanoseconds, run
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.spec.device import GpuSpec

MB = 1 << 20
#: where data come from -> bytes of the array that is copied from, of the one of which single lines are, and what L2 holds before
STREAMED = {"L2": 24 * MB, "DRAM": 8192 * MB}
PICKED = {"L2": 16 * MB, "DRAM": 256 * MB}
BEFORE = {"L2": "warm", "DRAM": "cold"}
#: a CTA has at least so much shared memory, so that it is alone on its SM
ALONE = 120 * 1024
#: passes of the measured loops
PASSES = {"L2": 1024, "DRAM": 512}
#: of which so many are simulated, and twice as many; the others take what one more takes between the two
SIMULATED = 24

copies = cache(kernels.copies)


def whole(time: Callable[[int], float], passes: int, least: int = SIMULATED) -> float:
    """The time of `passes` passes of a loop, from runs of at most 2 * least of them: all further ones take alike."""
    if passes <= 2 * least:
        return time(passes)
    short, long = time(least), time(2 * least)
    return long + (long - short) * (passes - 2 * least) / least


def _cp_async16(p: Params) -> Simulation:
    """GB/s of 16 KB copies of a CTA on each of `sms` SMs."""
    place, ctas = p["from"], int(p["sms"])
    shared = int(p["bytes_in_flight_per_sm"])
    passes, kernel = PASSES[place], copies(shared // kernels.STAGE)

    def simulate(spec: GpuSpec) -> float:
        def time(n: int) -> float:
            words = min(STREAMED[place], ctas * kernels.STAGE * n) // 4 if place == "DRAM" else STREAMED[place] // 4
            args = (ArraySpec((words,), "uint32"), words, int32(n))
            return nanoseconds(spec, kernel, (ctas, kernels.THREADS), args, max(shared, ALONE), l2=BEFORE[place])

        return kernels.STAGE * passes * ctas / whole(time, passes)

    return simulate


#: kind of access -> its kernel, a copy or load a pass and thread
LATENCY: dict[str, Any] = {
    "cp.async 16 B + wait": kernels.copy_latency,
    "ld.global.cg 16 B + st.shared": kernels.load_latency,
}


def _async_latency(p: Params) -> Simulation:
    """Cycles from the issue of a copy of a random line until its data may be used."""
    place, kernel = p["from"], LATENCY[p["kind"]]

    def simulate(spec: GpuSpec) -> float:
        slots = PICKED[place] // (4 * kernels.LINE)
        args = (ArraySpec((slots * kernels.LINE,), "uint32"), int32(slots))
        short, long = (run(spec, kernel, (1, 1), (*args, int32(n)), l2=BEFORE[place]).cycles for n in (SIMULATED, 2 * SIMULATED))
        return (long - short) / (SIMULATED * kernels.UNROLLED)

    return simulate


PLANS: dict[str, Plan] = {
    "cp_async16": _cp_async16,
    "async_latency": _async_latency,
}

POINTS: tuple[Point, ...] = (
    *(("async_latency", {"kind": kind, "from": place}) for kind in LATENCY for place in STREAMED),
    *(("cp_async16", {"from": place, "sms": 1, "bytes_in_flight_per_sm": stages * kernels.STAGE}) for place in STREAMED for stages in (1, 2, 4, 8, 12)),
)

CURVES = (
    Curve(
        "Asynchronous copies by bytes in flight",
        "cp_async16",
        "bytes_in_flight_per_sm",
        "bytes in flight on an SM",
        "GB/s",
        ("from", "sms"),
    ),
)
