"""Pipes of an SM: how often an instruction can issue and how long its result takes; barriers, predicates, divergence; tensor cores."""

from __future__ import annotations

import re

from gpusim.calibrate.bench import Bench, Row, digits, lanes, nearly_whole, whole, whole_cycles
from gpusim.calibrate.formulas import line
from gpusim.calibrate.records import Missing, Record

OPS, FMA = "ops/clk/SM", "FMA/clk/SM"

#: threads of a warp
WARP = 32

#: field of simt.interval -> operation of group alu whose throughput tells it
INTERVALS = {
    "fmaheavy": "imad",
    "alu": "iadd3",
    "half": "hfma2_f16",
    "fp64": "dadd",
    "xu": "mufu_ex2",
    "HADD2": "hadd2_f16",
    "DFMA": "dfma",
    "IMAD_WIDE": "imad_wide",
    "IMAD_HI": "imad_hi",
    "SHFL": "shfl_bfly",
    "MATCH": "match_any",
    "REDUX": "redux_add_with_mov",
}

#: field of simt.latency -> operation of group alu
LATENCIES = {
    "fma": "ffma",
    "fmaheavy": "imad",
    "alu": "iadd3",
    "half": "hfma2_f16",
    "fp64": "dfma",
    "xu": "mufu_ex2",
    "IMAD_WIDE": "imad_wide",
    "IMAD_HI": "imad_hi",
    "SHFL": "shfl_bfly",
    "MATCH": "match_any",
}

#: operand format -> how a shape of mma.sync ends that has it
MMA = {"bf16": "m16n8k16.f32.bf16", "fp16": "m16n8k16.f32.f16", "tf32": "m16n8k8.f32.tf32", "int8": "m16n8k32.s32.s8", "fp64": "m8n8k4.f64"}

#: operand format -> how tensor/wgmma calls it
WGMMA = {"bf16": "bf16", "fp8": "e4m3"}


def _latency(bench: Bench, name: str) -> float:
    return bench.records.value(f"alu/{name}", "cycles", kind="latency")


def _throughput(bench: Bench, name: str) -> float:
    return bench.records.value(f"alu/{name}", OPS, kind="throughput")


def _interval(bench: Bench, name: str) -> float:
    """Cycles that a warp's instruction holds the pipe of its sub-core."""
    return bench.spec("sm.subcores") * WARP / _throughput(bench, name)


def _lsu_interval(bench: Bench) -> float:
    words = max(r.value for r in bench.records.points("smem/load_bandwidth", "bytes/clk/SM", access_bytes=4)) / 4
    return bench.spec("sm.subcores") * WARP / words


def _store_interval(bench: Bench, width: int) -> float:
    """One warp, one store after the other."""
    return WARP * width / bench.records.value("smem/store_bandwidth", "bytes/clk/SM", access_bytes=width, warps=1)


def _of_store(field: str, width: int) -> Row:
    return Row(f"simt.interval.{field}", "smem/store_bandwidth", f"one warp, {width} bytes a lane", lambda b: _store_interval(b, width), whole_cycles)


def _matrix_load(bench: Bench) -> float:
    """A load of four 8 x 8 matrices without conflicts, less three further wavefronts and the addition that follows."""
    cycles = min(r.value for r in bench.records.points("smem/ldmatrix_x4", "cycles", kind="latency incl. one dependent IADD"))
    return cycles - 3 * bench.spec("simt.latency_per_wavefront") - bench.spec("simt.latency.alu") - 2 * bench.spec("simt.pipe_change")


def _of_interval(field: str, name: str) -> Row:
    return Row(f"simt.interval.{field}", f"alu/{name}", "sub-cores x 32 / throughput", lambda b: _interval(b, name), nearly_whole)


def _of_latency(field: str, name: str) -> Row:
    return Row(f"simt.latency.{field}", f"alu/{name}", "latency", lambda b: _latency(b, name), whole_cycles)


def _lanes(field: str, name: str) -> Row:
    return Row(f"sm.{field}", f"alu/{name}", "throughput, in whole pipes", lambda b: _throughput(b, name), lanes)


def _barrier(bench: Bench, kind: str = "__syncthreads") -> tuple[float, float]:
    """(cycles for each warp, cycles of the barrier itself)."""
    return line([(r.number("warps"), r.value) for r in bench.records.points("scheduling/barrier", "cycles", kind=kind)])


#: columns of B from which neither operand holds a wgmma back
WIDE = 64

#: share of misses that a footprint at the edge of a cache may have
NEARLY = 0.05

#: barriers in one pass of the measured loop
UNROLL = 16


def _inner_barrier(bench: Bench) -> float:
    """The measured loop ends with a predicate and a branch behind every 16 barriers."""
    return _barrier(bench)[1] - (bench.spec("simt.guard_latency") + bench.spec("simt.branch")) / UNROLL


def _guard(bench: Bench) -> float:
    """expf is a multiply, a comparison, a guarded multiply, ex2 and a multiply; what the other four take is known.

    Two changes of pipe to and from the comparison, one behind ex2; see `simt.pipe_change`.
    """
    fma, change = bench.spec("simt.latency.fma"), bench.spec("simt.pipe_change")
    return _latency(bench, "__expf") - 3 * fma - 3 * change - bench.spec("simt.latency.xu")


def _pipe_change(bench: Bench) -> float:
    return (_latency(bench, "mufu_rcp_then_fadd") - bench.spec("simt.latency.xu") - bench.spec("simt.latency.fma")) / 2


def _split(bench: Bench) -> float:
    """31 of 32 passes let one lane more go, where otherwise all stay."""
    cycles = {trips: bench.records.value("divergence/lane_trip_count", "cycles", trips=trips, warps=1) for trips in ("lane+1", "all 32")}
    return (cycles["lane+1"] - cycles["all 32"]) / 31


def _atoms(bench: Bench) -> float:
    """Dependent, n lanes of a warp on one word: base + slope n."""
    points = bench.records.points("smem/shared_atomic", "cycles/warp instr", op="atom.add.u32 (dependent)", step_words=1, warps=1)
    return line([(WARP / r.number("distinct_addresses"), r.value) for r in points])[1]


def _b2r(bench: Bench) -> float:
    """What a barrier with a count takes beyond one without, less the predicate that it waits for."""
    return bench.records.value("scheduling/barrier", "cycles", kind="barrier.red.popc", warps=1) - sum(_barrier(bench)) - bench.spec("simt.guard_latency")


def _constant(bench: Bench, instr: str, largest: bool = False) -> float:
    """Cycles at the smallest footprint, which any cache holds, or at the largest."""
    pick = max if largest else min
    return float(pick(bench.records.points("latency/constant", "cycles", instr=instr), key=lambda r: r.number("footprint")).value)


def _constant_miss(bench: Bench, instr: str) -> float:
    return _constant(bench, instr, largest=True) - _constant(bench, instr)


def _constant_cache(bench: Bench) -> float:
    """Bytes: the largest footprint whose loads still cost (nearly) a hit."""
    hit, miss = _constant(bench, "LDC"), _constant_miss(bench, "LDC")
    points = bench.records.points("latency/constant", "cycles", instr="LDC")
    return max(r.number("footprint") for r in points if r.value <= hit + miss * NEARLY)


def _mma(bench: Bench, shape: str) -> float:
    return max(r.value for r in bench.records.points("tensor/mma_sync", FMA, kind="throughput", shape=shape))


def _of_mma(key: str, shape: str) -> Row:
    return Row(f"tensor.mma_sync.fma_per_cycle.{key}", "tensor/mma_sync", f"{shape}, highest throughput", lambda b: _mma(b, shape), digits)


def _mma_latency(bench: Bench, shape: str) -> float:
    return bench.records.value("tensor/mma_sync", "cycles", kind="latency", shape=shape)


def _wgmma(bench: Bench, kind: str) -> float:
    return max(r.value for r in bench.records.points("tensor/wgmma", FMA, kind="throughput", type=kind, warpgroups=1))


def _of_wgmma(key: str, kind: str) -> Row:
    return Row(f"tensor.wgmma.fma_per_cycle.{key}", "tensor/wgmma", f"{kind}, highest throughput of one warpgroup", lambda b: _wgmma(b, kind), digits)


def _columns(record: Record) -> float:
    """N of a shape m64nNkK."""
    found = re.fullmatch(r"m\d+n(\d+)k\d+", str(record.params.get("shape")))
    if found is None:
        raise Missing(f"record {record.index} of tensor/wgmma has no shape m64nNkK")
    return float(found[1])


def _isolated(bench: Bench, a: str) -> float:
    """Cycles beyond N / 2 of one wgmma, without the fence before it and the branch that closes the loop. Wide ones, which no operand limits."""
    kind = "latency: fence, one wgmma, commit, wait"
    points = [(r, _columns(r)) for r in bench.records.points("tensor/wgmma", "cycles", kind=kind, type="bf16", a=a, warpgroups=1)]
    least = min(r.value - n / 2 for r, n in points if n >= WIDE)
    return least - bench.spec("simt.gap.WARPGROUP_ARRIVE") - bench.spec("simt.branch")


def _register_least(bench: Bench) -> float:
    return min(r.number("cycles_per_wgmma") for r in bench.records.points("tensor/wgmma", FMA, kind="throughput", type="bf16", a="reg", warpgroups=1))


def _operand(bench: Bench) -> tuple[float, float]:
    """(cycles for each column of B, base) where reading A from shared memory limits: below half the full rate and at it."""
    points = bench.records.points("tensor/wgmma", FMA, kind="throughput", type="bf16", a="smem", warpgroups=1, accumulators=1)
    full = max(r.value for r in points)
    held = [(_columns(r), r.number("cycles_per_wgmma")) for r in points if r.value < 0.9 * full]
    if len(held) < 2:
        raise Missing("fewer than two shapes of tensor/wgmma that reading A from shared memory limits")
    return line(held)


LOOP = "less simt.gap.WARPGROUP_ARRIVE and simt.branch"

#: rows that later ones build on come first
ROWS: tuple[Row, ...] = (
    _lanes("fma_lanes", "ffma"),
    _lanes("alu_lanes", "iadd3"),
    _lanes("xu_lanes", "mufu_ex2"),
    Row("sm.alu_latency", "alu/ffma", "latency", lambda b: _latency(b, "ffma"), whole_cycles),
    Row(
        "simt.interval.fma",
        "alu/ffma",
        "FMA pipes of a sub-core x sub-cores x 32 / throughput",
        lambda b: b.spec("simt.fma_halves") * _interval(b, "ffma"),
        nearly_whole,
    ),
    *(_of_interval(field, name) for field, name in INTERVALS.items()),
    Row("simt.interval.lsu", "smem/load_bandwidth", "sub-cores x 32 / words a cycle of 4-byte loads", _lsu_interval, nearly_whole),
    _of_store("STS_64", 8),
    _of_store("STS_128", 16),
    *(_of_latency(field, name) for field, name in LATENCIES.items()),
    Row("simt.latency.lsu", "latency/shared", "4 bytes", lambda b: b.records.value("latency/shared", "cycles", bytes=4), whole_cycles),
    Row("simt.latency.LDC", "latency/constant", "LDC, smallest footprint", lambda b: _constant(b, "LDC"), whole_cycles),
    Row("simt.latency.ULDC", "latency/constant", "ULDC, smallest footprint", lambda b: _constant(b, "ULDC"), whole_cycles),
    Row("simt.constant_cache", "latency/constant", "LDC, largest footprint that hits", _constant_cache, whole),
    Row("simt.constant_miss", "latency/constant", "LDC, largest footprint less smallest", lambda b: _constant_miss(b, "LDC"), whole),
    Row("simt.uniform_constant_miss", "latency/constant", "ULDC, largest footprint less smallest", lambda b: _constant_miss(b, "ULDC"), whole),
    Row("simt.latency.LDL", "latency/local", "128 bytes", lambda b: b.records.value("latency/local", "cycles", bytes=128), whole_cycles),
    Row("simt.latency.ATOMS", "smem/shared_atomic", "dependent, lanes on one word: intercept", _atoms, whole_cycles),
    Row("simt.latency.ATOMS_CAST_SPIN", "latency/atomic", "shared_cas", lambda b: b.records.value("latency/atomic", "cycles", op="shared_cas"), whole_cycles),
    Row("simt.pipe_change", "alu/mufu_rcp_then_fadd", "half of the latency beyond that of xu and fma", _pipe_change, whole_cycles),
    Row("simt.latency.LDSM", "smem/ldmatrix_x4", "latency less three wavefronts, alu and two changes of pipe", _matrix_load, whole_cycles),
    Row("simt.guard_latency", "alu/__expf", "latency, less three of fma, one of xu and three changes of pipe", _guard, whole_cycles),
    Row(
        "simt.latency.VOTE",
        "alu/vote_ballot_with_setp",
        "latency less simt.guard_latency",
        lambda b: _latency(b, "vote_ballot_with_setp") - b.spec("simt.guard_latency"),
        whole_cycles,
    ),
    Row(
        "simt.latency.REDUX",
        "alu/redux_add_with_mov",
        "latency less that of alu and two changes of pipe",
        lambda b: _latency(b, "redux_add_with_mov") - b.spec("simt.latency.alu") - 2 * b.spec("simt.pipe_change"),
        whole_cycles,
    ),
    Row("simt.shuffle_index", "alu/shfl_idx", "latency less that of shfl_bfly", lambda b: _latency(b, "shfl_idx") - _latency(b, "shfl_bfly"), whole_cycles),
    Row("simt.split", "divergence/lane_trip_count", "one warp: (lane+1 - all 32) / 31", _split, whole_cycles),
    Row("sm.barrier_per_warp", "scheduling/barrier", "__syncthreads: slope over warps", lambda b: _barrier(b)[0], nearly_whole),
    Row("sm.barrier_base", "scheduling/barrier", "__syncthreads: intercept", lambda b: _barrier(b)[1], digits),
    Row("simt.barrier", "scheduling/barrier", "sm.barrier_base less 1/16 of a predicate and a branch", _inner_barrier, digits, kind="derived"),
    Row("simt.latency.B2R", "scheduling/barrier", "barrier.red.popc less __syncthreads and simt.guard_latency, one warp", _b2r, whole_cycles),
    *(_of_mma(key, shape) for key, shape in MMA.items()),
    Row("tensor.mma_sync.latency", "tensor/mma_sync", MMA["bf16"] + " latency", lambda b: _mma_latency(b, MMA["bf16"]), whole_cycles),
    Row("simt.latency.tensor", "tensor/mma_sync", MMA["bf16"] + " latency", lambda b: _mma_latency(b, MMA["bf16"]), whole_cycles),
    Row("simt.latency.DMMA_884", "tensor/mma_sync", MMA["fp64"] + " latency", lambda b: _mma_latency(b, MMA["fp64"]), whole_cycles),
    *(_of_wgmma(key, kind) for key, kind in WGMMA.items()),
    Row("tensor.wgmma.latency", "tensor/wgmma", f"A from shared memory: latency - N/2 {LOOP}", lambda b: _isolated(b, "smem"), whole_cycles),
    Row("tensor.wgmma.register_latency", "tensor/wgmma", f"A from registers: latency - N/2 {LOOP}", lambda b: _isolated(b, "reg"), whole_cycles),
    Row("tensor.wgmma.register_least", "tensor/wgmma", "A from registers, fewest cycles of any shape", _register_least, nearly_whole),
    Row("tensor.wgmma.operand_per_n", "tensor/wgmma", "A from shared memory, shapes below the full rate: slope over N", lambda b: _operand(b)[0], digits),
    Row("tensor.wgmma.operand_base", "tensor/wgmma", "A from shared memory, shapes below the full rate: intercept", lambda b: _operand(b)[1], digits),
)
