"""Latencies, capacities and rates of L1, shared memory, L2 and DRAM."""

from __future__ import annotations

from math import log2
from statistics import fmean, median

from gpusim.calibrate.bench import Bench, Row, digits, nearly_whole, whole, whole_cycles
from gpusim.calibrate.formulas import Knee, asymptote, knee, line
from gpusim.calibrate.records import Missing, Record

CLK_SM = "bytes/clk/SM"

#: a part that delivers less than this share of its own rate is held back by something else
HELD = 0.9
#: what delivers this share of the chip's rate may be limited by it
NEAR = 0.95

#: footprints (bytes) from which neither L2 nor what a GPC has in flight helps: random chases in DRAM; sweeps in L2
IN_DRAM = 1e9
DISTINCT = 8 * 2**20
#: and footprints that no L1 holds
BEYOND_L1 = 2**20


def _sm_rate(bench: Bench) -> float:
    """B/cycle that one SM can receive: where so few SMs read that nothing else limits."""
    return median(r.value for r in bench.records.points("bandwidth/l2_read_vs_sms", CLK_SM) if r.number("sms") <= 4)


def _gpc_rate(bench: Bench) -> float:
    """B/cycle/SM where neither the SM (one SM's rate) nor the chip (highest total) limits; distinct lines, so not from a small footprint."""
    points = [r for r in bench.records.points("bandwidth/l2_read_vs_sms", CLK_SM) if r.number("footprint") >= DISTINCT]
    alone, totals = _sm_rate(bench), {r.value * r.number("sms"): r.number("sms") for r in points}
    most = max(totals, default=0.0)
    between = [total / sms for total, sms in totals.items() if total < HELD * alone * sms and total < NEAR * most and sms < totals[most]]
    if not between:
        raise Missing("no SM count of bandwidth/l2_read_vs_sms at which a GPC limits")
    return fmean(between)


def _gpc_total(bench: Bench) -> float:
    """B/cycle of the fewest SMs that no longer get what one alone gets: small grids begin with SMs of one GPC."""
    points = [r for r in bench.records.points("bandwidth/l2_read_vs_sms", CLK_SM) if r.number("footprint") >= DISTINCT]
    limited = [(r.number("sms"), r.value) for r in points if r.value < HELD * _sm_rate(bench)]
    if not limited:
        raise Missing("no SM count of bandwidth/l2_read_vs_sms at which a GPC limits")
    fewest = min(sms for sms, _ in limited)
    return fewest * fmean(value for sms, value in limited if sms == fewest)


def _l2_read(bench: Bench) -> float:
    """B/s of all SMs, each with a slice of its own that fits."""
    points = bench.records.points("bandwidth/l2_read", CLK_SM, pattern="own slice per SM")
    fits = [r for r in points if r.number("footprint") <= HELD * bench.spec("l2.capacity")]
    if not fits:
        raise Missing("no bandwidth/l2_read with slices that fit in L2")
    return max(r.value * r.number("sms") for r in fits) * bench.spec("clocks.boost")


def _l2_write(bench: Bench) -> float:
    return median(r.value for r in bench.records.points("bandwidth/l2_write", "GB/s")) * 1e9


def _store_rate(bench: Bench) -> float:
    return bench.records.value("bandwidth/stream_vs_ctas", "GB/s", op="write", ctas=1) * 1e3 / bench.mhz


def _staircase(bench: Bench) -> Knee:
    """The step of L2, without L1: cycles."""
    points = bench.records.points("latency/staircase", "cycles")
    return knee([(r.number("footprint"), r.value) for r in points if r.number("footprint") >= BEYOND_L1 and r.params.get("l1_carveout") != "max_smem"])


def _staircase_of_l1(bench: Bench, carveout: str) -> Knee:
    """The step of L1 with the largest or the smallest share of the SRAM. Beyond it all miss before L2's step, so the near latency is the top."""
    points = [(r.number("footprint"), r.value) for r in bench.records.points("latency/staircase", "cycles", l1_carveout=carveout)]
    return knee([point for point in points if point[0] < BEYOND_L1], top=_staircase(bench).level)


def _l1_ways(bench: Bench) -> float:
    """A line may lie in two sets of n lines (`parts/l1.py`): a chase misses about n times a pass for each line beyond the capacity."""
    stairs, miss = _staircase_of_l1(bench, "max_l1"), _staircase(bench).level
    return (stairs.beyond - stairs.level) / (miss - stairs.level)


def _l1_reserved(bench: Bench) -> float:
    """What neither L1 nor shared memory has where shared memory has most."""
    return bench.spec("sm.l1_and_shared") - bench.spec("sm.shared_max") - _staircase_of_l1(bench, "max_smem").at


def _halves(bench: Bench) -> float:
    """One piece holds (nearly) all of L2; of two pieces an SM's own holds half."""
    return min(2, round(bench.spec("l2.capacity") / _staircase(bench).at))


def _usable(bench: Bench) -> float:
    return min(1.0, _staircase(bench).at * bench.spec("l2.halves") / bench.spec("l2.capacity"))


def _chase(bench: Bench) -> float:
    """Cycles: random lines, none in L2."""
    points = bench.records.points("latency/dram", "cycles", order="random")
    far = [r.value for r in points if r.number("footprint") >= IN_DRAM]
    if not far:
        raise Missing("no random chase of latency/dram over 1 GB or more")
    return median(far)


def _beyond(bench: Bench) -> tuple[float, float]:
    """(to the far half, to DRAM) in cycles, beyond a near hit.

    With two halves a line that has left the near half either still lies in its home in the far half or has its home here and comes from DRAM:
    beyond the knee the mean is near + (far + dram) / 2. A chase that never hits has its home in either half: near + far / 2 + dram.
    """
    stairs = _staircase(bench)
    after, never = stairs.beyond - stairs.level, _chase(bench) - stairs.level
    if bench.spec("l2.halves") == 1:
        return 0.0, never
    return 2 * (2 * after - never), 2 * (never - after)


def _far(bench: Bench) -> float:
    if bench.spec("l2.halves") == 1:
        raise Missing("L2 is one piece, so nothing is far")
    return _positive(_beyond(bench)[0])


def _dram_latency(bench: Bench) -> float:
    return _positive(_beyond(bench)[1]) * 1e3 / bench.mhz


def _positive(value: float) -> float:
    if value <= 0:
        raise Missing(f"latency/staircase and latency/dram contradict each other (the difference is {value:.0f} cycles)")
    return value


def _near(bench: Bench) -> float:
    """Cycles, mean over all SMs."""
    return fmean(bench.records.lists("latency/l2_hit_mean_by_sm", "cycles")[0])


def _atom(bench: Bench) -> float:
    """Bytes. A chase in steps of s finds 1 - s / atom of its words in L2 because DRAM moved them along."""
    points = {r.number("stride"): r.value for r in bench.records.points("latency/dram", "cycles", order="sequential")}
    step, miss, hit = min(points), _chase(bench), _staircase(bench).level
    share = min(1.0, (points[step] - hit) / (miss - hit))
    if share <= 0.05:
        raise Missing("the smallest step of the sequential chase of latency/dram nearly always hits")
    return float(2 ** round(log2(step / share)))


def _pins(bench: Bench) -> float:
    """B/s: two transfers per clock and pin."""
    return bench.records.of_device("memoryBusWidth") / 8 * bench.records.of_device("memoryClockRate_kHz") * 1e3 * 2


def _stream(bench: Bench, op: str) -> float:
    """B/s of long streams, launch excluded."""
    points = bench.records.points("bandwidth/stream", "GB/s", op=op, l2="flushed")
    moved = {"copy": 2.0}.get(op, 1.0)
    return asymptote([(r.number("ns"), r.number("bytes") * moved) for r in points]) * 1e9


def _wavefront(bench: Bench) -> float:
    """Cycles: power-of-two strides of a word give as many wavefronts as the stride, up to the number of banks."""
    points = bench.records.points("smem/bank_conflict_load", "cycles/warp access", kind="dependent", access_bytes=4)
    return line([(r.number("stride_words"), r.value) for r in points if r.number("stride_words") in (1, 2, 4, 8, 16, 32)])[0]


def _top(bench: Bench, name: str, unit: str, scale: float, **where: object) -> float:
    return max(r.value for r in bench.records.points(name, unit, **where)) * scale


def _requests(bench: Bench) -> float:
    """Hz: one-sector requests of the whole chip to L2, most warps."""
    points = bench.records.points("scheduling/latency_hiding", "sector loads/ns", lanes="32 addresses per warp")
    chosen = [r for r in points if r.number("footprint") < bench.spec("l2.capacity")]
    return _most_warps(chosen).value * 1e9


def _most_warps(points: list[Record]) -> Record:
    if not points:
        raise Missing("no scheduling/latency_hiding with this footprint")
    return max(points, key=lambda r: r.number("warps_per_sm"))


#: bytes of one load of a warp, and how many it makes at once
LOAD_BYTES, AT_ONCE = 512, 8


def _spread(bench: Bench) -> float:
    """ns: mean of an exponential distribution. Of n pieces the latest comes 1 + 1/2 + ... + 1/n of it behind the quickest; a latency holds one mean.

    One SM, one warp: a pass of eight loads less one of one load, and less the way of the seven others into the SM.
    """
    points = bench.records.points("bandwidth/stream_vs_inflight", "GB/s", op="read", sms=1, warps_per_sm=1)
    passes = {r.number("loads16B_per_thread"): r.number("loads16B_per_thread") * LOAD_BYTES / r.value for r in points}
    if not {1, AT_ONCE} <= passes.keys():
        raise Missing("no bandwidth/stream_vs_inflight of one warp with one load and with eight")
    way = (AT_ONCE - 1) * LOAD_BYTES / bench.spec("sm.fill_bytes_per_cycle") * 1e3 / bench.mhz
    pieces = int(AT_ONCE * LOAD_BYTES // bench.spec("dram.piece"))
    return max(0.0, passes[AT_ONCE] - passes[1] - way) / sum(1 / k for k in range(2, pieces + 1))


def _cp_async(bench: Bench) -> float:
    cycles = {kind: bench.records.value("bandwidth/async_latency", "cycles", kind=kind, **{"from": "L2"}) for kind in (COPY, LOAD)}
    return cycles[COPY] - cycles[LOAD]


def _atomics(bench: Bench, pattern: str) -> float:
    """Hz: lanes of the whole chip per second, in L2."""
    points = bench.records.points("smem/global_atomic", "lane ops/ns", op="red.add.u32", pattern=pattern)
    return float(min(points, key=lambda r: r.number("words")).value) * 1e9


COPY, LOAD = "cp.async 16 B + wait", "ld.global.cg 16 B + st.shared"

STAIRS = "latency/staircase, latency/dram random"

ROWS: tuple[Row, ...] = (
    Row("sm.shared_latency", "latency/shared", "4 bytes", lambda b: b.records.value("latency/shared", "cycles", bytes=4), whole_cycles),
    Row("sm.l1_latency", "latency/l1_hit", "8 bytes", lambda b: b.records.value("latency/l1_hit", "cycles", ld="ca.u64"), whole_cycles),
    Row("sm.l1_ways", "latency/staircase max_l1", "misses for each byte beyond the capacity", _l1_ways, whole),
    Row(
        "sm.l1_reserved",
        "latency/staircase max_smem",
        "sm.l1_and_shared less sm.shared_max and the footprint at which L1 begins to miss",
        _l1_reserved,
        whole,
        tolerance=256,
    ),
    Row("sm.shared_bytes_per_cycle", "smem/load_bandwidth", "highest", lambda b: _top(b, "smem/load_bandwidth", CLK_SM, 1), nearly_whole),
    Row(
        "sm.l1_lines_per_cycle",
        "bandwidth/l1_read",
        "highest, by the line",
        lambda b: _top(b, "bandwidth/l1_read", CLK_SM, 1 / b.spec("l2.line")),
        nearly_whole,
    ),
    Row("sm.lsu_lanes", "smem/load_bandwidth", "highest of 4-byte loads, by 4", lambda b: _top(b, "smem/load_bandwidth", CLK_SM, 1 / 4, access_bytes=4), whole),
    Row("simt.latency_per_wavefront", "smem/bank_conflict_load", "dependent, 4 bytes: slope over wavefronts", _wavefront, nearly_whole),
    Row("sm.fill_bytes_per_cycle", "bandwidth/l2_read_vs_sms", "median of 1 to 4 SMs", _sm_rate, digits),
    Row("sm.store_bytes_per_cycle", "bandwidth/stream_vs_ctas", "write, one CTA, at the SM clock", _store_rate, digits),
    Row("l2.capacity", "device", "l2CacheSize", lambda b: b.records.of_device("l2CacheSize"), whole),
    Row("chip.gpc_bytes_per_cycle_per_sm", "bandwidth/l2_read_vs_sms", "from 8 MiB: mean where neither one SM's rate nor the chip's limits", _gpc_rate, digits),
    Row("chip.gpc_bytes_per_cycle", "bandwidth/l2_read_vs_sms", "from 8 MiB: all bytes of the fewest SMs that get less than one alone", _gpc_total, digits),
    Row("l2.halves", "latency/staircase", "capacity over the footprint at which an SM begins to miss, at most 2", _halves, whole),
    Row("l2.usable", "latency/staircase", "footprint at which an SM begins to miss, over capacity / halves", _usable, digits),
    Row("l2.hit_latency", "latency/l2_hit_mean_by_sm", "mean of the SMs", _near, whole),
    Row("l2.far_latency", STAIRS, "behind the knee near + (far + DRAM) / 2, in a chase that never hits near + far / 2 + DRAM", _far, whole),
    Row("l2.read_bandwidth", "bandwidth/l2_read", "own slice per SM, highest that fits, at the SM clock", _l2_read, digits),
    Row("l2.write_bandwidth", "bandwidth/l2_write", "median", _l2_write, digits),
    Row("dram.capacity", "device", "totalGlobalMem", lambda b: b.records.of_device("totalGlobalMem"), digits),
    Row("dram.bandwidth", "device", "memoryBusWidth / 8 x memoryClockRate x 2", _pins, digits),
    Row(
        "dram.efficiency",
        "bandwidth/stream",
        "read, flushed: slope of bytes over time of long streams, over dram.bandwidth",
        lambda b: _stream(b, "read") / b.spec("dram.bandwidth"),
        digits,
    ),
    Row("dram.latency", STAIRS, "behind the knee near + (far + DRAM) / 2, in a chase that never hits near + far / 2 + DRAM", _dram_latency, digits),
    Row("dram.atom", "latency/dram sequential", "smallest step, over the share of its accesses that miss; a power of two", _atom, whole),
    Row("copy_engines.cp_async_latency", "bandwidth/async_latency", "from L2: cp.async less ld + st.shared", _cp_async, whole),
    Row("simt.l2_request_rate", "scheduling/latency_hiding", "32 addresses a warp, most warps, footprint in L2", _requests, digits),
    Row("simt.dram_spread", "bandwidth/stream_vs_inflight", "one SM, one warp: eight loads less one, over 1/2 + ... + 1/16", _spread, digits),
    Row("simt.atomic_step", "smem/global_atomic", "red, one word", lambda b: _atomics(b, "one word"), digits),
    Row("simt.atomic_rate", "smem/global_atomic", "red, random words, smallest footprint", lambda b: _atomics(b, "random word"), digits),
)
