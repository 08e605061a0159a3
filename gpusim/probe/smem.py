"""Group smem: bandwidth of shared memory, bank conflicts, matrix loads, atomics on shared and global memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpusim.kernels.simt.probes import shared
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import Loop, excluded, nanoseconds, slope, sms
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.spec.device import GpuSpec


@cache
def _made(factory: Callable[..., Any], *args: Any) -> Any:
    return factory(*args)


def _words(p: Params) -> int:
    return {4: 1, 8: 2, 16: 4}[p["access_bytes"]]


def _loop(kernel: Any, warps: int, args: tuple[Any, ...], value: Callable[[float], float], passes: int = 2) -> Simulation:
    return slope(Loop(kernel, warps, args, value, passes, shared=shared.SHARED_BYTES))


def _loads(p: Params, ilp: int, warps: int, stride: int, same: int, value: Callable[[float], float]) -> Simulation:
    return _loop(_made(shared.loads, _words(p), ilp), warps, ("iters", stride, same), value)


def _load_bandwidth(p: Params) -> Simulation:
    words, warps, ilp = _words(p), p["warps"], p["ilp"]
    return _loads(p, ilp, warps, words, 1, lambda c: shared.LOADS * ilp * warps * 128 * words / c)


def _store_bandwidth(p: Params) -> Simulation:
    words, warps = _words(p), p["warps"]
    return _loop(_made(shared.stores, words), warps, ("iters", words), lambda c: shared.STORES * warps * 128 * words / c)


def _conflict_load(p: Params) -> Simulation:
    """One warp that waits for each load, or many with four loads under way each."""
    ilp, warps = {"dependent": 1, "throughput": 4}[p["kind"]], p["warps"]
    return _loads(p, ilp, warps, p["stride_words"], 1, lambda c: c / (shared.LOADS * ilp * warps))


def _conflict_store(p: Params) -> Simulation:
    return _loop(_made(shared.stores, _words(p)), p["warps"], ("iters", p["stride_words"]), lambda c: c / (shared.STORES * p["warps"]))


def _broadcast(p: Params) -> Simulation:
    warps, ilp = 16, 4
    return _loads(p, ilp, warps, p["group_stride_words"], p["lanes_sharing_word"], lambda c: c / (shared.LOADS * ilp * warps))


def _matrices(p: Params) -> Simulation:
    dependent = p["kind"].startswith("latency")
    warps = 1 if dependent else 16
    kernel = _made(shared.matrices, int(dependent), int(p["trans"]))
    return _loop(kernel, warps, ("iters", p["row_pitch"], 0), lambda c: c / (shared.MATRICES * warps))


#: op of a record -> (the old value is used, of float32)
OPS = {"atom.add.u32 (dependent)": (1, 0), "red.add.u32": (0, 0), "red.add.f32": (0, 1)}


def _shared_atomic(p: Params) -> Simulation:
    """Where few lanes want one bank an atomic is short, and the loop longer: which warp is first on a word varies from pass to pass."""
    warps, words, step = p["warps"], p["distinct_addresses"], p["step_words"]
    in_a_bank = 32 // words * max(1, words * step // 32)
    kernel = _made(shared.atomics, *OPS[p["op"]])
    return _loop(kernel, warps, ("iters", words, step), lambda c: c / (shared.ATOMICS * warps), max(2, 16 // in_a_bank))


PATTERNS = ("one word", "32 words of one line", "own word per thread, coalesced", "random word")
RETURNS = {"red.add.u32": 0, "atom.add.u32": 1}


def _global_atomic(p: Params) -> Simulation:
    """Two CTAs of 1024 threads an SM; lane operations a nanosecond. Words that differ from pass to pass are many: of the 64 passes the
    rest is taken to go on as the last ones that are simulated."""
    pattern = {name: i for i, name in enumerate(PATTERNS)}[p["pattern"]]
    kernel = _made(shared.global_atomics, RETURNS[p["op"]], pattern)
    words = int(p["words"]) or 2**22
    passes, simulated = (16, 16) if pattern == 0 else (64, 16)

    def simulate(spec: GpuSpec) -> float:
        ctas = 2 * sms(spec)
        counter = ArraySpec((words,), "uint32"), ArraySpec((1,), "uint32")
        half, whole = (nanoseconds(spec, kernel, (ctas, 1024), (*counter, np.int32(n), np.uint32(words - 1)), l2="warm") for n in (simulated // 2, simulated))
        return ctas * 1024 * passes / (whole + (whole - half) * (passes - simulated) / (simulated - simulated // 2))

    return simulate


PLANS: dict[str, Plan] = {
    "load_bandwidth": _load_bandwidth,
    "store_bandwidth": _store_bandwidth,
    "bank_conflict_load": _conflict_load,
    "bank_conflict_store": _conflict_store,
    "broadcast_load": _broadcast,
    "ldmatrix_x4": _matrices,
    "shared_atomic": _shared_atomic,
    "global_atomic": _global_atomic,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
}

UNITS = {
    "load_bandwidth": "bytes/clk/SM",
    "store_bandwidth": "bytes/clk/SM",
    **dict.fromkeys(("bank_conflict_load", "bank_conflict_store", "broadcast_load"), "cycles/warp access"),
    **dict.fromkeys(("ldmatrix_x4", "shared_atomic"), "cycles/warp instr"),
    "global_atomic": "lane ops/ns",
}

STRIDES = (0, 1, 2, 3, 4, 8, 16, 17, 32, 33)

POINTS: tuple[Point, ...] = (
    *(("load_bandwidth", {"access_bytes": b, "warps": w, "ilp": 4}) for b in (4, 8, 16) for w in (1, 4, 16)),
    *(("store_bandwidth", {"access_bytes": b, "warps": w}) for b in (4, 8, 16) for w in (1, 4, 16)),
    *(
        ("bank_conflict_load", {"kind": k, "access_bytes": 4, "stride_words": s, "warps": w})
        for k, w in (("dependent", 1), ("throughput", 16))
        for s in STRIDES
    ),
    *(("bank_conflict_load", {"kind": "throughput", "access_bytes": b, "stride_words": s, "warps": 16}) for b in (8, 16) for s in (4, 8, 12, 16, 32)),
    *(("broadcast_load", {"access_bytes": 4, "lanes_sharing_word": n, "group_stride_words": 32}) for n in (2, 4, 8, 16, 32)),
    *(("ldmatrix_x4", {"kind": "throughput", "trans": 0, "row_pitch": pitch}) for pitch in (16, 32, 64, 128, 144)),
    *(("shared_atomic", {"op": op, "distinct_addresses": n, "step_words": 1, "warps": 16}) for op in OPS for n in (1, 4, 32)),
)

CURVES: tuple[Curve, ...] = (
    Curve("Loads from shared memory", "load_bandwidth", "warps", "warps of an SM", "bytes a cycle and SM", ("access_bytes",)),
    Curve("Stores to shared memory", "store_bandwidth", "warps", "warps of an SM", "bytes a cycle and SM", ("access_bytes",)),
    Curve("Bank conflicts of loads", "bank_conflict_load", "stride_words", "stride, words", "cycles an access", ("kind", "access_bytes"), (), False),
    Curve("Bank conflicts of stores", "bank_conflict_store", "stride_words", "stride, words", "cycles an access", ("access_bytes",), (), False),
    Curve("Matrix loads", "ldmatrix_x4", "row_pitch", "bytes from row to row", "cycles an instruction", ("kind", "trans")),
    Curve(
        "Atomics on shared memory",
        "shared_atomic",
        "distinct_addresses",
        "different words of a warp",
        "cycles an instruction",
        ("op", "step_words", "warps"),
        (),
        True,
        True,
    ),
)
