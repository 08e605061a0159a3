"""A profiler's launches inside a measured case, and the case as one that holds its cycles and time itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run
from gpusim.validate.cases import Case

#: a profiler's launch: elapsed cycles of the SMs (the first that is there), and duration in ns
CYCLES, NANOSECONDS = ("gpc__cycles_elapsed.max", "sm__cycles_elapsed.max"), "gpu__time_duration.sum"


def launches(case: Case) -> list[dict[str, Any]]:
    """The profiled launches of the case; [] if it holds none."""
    found = case.record.get("launches")
    return [launch for launch in found if isinstance(launch, dict)] if isinstance(found, list) else []


def profiled(case: Case) -> dict[str, Any] | None:
    """The metrics of the one profiled launch of the case, None if there is none or are several."""
    found = launches(case)
    return found[0] if len(found) == 1 else None


def elapsed(launch: Mapping[str, Any]) -> tuple[float, float] | None:
    """(SM cycles, ns) of a profiled launch; None if it lacks one of them."""
    cycles = next((launch[name] for name in CYCLES if launch.get(name)), None)
    ns = launch.get(NANOSECONDS)
    return (float(cycles), float(ns)) if cycles and ns else None


def with_times(case: Case, spec: GpuSpec) -> Case:
    """The case with `sm_cycles`, `gpu_ns` and `clock_mhz` of its one profiled launch, where it lacks them. Cycles and ns come from different
    passes; no clock is faster than the boost clock."""
    launch = profiled(case)
    found = elapsed(launch) if launch else None
    if found is None or case.number("sm_cycles", "clock_mhz"):
        return case
    cycles, ns = found
    clock = min(1000 * cycles / ns, spec.clocks.boost / 1e6)
    return replace(case, record={**case.record, "sm_cycles": cycles, "gpu_ns": ns, "clock_mhz": clock})


def counted(run: Run, spec: GpuSpec) -> dict[str, float]:
    """Counters of the run, and of its occupancy what a profiler tells too."""
    held = {"ctas_per_sm": float(run.occupancy.ctas_per_sm), "registers": float(run.occupancy.registers_per_thread)}
    active = {} if run.warps_active is None else {"warps_active_pct": 100 * run.warps_active / spec.sm.max_warps}
    return {name: float(value) for name, value in run.counters.items()} | held | active
