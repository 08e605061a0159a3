"""Group global: what coalescing is worth. Strides, offsets, widths of access, random places, rows against columns, transposes.

All values are those of whole launches, their overhead in them. Strides, offsets and widths begin with an L2 that holds nothing of theirs
("cold"); the others follow a launch of the same kernel ("warm").
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt import transpose
from gpusim.kernels.simt.probes import coalescing
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe.loops import excluded, launched, nanoseconds, sms
from gpusim.probe.plan import Curve, Params, Plan, Point, Simulation
from gpusim.probe.steady import ENOUGH, MIXED, Chain, Extents, before_part, steady, two_lengths
from gpusim.spec.device import GpuSpec

THREADS = 256
#: CTAs of THREADS that an SM holds, for whole waves
RESIDENT = 8
#: CTAs of an SM that keep memory busy where each touches much
SOME = 2
NEVER = np.int32(0)
#: threads of the CTA of a gather; loads of a thread in the launch before, which touches more lines than L2 holds; in the one that is timed, for each
#: lane that reads side by side, of which so many count
GATHER_THREADS, GATHER_BEFORE, GATHER_SHORT, GATHER_RUNS = 512, 4, 8, 4

strided = cache(coalescing.strided)
vectors = cache(coalescing.vectors)
mapped = cache(coalescing.mapped)
summed = cache(coalescing.summed)
tiled = cache(transpose.transpose_tiled)


def rounded(value: float, unit: int) -> int:
    """The multiple of `unit` that is nearest: records hold sizes of 1 GiB and more with nine digits."""
    return max(1, round(value / unit)) * unit


def _floats(elements: int) -> ArraySpec:
    return ArraySpec((elements,), "float32")


def _strided(op: str, accesses: int, stride: int, offset: int) -> Simulation:
    per_cta = coalescing.STRIDED * THREADS
    args = (_floats(accesses * stride + offset), _floats(accesses * stride + offset), np.int32(stride), np.int32(offset), NEVER, _floats(1))

    def simulate(spec: GpuSpec) -> float:
        each = per_cta * min(spec.l2.line, 4 * stride)
        lengths = two_lengths(each, (RESIDENT if RESIDENT * sms(spec) * each < 2 * ENOUGH else SOME) * sms(spec), _size(op if stride == 1 else ""))
        return steady(lambda ctas: nanoseconds(spec, strided(op), (ctas, THREADS), args), accesses // per_cta, lengths)

    return simulate


def _size(op: str) -> int:
    """What a launch moves at least: who only reads leaves nothing in L2 that costs later. Of stores that fill no sector, L2 takes fewer than DRAM would."""
    return {"copy": MIXED, "read": ENOUGH // 2}.get(op, ENOUGH)


def _stride(p: Params) -> Simulation:
    return _strided(_mode(p), int(p["accesses"]), int(p["stride_elems"]), 0)


def _offset(p: Params) -> Simulation:
    return _strided(_mode(p), rounded(p["bytes"], 4 * coalescing.STRIDED * THREADS) // 4, 1, int(p["offset_elems"]))


def _mode(p: Params) -> str:
    return {mode: mode for mode in coalescing.MODES}[p["op"]]


def _width(p: Params) -> Simulation:
    mode, words = _mode(p), {4: 1, 8: 2, 16: 4}[p["access_bytes"]]
    per_cta = coalescing.VECTORS * THREADS * words
    elements = rounded(p["bytes"], 4 * per_cta) // 4
    args = (ArraySpec((elements,), "uint32"), ArraySpec((elements,), "uint32"), NEVER, ArraySpec((1,), "uint32"))

    def simulate(spec: GpuSpec) -> float:
        lengths = two_lengths(4 * per_cta, RESIDENT * sms(spec), MIXED if mode == "copy" else ENOUGH)
        return steady(lambda ctas: nanoseconds(spec, vectors(mode, words), (ctas, THREADS), args), elements // per_cta, lengths)

    return simulate


def _gather(p: Params) -> Simulation:
    """Lane reads of a nanosecond, behind a launch of the same kernel, which has left random words of the array in L2: of CTAs that an SM holds at once,
    whose loops are as much longer as there are fewer of them."""
    elements, run, accesses = rounded(p["footprint"], 2**20) // 4, int(p["consecutive_lanes"]), int(p["accesses"])
    array, sink, short = _floats(elements), _floats(1), GATHER_SHORT * min(run, GATHER_RUNS)

    def args(loads: int, run: int) -> tuple[Any, ...]:
        return array, np.uint32(elements - 1), np.int32(loads), np.int32(run), NEVER, sink

    def simulate(spec: GpuSpec) -> float:
        chip, ctas = Chain(spec), sms(spec) * spec.sm.max_warps * 32 // GATHER_THREADS
        chip.before(coalescing.gather, ctas, GATHER_THREADS, args(GATHER_BEFORE, 1))

        loads = accesses // (GATHER_THREADS * ctas)
        none, some = (chip.run(coalescing.gather, ctas, GATHER_THREADS, args(n, run)).time_ps for n in (0, short))
        return accesses / (none + (some - none) * loads / short) * 1000

    return simulate


#: kernel of a record -> the program; n -> grid and block
MAPPINGS: dict[str, tuple[Callable[[], Any], Callable[[int], tuple[Extents, Extents]]]] = {
    "elementwise, lanes along row, block 32x8": (lambda: mapped("row"), lambda n: ((n // 32, n // 8, 1), (32, 8, 1))),
    "elementwise, lanes along column, block 32x8": (lambda: mapped("column"), lambda n: ((n // 32, n // 8, 1), (32, 8, 1))),
    "elementwise, lanes along row, block 256x1": (lambda: mapped("row"), lambda n: ((n // 256, n, 1), (256, 1, 1))),
    "elementwise, lanes along column, block 256x1": (lambda: mapped("column"), lambda n: ((n // 256, n, 1), (256, 1, 1))),
}
SUMS = {"sum, thread per column": "column", "sum, thread per row": "row"}
#: threads of a CTA that sums; elements of a row or column in one part of the launch: a line
SUMMING, LINE = 128, 32
TRANSPOSES: dict[str, Callable[[], Any]] = {
    "copy": lambda: transpose.transpose_copy,
    "naive, coalesced reads": lambda: transpose.transpose_naive_read,
    "naive, coalesced writes": lambda: transpose.transpose_naive_write,
    "tile 32x32": lambda: tiled(0),
    "tile 32x33": lambda: tiled(1),
}


def _matrix(kernel: Callable[[], Any], n: int, grid: Extents, block: Extents) -> Simulation:
    """Rows of CTAs are the parts of the launch: each moves the same share of both matrices."""
    args = (_floats(n * n), _floats(n * n), np.int32(n))
    rows = grid[1]

    def simulate(spec: GpuSpec) -> float:
        def time(part: int) -> float:
            geometry, l2 = Geometry((grid[0], part, 1), block, 0), before_part("warm", part, rows)
            return launched(spec, kernel(), geometry, args, l2=l2, launch="in").time_ps / 1000

        return steady(time, rows, two_lengths(4 * n * n // rows, size=MIXED))

    return simulate


def _summed(of: str, n: int) -> Simulation:
    """Equal shares of all columns, or of all rows, are the parts of the launch."""

    def simulate(spec: GpuSpec) -> float:
        def time(part: int) -> float:
            args = _floats(n * n), _floats(n), np.int32(n), np.int32(part * LINE)
            return nanoseconds(spec, summed(of), (n // SUMMING, SUMMING), args, l2=before_part("warm", part, n // LINE))

        return steady(time, n // LINE, two_lengths(4 * n * LINE))

    return simulate


def _mapping(p: Params) -> Simulation:
    if p["kernel"] in SUMS:
        return _summed(SUMS[p["kernel"]], int(p["n"]))
    kernel, shape = MAPPINGS[p["kernel"]]
    return _matrix(kernel, int(p["n"]), *shape(int(p["n"])))


def _transpose(p: Params) -> Simulation:
    n = int(p["n"])
    return _matrix(TRANSPOSES[p["kernel"]], n, (n // 32, n // 32, 1), (32, 8, 1))


#: name of a record -> what makes its simulation
PLANS: dict[str, Plan] = {
    "stride": _stride,
    "offset": _offset,
    "vector_width": _width,
    "random_gather": _gather,
    "mapping": _mapping,
    "transpose": _transpose,
    "sm_clock": excluded("sm_clock: the clock while the group was measured"),
}

STRIDES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 1024)
OFFSETS = (0, 1, 2, 4, 8, 16, 24, 32)
MIB = 1 << 20
MOST_ACCESSES, MOST_ELEMENTS = 128 * MIB, 2048 * MIB


def _accesses(stride: int) -> int:
    """As many as fit 8 GiB, at most 2^27; whole CTAs."""
    per_cta = coalescing.STRIDED * THREADS
    return min(MOST_ACCESSES, MOST_ELEMENTS // stride) // per_cta * per_cta


UNITS = {**dict.fromkeys(PLANS, "ns"), "random_gather": "lane reads/ns"}


POINTS: tuple[Point, ...] = (
    *(("stride", {"op": op, "stride_elems": s, "accesses": _accesses(s)}) for op in coalescing.MODES for s in STRIDES),
    *(("offset", {"op": op, "offset_elems": o, "bytes": 512 * MIB}) for op in coalescing.MODES for o in OFFSETS),
    *(("vector_width", {"op": op, "access_bytes": b, "bytes": 1024 * MIB}) for op in coalescing.MODES for b in (4, 8, 16)),
    *(
        ("random_gather", {"footprint": mib * MIB, "consecutive_lanes": run, "accesses": 33 * MIB})
        for mib in (1, 16, 64, 256, 1024, 8192)
        for run in (1, 8, 32)
    ),
    *(("mapping", {"kernel": kernel, "n": 16384}) for kernel in (*MAPPINGS, *SUMS)),
    *(("transpose", {"kernel": kernel, "n": 16384}) for kernel in TRANSPOSES),
)

CURVES: tuple[Curve, ...] = (
    Curve("Strided access: time of a launch", "stride", "stride_elems", "stride, elements of 4 bytes", "ns", ("op",), log_y=True),
    Curve("Offset access: time of a launch", "offset", "offset_elems", "offset of the first lane, elements of 4 bytes", "ns", ("op",), log_x=False),
    Curve("Width of an access", "vector_width", "access_bytes", "bytes a lane", "ns", ("op",)),
    Curve("Random gather", "random_gather", "footprint", "bytes of the array", "lane reads / ns", ("consecutive_lanes",), log_y=True),
)
