"""Group bandwidth: what DRAM, L2 and L1 deliver, by bytes, by SMs, by bytes in flight and by footprint.

Streams are timed as launches, their overhead in them; sweeps of L2 and L1 by the cycles between n and 2 n passes, as the originals' warps
read the clock around their passes only.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gpusim.kernels.simt.probes import streams
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.global_memory import NEVER, rounded
from gpusim.probe.loops import excluded, nanoseconds, run, sms
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.probe.steady import ENOUGH, MIXED, Chain, before_part, steady, two_lengths
from gpusim.spec.device import GpuSpec

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
#: threads of the CTAs, and of those that have an SM for themselves; threads that an SM holds
THREADS, BIG, MANY = 512, 1024, 2048
#: bytes of a load, of a piece of `sweep_l2` and of `rewrite`
ACCESS, PIECE, WRITTEN = 16, 128 * KIB, 64 * KIB
#: loads of a thread in `stream` unless said
UNROLL = 4
#: passes of a stream's CTAs in two launches, least and most; with so few CTAs that the most do not fill L2, the least tell as much
LEAST, MOST = (10, 15), (42, 63)
#: passes of `sweep_l2` in the shorter of two launches, and where every half of L2 holds all and many SMs read it; of `rewrite` in the originals, and
#: in two launches
SWEPT, SWEPT_HITS, MANY_SMS = 4, 2, 64
REWRITES, SHORT = 512, (10, 15)
#: what the original's threads of `sweep_l1` have in flight, bytes
IN_FLIGHT = 64
SAME = "same data just used"
MODES = ("read", "write", "copy")

stream = cache(streams.stream)
sweep_l1 = cache(streams.sweep_l1)


def _words(size: int) -> ArraySpec:
    return ArraySpec((size // 4,), "uint32")


SINK = _words(4)


def _rate(mode: str, nbytes: float, threads: int, ctas: int, unroll: int, l2: str = "cold") -> Simulation:
    """GB/s of a stream of `nbytes` bytes; a copy moves twice that. ctas: 0 for one a chunk."""
    chunk = ACCESS * unroll * threads
    chunks = rounded(nbytes, chunk * (ctas or 1)) // chunk
    moved = chunks * chunk * (2 if mode == "copy" else 1)
    size = MIXED if mode == "copy" else ENOUGH

    def simulate(spec: GpuSpec) -> float:
        def time(part: int) -> float:
            words = ArraySpec((part * chunk // 4,), "uint32"), ArraySpec((part * chunk // 4,), "uint32")
            return nanoseconds(spec, stream(mode, unroll), (ctas or part, threads), (*words, np.int32(part), NEVER, SINK), l2=before_part(l2, part, chunks))

        if not ctas:
            return moved / steady(time, chunks, two_lengths(chunk, MANY // threads * sms(spec), size))
        filling = two_lengths(chunk * ctas, size=size)
        lengths = LEAST if filling[1] > 2 * MOST[1] else min(MOST, max(LEAST, filling))
        return moved / steady(lambda passes: time(passes * ctas), chunks // ctas, lengths)

    return simulate


def _mode(p: Params) -> str:
    return {mode: mode for mode in MODES}[p["op"]]


def _stream(p: Params) -> Simulation:
    return _rate(_mode(p), p["bytes"], THREADS, 0, UNROLL, {"flushed": "cold", SAME: "warm"}[p["l2"]])


def _driver(mode: str) -> Plan:
    """A copy or a fill as the driver's kernel does it, right behind another."""
    return lambda p: _rate(mode, p["bytes"], THREADS, 0, UNROLL, "warm")


def _vs_ctas(p: Params) -> Simulation:
    return _rate(_mode(p), p["bytes"], int(p["threads"]), int(p["ctas"]), int(p["unroll16B"]))


def _vs_inflight(p: Params) -> Simulation:
    return _rate(_mode(p), p["bytes"], 32 * int(p["warps_per_sm"]), int(p["sms"]), int(p["loads16B_per_thread"]))


def _sweep(size: int, ctas: int) -> Simulation:
    """Bytes that an SM reads past its L1 in a cycle where all SMs read the whole array, which lies in L2 as far as it fits."""
    array, sink, pieces = ArraySpec((size // 8,), "uint64"), ArraySpec((1,), "uint64"), np.int32(size // PIECE)

    def simulate(spec: GpuSpec) -> float:
        chip = Chain(spec)
        chip.touch(array, sms(spec))
        swept = SWEPT_HITS if ctas >= MANY_SMS and size <= spec.l2.capacity / 2 else SWEPT
        short, long = (chip.run(streams.sweep_l2, ctas, BIG, (array, pieces, np.int32(7), np.int32(n), NEVER, sink)).cycles for n in (swept, 2 * swept))
        return swept * PIECE / (long - short)

    return simulate


def _own(size: int, ctas: int) -> Simulation:
    """The same where each SM has a slice of the array for itself, and sweeps it twice in the shorter launch."""
    slice_ = size // PIECE // ctas
    array, sink = ArraySpec((size // 8,), "uint64"), ArraySpec((1,), "uint64")
    passes = 2 * slice_ * max(1, SWEPT // slice_)

    def simulate(spec: GpuSpec) -> float:
        chip = Chain(spec)
        chip.before(streams.sweep_own, ctas, BIG, (array, np.int32(slice_), np.int32(2 * slice_), NEVER, sink))
        short, long = (chip.run(streams.sweep_own, ctas, BIG, (array, np.int32(slice_), np.int32(n), NEVER, sink)).cycles for n in (passes, 2 * passes))
        return passes * PIECE / (long - short)

    return simulate


def _l2_read(p: Params) -> Simulation:
    ctas, size = int(p["sms"]), rounded(p["footprint"], PIECE)
    return {"all SMs sweep all": _sweep, "own slice per SM": _own}[p["pattern"]](size, ctas)


def _l2_read_vs_sms(p: Params) -> Simulation:
    return _sweep(rounded(p["footprint"], PIECE), int(p["sms"]))


def _l2_write(p: Params) -> Simulation:
    """GB/s of 512 passes, right behind the same."""
    size = rounded(p["footprint"], WRITTEN)
    array, pieces = _words(size), np.int32(size // WRITTEN)

    def simulate(spec: GpuSpec) -> float:
        chip, ctas = Chain(spec), sms(spec)
        chip.before(streams.rewrite, ctas, BIG, (array, pieces, np.int32(SHORT[0])))
        picoseconds = steady(lambda n: chip.run(streams.rewrite, ctas, BIG, (array, pieces, np.int32(n))).time_ps, REWRITES, SHORT)
        return REWRITES * WRITTEN * ctas / picoseconds * 1000

    return simulate


def _l1_read(p: Params) -> Simulation:
    """Bytes that each SM reads in a cycle, all SMs the same ones."""
    words, threads = {4: 1, 8: 2, 16: 4}[p["access_bytes"]], 32 * int(p["warps"])
    piece = IN_FLIGHT * threads
    size = rounded(p["footprint"], piece)
    kernel, passes = sweep_l1(words, IN_FLIGHT // 4 // words), max(8, 2 * (size // piece))

    def simulate(spec: GpuSpec) -> float:
        args = _words(size), np.int32(size // piece)
        short, long = (run(spec, kernel, (sms(spec), threads), (*args, np.int32(n), NEVER, SINK), l2="warm").cycles for n in (passes, 2 * passes))
        return passes * piece / (long - short)

    return simulate


def _asynchronous(what: str) -> Any:
    """PLANS, POINTS or CURVES of copies that the SM does not wait for, which have a module of their own."""
    where = "gpusim.probe.asynchronous"
    return getattr(import_module(where), what) if find_spec(where) else type(globals()[what])()


#: name of a record -> what makes its simulation
PLANS: dict[str, Plan] = {
    "stream": _stream,
    "cudaMemcpyD2D": _driver("copy"),
    "cudaMemset": _driver("write"),
    "stream_vs_ctas": _vs_ctas,
    "stream_vs_inflight": _vs_inflight,
    "l2_read": _l2_read,
    "l2_read_vs_sms": _l2_read_vs_sms,
    "l2_write": _l2_write,
    "l1_read": _l1_read,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
}

#: the points of the measured machine: SMs and CTAs as far as it has them
SMS = (1, 2, 4, 8, 16, 32, 64, 96, 132)


def _ctas_bytes(ctas: int) -> int:
    """32 MiB a CTA, at least 64 MiB and at most 4 GiB."""
    chunk = 64 * KIB * ctas
    return min(4 * GIB, max(64 * MIB, 32 * MIB * ctas)) // chunk * chunk


def _inflight(sm: int, warps: int, loads: int) -> dict[str, Any]:
    chunk = ACCESS * loads * warps * 32 * sm
    size = min(2 * GIB, chunk * 512) // chunk * chunk
    return {"op": "read", "sms": sm, "warps_per_sm": warps, "loads16B_per_thread": loads, "bytes_in_flight_per_sm": chunk // sm, "bytes": size}


POINTS: tuple[Point, ...] = (
    *(("stream", {"op": op, "bytes": mib * MIB, "l2": "flushed"}) for op in MODES for mib in (1, 4, 16, 64, 256, 1024, 8192)),
    *(("stream", {"op": op, "bytes": mib * MIB, "l2": SAME}) for op in MODES for mib in (1, 4, 16, 32, 64, 128)),
    *(("stream_vs_ctas", {"op": op, "ctas": n, "threads": BIG, "unroll16B": UNROLL, "bytes": _ctas_bytes(n)}) for op in MODES for n in SMS),
    *(("stream_vs_inflight", _inflight(sm, warps, loads)) for sm in (1, 132) for warps in (1, 4, 16, 32) for loads in (1, 4)),
    *(("l2_read", {"footprint": mib * MIB, "pattern": "all SMs sweep all", "sms": 132}) for mib in (4, 16, 32, 48, 64, 96)),
    *(("l2_read", {"footprint": 132 * own * PIECE, "pattern": "own slice per SM", "sms": 132}) for own in (1, 2, 3, 4, 6)),
    *(("l2_read_vs_sms", {"footprint": mib * MIB, "sms": n}) for mib in (1, 24) for n in SMS),
    *(("l2_write", {"footprint": mib * MIB}) for mib in (4, 16, 48)),
    *(
        ("l1_read", {"footprint": kib * KIB, "access_bytes": size, "warps": warps})
        for size in (4, 16)
        for warps in (8, 32)
        for kib in (64, 128, 192, 256, 320, 512)
    ),
)

CURVES: tuple[Curve, ...] = (
    Curve("Stream by size, L2 flushed", "stream", "bytes", "bytes", "GB/s", ("op",), (("l2", "flushed"),)),
    Curve("Stream by size, data just used", "stream", "bytes", "bytes", "GB/s", ("op",), (("l2", SAME),)),
    Curve("Stream by CTAs of 1024 threads", "stream_vs_ctas", "ctas", "CTAs", "GB/s", ("op",), log_y=True),
    Curve(
        "Stream by bytes in flight", "stream_vs_inflight", "bytes_in_flight_per_sm", "bytes in flight an SM", "GB/s", ("sms", "loads16B_per_thread"), log_y=True
    ),
    Curve("Reads of L2 by footprint", "l2_read", "footprint", "bytes", "bytes / cycle / SM", ("pattern",)),
    Curve("Reads of L2 by SMs", "l2_read_vs_sms", "sms", "SMs", "bytes / cycle / SM", ("footprint",)),
    Curve("Reads of L1 by footprint", "l1_read", "footprint", "bytes", "bytes / cycle / SM", ("access_bytes", "warps")),
)

PLANS |= _asynchronous("PLANS")
POINTS += _asynchronous("POINTS")
CURVES += _asynchronous("CURVES")

UNITS = {**dict.fromkeys(PLANS, "GB/s"), **dict.fromkeys(("l1_read", "l2_read", "l2_read_vs_sms"), "bytes/clk/SM"), "async_latency": "cycles"}
