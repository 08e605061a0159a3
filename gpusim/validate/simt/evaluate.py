"""Measured SIMT cases and microbenchmarks: which of them are ours, and what became of each."""

from __future__ import annotations

from dataclasses import replace

from gpusim.errors import GpusimError
from gpusim.launch.clock import LOAD, Clock
from gpusim.launch.simt.run import simulate_simt
from gpusim.launch.simt.state import MemoryState
from gpusim.probe.plan import Excluded
from gpusim.spec.device import GpuSpec
from gpusim.validate.cases import Case
from gpusim.validate.clocks import both, mhz_of
from gpusim.validate.outcome import Outcome
from gpusim.validate.profiled import counted, with_times
from gpusim.validate.protocol import MEASURES, Measure
from gpusim.validate.simt.launches import ThreadLaunch, is_measured_launch, launch_of
from gpusim.validate.simt.micro import GROUPS, plan_of
from gpusim.validate.simt.plan import Facts, Plan


def is_ours(case: Case) -> bool:
    """Whether `case` is a launch of a library kernel, or a microbenchmark that a probe stands for."""
    return is_measured_launch(case) if case.kernel else case.group in GROUPS


def evaluate_simt(case: Case, spec: GpuSpec, measure: Measure, min_us: float) -> Outcome:
    """Simulate `case` and compare. What cannot be mapped or simulated is an outcome too, with its reason."""
    case = with_times(case, spec)
    made = Outcome(case.id, case.group, case.family, None, None, measure.unit, None, "unsupported", None, case.noise, "", case.params)
    try:
        plan = _launch_plan(case, measure) if case.kernel else plan_of(case)
        made = replace(made, measured=plan.measured, unit=plan.unit)
        facts = plan.simulate(spec)
    except Excluded as why:
        return replace(made, status="excluded", reason=str(why))
    except GpusimError as why:
        return replace(made, reason=str(why))
    except Exception as unforeseen:
        unforeseen.add_note(f"while simulating the measured case {case.id}")
        raise
    status, reason = ("short", f"shorter than {min_us:g} us") if plan.length_us < min_us else ("ok", None)
    error, clock = facts.value / plan.measured - 1, both(case.number("clock_mhz"), facts.mhz)
    return replace(made, simulated=facts.value, error=error, status=status, reason=reason, shape=plan.shape, counters=facts.counters, clock=clock)


def fitting(case: Case, measure: Measure) -> Measure:
    """`measure`; but event times with a clean L2 stand in where no profiler counted cycles. Neither is ever the other's number: a file
    of cases holds one of them."""
    return MEASURES["clean"] if measure.name == "cycles" and _cycles(case) is None and case.number("clean_ns_median") else measure


def _launch_plan(case: Case, measure: Measure) -> Plan:
    launch, measure = launch_of(case), fitting(case, measure)
    if measure.name == "cycles":
        found = _cycles(case)
        if found is None:
            raise GpusimError(f"the case has no {' or '.join(measure.truth)}.", where=case.id)
        cycles, ns = found
        return Plan(cycles, "cycles", lambda spec: _launch(launch, spec, measure, _clock(cycles, ns, spec)), launch.shape, ns / 1000)
    truth = case.number(*measure.truth)
    if truth is None:
        raise GpusimError(f"the case has no {' or '.join(measure.truth)}.", where=case.id)
    return Plan(truth, "ns", lambda spec: _launch(launch, spec, measure, LOAD), launch.shape, truth / 1000)


def _cycles(case: Case) -> tuple[float, float] | None:
    """Elapsed cycles and ns, as a profiler counted them or as the record sums them up."""
    cycles, ns = case.number("sm_cycles"), case.number("gpu_ns")
    return (cycles, ns) if cycles and ns else None


def _clock(cycles: float, ns: float, spec: GpuSpec) -> float:
    """MHz inside the kernel. Cycles and ns come from different passes; no clock is faster than the boost clock."""
    return min(1000 * cycles / ns, spec.clocks.boost / 1e6)


def _launch(launch: ThreadLaunch, spec: GpuSpec, measure: Measure, clock_mhz: Clock) -> Facts:
    state = MemoryState(spec, measure.l2, measure.leftover)
    result = simulate_simt(
        launch.kernel,
        launch.geometry,
        launch.args,
        spec,
        registers=launch.registers,
        clock_mhz=clock_mhz,
        values=False,
        l2=measure.l2,
        launch=measure.launch,
        state=state,
    )
    return Facts(measure.simulated(result.run), counted(result.run, spec), mhz_of(result.run, spec))
