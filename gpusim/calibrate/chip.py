"""Clocks, the shape of the chip, and what the driver says of an SM."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

from gpusim.calibrate.bench import Bench, Found, Row, digits, whole
from gpusim.calibrate.formulas import ascending
from gpusim.calibrate.records import Missing

#: groups that note their clock
GROUPS = ("latency", "alu", "tensor", "smem", "global", "bandwidth", "divergence", "scheduling")

#: words with which loads of the tensor cores begin
TENSOR = ("mma", "wgmma")

#: SMs that a GPC can have; a cut into other sizes has not found GPCs
GPC_SIZES = range(4, 25)


def _boost(bench: Bench) -> float:
    """Hz. Each group notes the clock before or after it runs, when no tensor instruction does."""
    found = [r.value for r in bench.records.records if r.name == "sm_clock" and r.group in GROUPS and r.value]
    if not found:
        raise Missing("no record sm_clock")
    return round(max(found)) * 1e6


def _tensor(bench: Bench) -> float:
    """Hz. The first samples of a load come before power is regulated."""
    found = [
        max(r.entries) for r in bench.records.points("power/sm_clock", "MHz") if r.entries and str(r.params.get("load", "")).split(".")[0].split()[0] in TENSOR
    ]
    if not found:
        raise Missing("no record power/sm_clock of a load of the tensor cores")
    return round(max(found)) * 1e6


def _first_waves(bench: Bench) -> list[tuple[float, ...]]:
    """SM of each CTA of the first wave, where each SM gets one."""
    sms = int(bench.records.of_device("multiProcessorCount"))
    waves = [found[:sms] for found in bench.records.lists("scheduling/cta_to_sm", "CTAs", ctas_per_sm=1)]
    whole_waves = [wave for wave in waves if len(set(wave)) == sms]
    if not whole_waves:
        raise Missing("no list of scheduling/cta_to_sm gives each SM one CTA before any gets a second")
    return whole_waves


def gpcs(bench: Bench) -> list[tuple[int, ...]]:
    """SMs of each GPC in the order of dealing. A wave fills GPC after GPC, each in the order of its SM ids, so a falling id begins the next."""
    cuts = [ascending(wave) for wave in _first_waves(bench)]
    if len({frozenset(cut) for cut in cuts}) > 1 or not all(len(gpc) in GPC_SIZES for cut in cuts for gpc in cut):
        raise Missing("the lists of scheduling/cta_to_sm do not show GPCs that are filled one after the other")
    owner = {sm: gpc for gpc in cuts[0] for sm in gpc}
    orders = Counter(tuple(dict.fromkeys(owner[int(sm)] for sm in found)) for found in bench.records.lists("scheduling/cta_to_sm", "CTAs"))
    return list(orders.most_common(1)[0][0])


def _sizes(bench: Bench) -> Found:
    return tuple(len(gpc) for gpc in gpcs(bench))


def _tpc(bench: Bench) -> float:
    """The shortest run of CTAs in a row on SMs in a row."""
    wave = _first_waves(bench)[0]
    cuts = [0, *(i for i in range(1, len(wave)) if wave[i] != wave[i - 1] + 1), len(wave)]
    return min(b - a for a, b in zip(cuts, cuts[1:], strict=False))


def _halves_of_gpcs(bench: Bench) -> Found:
    """Only where the base's list cannot stay: each GPC joins the half that has fewer SMs."""
    sizes, old = bench.known["chip.gpc_sms"], bench.known["chip.gpc_half"]
    if len(sizes) == len(old) and max(old) < bench.spec("l2.halves"):
        raise Missing("which half a GPC belongs to shows only where one SM reads what another has loaded, which no microbenchmark here does")
    share, halves = [0] * int(bench.spec("l2.halves")), []
    for size in sizes:
        halves.append(share.index(min(share)))
        share[halves[-1]] += size
    return tuple(halves)


def _start_spread(bench: Bench) -> float:
    """ns. The first wave is all that starts before the first CTA could have ended."""
    sms = int(bench.records.of_device("multiProcessorCount"))
    return sorted(bench.records.lists("scheduling/cta_start_time", "ns", ctas_per_sm=1)[0])[sms - 1]


def _warp_launch(bench: Bench) -> float:
    """Cycles: an SM gets a CTA of 32 warps every (SMs / rate)."""
    rate = max(r.value for r in bench.records.points("scheduling/cta_launch", "CTAs/us", threads=1024))
    return bench.records.of_device("multiProcessorCount") / rate * bench.mhz / (1024 / bench.records.of_device("warpSize"))


def _between(bench: Bench) -> float:
    """ns of a node of a chain, less the one line of code that its CTA waits for."""
    node = bench.records.value("scheduling/empty_kernel", "ns/launch", how="CUDA graph, chain of 1000", grid=1)
    return node - bench.spec("simt.cold_line") * 1e3 / bench.mhz


def _submit(bench: Bench) -> float:
    """ns: an empty kernel is done long before the host brings the next."""
    return fmean(r.value for r in bench.records.points("scheduling/empty_kernel", "ns/launch", how="stream, back to back"))


def _device(path: str, key: str) -> Row:
    return Row(path, "device", key, lambda bench: bench.records.of_device(key), whole)


ROWS: tuple[Row, ...] = (
    Row("clocks.boost", "*/sm_clock", "highest of the groups without tensor work", _boost, digits),
    Row("clocks.tensor", "power/sm_clock", "highest sample under a load of the tensor cores", _tensor, digits),
    Row("chip.sms_per_tpc", "scheduling/cta_to_sm", "shortest run of SMs in a row that get CTAs in a row", _tpc, whole),
    Row("chip.gpc_sms", "scheduling/cta_to_sm", "cut where the SM's number falls: a GPC is filled before the next one starts", _sizes, float),
    Row("sm.max_warps", "device", "maxThreadsPerMultiProcessor / warpSize", lambda b: _per_warp(b, "maxThreadsPerMultiProcessor"), whole),
    _device("sm.max_ctas", "maxBlocksPerMultiProcessor"),
    _device("sm.registers", "regsPerMultiprocessor"),
    _device("sm.shared_max", "sharedMemPerMultiprocessor"),
    _device("sm.shared_max_per_cta", "sharedMemPerBlockOptin"),
    _device("sm.shared_reserved_per_cta", "reservedSharedMemPerBlock"),
    Row("launch.start_spread", "scheduling/cta_start_time", "one CTA an SM: start of the last SM's first CTA", _start_spread, digits),
    Row(
        "launch.per_cta",
        "scheduling/cta_launch",
        "one over the highest rate",
        lambda b: 1e3 / max(r.value for r in b.records.points("scheduling/cta_launch", "CTAs/us")),
        digits,
    ),
    Row("launch.between", "scheduling/empty_kernel", "a node of a graph, less its wait for code", _between, digits),
    Row("launch.submit", "scheduling/empty_kernel", "back to back in a stream, mean", _submit, digits),
    Row("simt.warp_launch", "scheduling/cta_launch", "CTAs of 1024 threads: SMs / rate at the SM clock, by 32 warps", _warp_launch, digits),
)

FALLBACKS: tuple[Row, ...] = (
    Row("chip.gpc_half", "scheduling/cta_to_sm", "not measured: each GPC put into the half with fewer SMs", _halves_of_gpcs, float, kind="assumed"),
)


def _per_warp(bench: Bench, key: str) -> float:
    return bench.records.of_device(key) / bench.records.of_device("warpSize")
