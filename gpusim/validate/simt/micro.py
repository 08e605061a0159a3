"""Records of microbenchmarks as probes of the library, measured as the originals were: cycles between n and 2 n passes of a loop on all SMs
at once, so that launch and entry are gone; or the time of one launch.

Each name of a record has a row in `PLANS`; what cannot be compared says why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import alu, control, scheduling
from gpusim.kernels.simt.probes.operations import OPERATIONS
from gpusim.kernels.simt.vector import empty_kernel
from gpusim.launch.protocol import L2_STATES
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import simulate_simt
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import resolve
from gpusim.trace.run import Run
from gpusim.validate.cases import Case
from gpusim.validate.simt.data import hash32
from gpusim.validate.simt.plan import Excluded, Facts, Plan

GROUPS = ("alu", "divergence", "scheduling")

#: from which chains begin: what values they have does not matter
SEED = np.uint32(7)

MOST_WARPS = 32


@dataclass(frozen=True, slots=True)
class Probe:
    """A kernel whose cost is that of one pass of a loop. args: those behind `sink` (of which the element type is `sink`), the number of passes
    as a string. value: cycles a pass -> the value of the record. passes: n."""

    kernel: Any
    warps: int
    args: tuple[Any, ...]
    value: Callable[[float], float]
    passes: int = 4
    sink: str = "uint32"


def plan_of(case: Case) -> Plan:
    """The simulation that stands for a record. Excluded, or GpusimError with the reason, if there is none."""
    value = case.number("value")
    if value is None:
        raise GpusimError("the record has no value.", where=case.id)
    made = _operation if case.family in OPERATIONS else PLANS.get(case.family)
    if made is None:
        raise GpusimError(f"no probe for '{case.family}'.", where=case.group)
    try:
        simulate = made(case)
    except KeyError as error:
        raise GpusimError(f"its params lack {error}, or hold a value that no probe knows.", where=case.id) from None
    return Plan(value, str(case.record.get("unit", "")), lambda spec: Facts(simulate(spec)), " ".join(f"{k}={v}" for k, v in case.params.items()))


def _slope(probe: Probe) -> Callable[[GpuSpec], float]:
    def simulate(spec: GpuSpec) -> float:
        """Cycles of a pass: of 2 n passes less those of n, over n. More warps than a CTA can have come as two CTAs an SM."""
        ctas = -(-probe.warps // MOST_WARPS)
        grid, threads = _sms(spec) * ctas, probe.warps // ctas * 32
        sink = ArraySpec((grid * threads,), probe.sink)
        cycles = []
        for n in (probe.passes, 2 * probe.passes):
            args = tuple(_int32(n) if isinstance(a, str) else _int32(a) for a in probe.args)
            cycles.append(_run(spec, probe.kernel, (grid, threads), (sink, *args)).cycles)
        return probe.value((cycles[1] - cycles[0]) / probe.passes)

    return simulate


def _int32(value: Any) -> Any:
    """The originals' `int` has 32 bits, a whole number of Python's 64."""
    return np.int32(value) if isinstance(value, int) and value < 2**31 else value


def _run(spec: GpuSpec, kernel: Any, threads: tuple[int, int], args: tuple[Any, ...], shared: int = 0, **options: Any) -> Run:
    geometry = Geometry((threads[0], 1, 1), (threads[1], 1, 1), shared)
    return simulate_simt(kernel, geometry, args, spec, values=False, **options).run


def _sms(spec: GpuSpec) -> int:
    return resolve(spec, spec.clocks.boost / 1e6).sms


def _operation(case: Case) -> Callable[[GpuSpec], float]:
    p, name = case.params, case.family
    lanes = 32 * p["warps"]
    value = {"latency": lambda c: c / alu.STEPS, "throughput": lambda c: alu.STEPS * lanes / c}[p["kind"]]
    return _slope(Probe(alu.chains(name, p["ilp"]), p["warps"], ("iters", SEED), value))


def _issue(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    return _slope(Probe(alu.chains("ffma", p["ilp"]), p["warps"], ("iters", SEED), lambda c: alu.STEPS * 32 * p["warps"] / c))


def _mix(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    kernel = alu.mix(p["a"], p["b"], p["na"], p["nb"])
    return _slope(Probe(kernel, 32, ("iters", SEED), lambda c: 32 * (p["na"] + p["nb"]) * 1024 / c))


def _kway(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    m = p["ffma_per_path"] // control.PATH
    return _slope(Probe(control.kway(p["form"]), p["warps"], ("iters", p["k"], m), float, max(2, 8 // m), "float32"))


def _nested(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    m, lanes = p["ffma_per_level"] // control.PATH, 31 if p["divergent"] else 0
    return _slope(Probe(control.nested(p["depth"]), p["warps"], ("iters", m, lanes), float, 4, "float32"))


def _trips(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    thread = np.arange(32 * p["warps"])
    lane = thread & 31
    trip = {
        "all 32": np.full(len(lane), 32),
        "lane+1": lane + 1,
        "lane 0: 32, others 1": np.where(lane == 0, 32, 1),
        "lanes 0-15: 32, others 1": np.where(lane < 16, 32, 1),
        "random 1..32": 1 + hash32((lane + 7 * thread).astype(np.uint32)) % 32,
        "all 16": np.full(len(lane), 16),
    }[p["trips"]]
    return _slope(Probe(control.trips(), p["warps"], (trip.astype(np.int32), "iters"), float, 2, "float32"))


#: what a record tells of its lanes' mask is rounded
MASKS = (0xFFFFFFFF, 0, 0x55555555, 0xFFFF, 1)


def _relu_compute(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    mask = min(MASKS, key=lambda m: abs(m - p["mask"]))
    args = ("iters", mask, np.float32(0.5), np.float32(0.0))
    return _slope(Probe(control.relu_compute(p["form"]), p["warps"], args, lambda c: c / 4, 4, "float32"))


def _relu_array(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    n = int(p["elements"])
    if p["form"].startswith("if"):
        raise GpusimError("lanes go by the signs of 2^28 values, and memory decides the time.", where=case.id)
    args = (ArraySpec((n,), "float32"), ArraySpec((n,), "float32"), np.float32(0.5))
    return lambda spec: _run(spec, control.relu_array(p["form"]), (n // 1024, 256), args, launch="in").time_ps / 1000


def _barrier(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    if p["kind"] not in scheduling.BARRIER:
        raise GpusimError(f"barrier '{p['kind']}': kernels have no such barrier.", where="front end")
    return _slope(Probe(scheduling.BARRIER[p["kind"]], p["warps"], ("iters",), lambda c: c / scheduling.BARRIERS))


def _waves(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    shared, args = 200 * 1024 // p["ctas_per_sm"], (ArraySpec((1,), "float32"), p["ffma_chain"] // 16)
    return lambda spec: _run(spec, scheduling.fixed_work, (p["grid"], p["threads"]), args, shared, launch="in").time_ps / 1000


def _hiding(case: Case) -> Callable[[GpuSpec], float]:
    """The small ring was read before, so it lies in L2; the large one comes from DRAM. Its zeros are values, because addresses depend on
    them; pages of them that nobody touches take no memory."""
    p, steps = case.params, 256
    each, words, small = p["lanes"].startswith("32"), int(p["footprint"]) // 4, p["footprint"] < 2**26
    if small and "warm" not in L2_STATES:
        raise GpusimError("its ring lies in L2 before the launch; launches begin with an L2 that holds nothing of theirs.", where=case.group)
    ctas = -(-p["warps_per_sm"] // MOST_WARPS)
    threads = p["warps_per_sm"] // ctas * 32

    def simulate(spec: GpuSpec) -> float:
        sms = _sms(spec)
        args = (np.zeros(words, np.int32), np.int32(steps), np.int32(words // scheduling.NODE), ArraySpec((1,), "int32"))
        run = _run(spec, scheduling.chase(int(each)), (sms * ctas, threads), args, l2="warm" if small else "cold", launch="in")
        return sms * p["warps_per_sm"] * steps * (32 if each else 1) / (run.time_ps / 1000)

    return simulate


def _cta_launch(case: Case) -> Callable[[GpuSpec], float]:
    p = case.params
    ctas = int(p["ctas"])
    return lambda spec: 1000 * ctas / (_run(spec, empty_kernel, (ctas, p["threads"]), (), int(p["dynamic_smem"]), launch="in").time_ps / 1000)


def _refused(reason: str) -> Callable[[Case], Callable[[GpuSpec], float]]:
    def refuse(case: Case) -> Callable[[GpuSpec], float]:
        raise GpusimError(reason, where=case.group)

    return refuse


def _excluded(reason: str) -> Callable[[Case], Callable[[GpuSpec], float]]:
    def exclude(case: Case) -> Callable[[GpuSpec], float]:
        raise Excluded(reason)

    return exclude


def _empty(case: Case) -> Callable[[GpuSpec], float]:
    if "host" in str(case.params.get("how")):
        raise Excluded("empty_kernel by the host's clock: what the host and its driver take")
    raise GpusimError("launches one behind the other: only single launches have a time.", where=case.group)


#: name of a record -> what makes its simulation; those named in `OPERATIONS` are chains
PLANS: dict[str, Callable[[Case], Callable[[GpuSpec], float]]] = {
    "ffma_issue": _issue,
    "mix": _mix,
    "kway_branch": _kway,
    "nested_if": _nested,
    "lane_trip_count": _trips,
    "relu_compute": _relu_compute,
    "relu_array": _relu_array,
    "barrier": _barrier,
    "wave_quantization": _waves,
    "latency_hiding": _hiding,
    "cta_launch": _cta_launch,
    "sm_clock": _excluded("sm_clock: the clock while the group was measured"),
    "cta_to_sm": _excluded("cta_to_sm: the value is how many CTAs were launched"),
    "cluster_to_sm": _excluded("cluster_to_sm: the value is how many CTAs were launched"),
    "cta_start_time": _refused("CTAs that spin until a clock value: kernels' paths do not depend on time."),
    "cluster_barrier": _refused("clusters of CTAs: kernels have none."),
    "empty_kernel": _empty,
}
