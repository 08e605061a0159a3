"""Asynchronous copies: latency and bandwidth of cp.async and of the bulk engine. Groups take these plans over.

L2 means that the array was just read, and fits; DRAM that L2 holds nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import asynchronous as kernels
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import int32, launched, nanoseconds
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.probe.rings import SPARE, per_pass
from gpusim.spec.device import GpuSpec

MB = 1 << 20
#: where data come from -> bytes of the array that is copied from, of the one of which single lines are, and what L2 holds before
STREAMED = {"L2": 24 * MB, "DRAM": 8192 * MB}
PICKED = {"L2": 16 * MB, "DRAM": 256 * MB}
BEFORE = {"L2": "warm", "DRAM": "cold"}
#: a CTA has at least so much shared memory, so that it is alone on its SM
ALONE = 120 * 1024
#: bytes that a CTA has copied in a stream of bulk copies
COPIED = 8 * MB
#: passes of the measured loops
PASSES = {"L2": 1024, "DRAM": 512}
#: of which so many are simulated, and twice as many; the others take what one more takes between the two
SIMULATED = 24
#: and of large pieces as many as have so many bytes; but at least so many for each stage, so that what fills the pipeline at first does not count
MOVED, FILLED = 384 * 1024, 2
#: passes of a latency loop that are timed
TIMED = 24

copies = cache(kernels.copies)


def whole(time: Callable[[int], float], passes: int, least: int) -> float:
    """The time of `passes` passes of a loop, from runs of at most 2 * least of them: all further ones take alike."""
    if passes <= 2 * least:
        return time(passes)
    short, long = time(least), time(2 * least)
    return long + (long - short) * (passes - 2 * least) / least


def _words(place: str, step: int, passes: int) -> int:
    """Words of the array of a stream that takes `step` bytes a pass: whole passes, so that all CTAs come to its end together, and of DRAM no more
    than are read."""
    return min(STREAMED[place] // step, passes if place == "DRAM" else STREAMED[place]) * step // 4


def _cp_async16(p: Params) -> Simulation:
    """GB/s of 16 KB copies of a CTA on each of `sms` SMs."""
    place, ctas = p["from"], int(p["sms"])
    shared = int(p["bytes_in_flight_per_sm"])
    stages = shared // kernels.STAGE
    passes, kernel, least = PASSES[place], copies(stages), max(SIMULATED, FILLED * stages)

    def simulate(spec: GpuSpec) -> float:
        def time(n: int) -> float:
            words = _words(place, ctas * kernels.STAGE, n)
            args = (ArraySpec((words,), "uint32"), words, int32(n))
            return nanoseconds(spec, kernel, (ctas, kernels.THREADS), args, max(shared, ALONE), l2=BEFORE[place])

        return kernels.STAGE * passes * ctas / whole(time, passes, least)

    return simulate


#: kind of access -> its kernel, a copy or load a pass and thread
LATENCY: dict[str, Any] = {
    "cp.async 16 B + wait": kernels.copy_latency,
    "ld.global.cg 16 B + st.shared": kernels.load_latency,
}
BULK = "cp.async.bulk + mbarrier wait"


def _async_latency(p: Params) -> Simulation:
    """Cycles from the issue of a copy of a random line until its data may be used."""
    if p["kind"] == BULK:
        return _bulk_latency(p["from"], int(p["bytes"]))
    place, kernel = p["from"], LATENCY[p["kind"]]

    def simulate(spec: GpuSpec) -> float:
        slots = PICKED[place] // (4 * kernels.LINE)
        return _latency(spec, kernel, place, (int32(slots),), 0)

    return simulate


def _bulk_latency(place: str, nbytes: int) -> Simulation:
    """Cycles from the issue of a bulk copy of a random piece until a thread that waits for it goes on."""

    def simulate(spec: GpuSpec) -> float:
        return _latency(spec, kernels.bulk_latency, place, (int32(PICKED[place] // nbytes), int32(nbytes // 4)), nbytes)

    return simulate


def _latency(spec: GpuSpec, kernel: Any, place: str, args: tuple[Any, ...], shared: int) -> float:
    """Cycles of one of `UNROLLED` accesses in a pass of the kernel's loop, at random places of an array. L2: in the near half, where the median of
    the measured accesses found it."""
    given = (ArraySpec((PICKED[place] // 4,), "uint32"), *args, int32(TIMED + SPARE))
    one = Geometry((1, 1, 1), (1, 1, 1), shared)
    made = launched(spec, kernel, one, given, exact=True, timeline=True, l2=BEFORE[place])
    return per_pass(made, TIMED) / kernels.UNROLLED


def _tma_bulk(p: Params) -> Simulation:
    """GB/s of bulk copies that one thread of a CTA issues on each of `sms` SMs."""
    place, ctas = p["from"], int(p["sms"])
    piece, stages = int(p["chunk_bytes"]), int(p["stages"])
    passes, least = COPIED // piece, max(min(SIMULATED, MOVED // piece), FILLED * stages)

    def simulate(spec: GpuSpec) -> float:
        def time(n: int) -> float:
            words = _words(place, ctas * piece, n)
            args = (ArraySpec((words,), "uint32"), words, int32(piece // 4), int32(stages), int32(n))
            return nanoseconds(spec, kernels.bulk_stream, (ctas, 32), args, max(piece * stages, ALONE), l2=BEFORE[place])

        return piece * passes * ctas / whole(time, passes, least)

    return simulate


PLANS: dict[str, Plan] = {
    "cp_async16": _cp_async16,
    "async_latency": _async_latency,
    "tma_bulk": _tma_bulk,
}

POINTS: tuple[Point, ...] = (
    *(("async_latency", {"kind": kind, "from": place}) for kind in LATENCY for place in STREAMED),
    *(("async_latency", {"kind": BULK, "from": place, "bytes": nbytes}) for place in STREAMED for nbytes in (16, 1024, 4096, 16384, 65536)),
    *(
        ("tma_bulk", {"from": place, "sms": 1, "chunk_bytes": piece, "stages": stages, "bytes_in_flight_per_sm": piece * stages})
        for place in STREAMED
        for piece, stages in ((1024, 1), (1024, 16), (4096, 1), (4096, 4), (16384, 1), (16384, 4), (65536, 1), (65536, 3))
    ),
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
    Curve("Bulk copies by size", "tma_bulk", "chunk_bytes", "bytes of a copy", "GB/s", ("from", "sms", "stages")),
    Curve("Latency of a bulk copy", "async_latency", "bytes", "bytes", "cycles", ("from",), (("kind", BULK),)),
)
