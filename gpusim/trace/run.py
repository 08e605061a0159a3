"""What a timing run hands to the report: raw facts, no formulas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpusim.trace.counters import Counters
from gpusim.trace.load import Load
from gpusim.trace.profile import Profile


@dataclass(frozen=True, slots=True)
class Protocol:
    """Under which conditions time was taken. l2: before the launch: "cold" (empty), "foreign-clean", "foreign-dirty" (full of another kernel's
    lines), "warm" (after an identical launch), "kept" (after the other launches of a program). launch: whether launch overhead is "in" or
    "out". clock_mhz: the mean SM clock during the kernel. clock: how it was found: "boost", "load", "sustained", or "given". held_by: what holds it
    below the boost clock ("" if nothing does, or if it was given). data: what the arrays are supposed to hold, "random" or "zeros"."""

    l2: str
    launch: str
    clock_mhz: float
    clock: str = "given"
    held_by: str = ""
    data: str = "random"


@dataclass(frozen=True, slots=True)
class Occupancy:
    """CTAs per SM and why not more. `limits`: resource -> CTAs it would allow; `limiter` the smallest."""

    ctas_per_sm: int
    limiter: str
    limits: dict[str, int]
    warps_per_cta: int
    registers_per_thread: int
    shared_bytes_per_cta: int
    spilled_registers: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of an agent's life, for the timeline: reason is an Nsight stall name or "selected"."""

    sm: int
    cta: int
    start: float
    end: float
    reason: str


@dataclass(frozen=True)
class Run:
    """cycles: SM cycles from the first to the last instruction plus the kernel's own start and end (protocol.launch "in" adds the
    launch). stalls: warp-cycles by reason, summed over all warps; they add up to `warp_cycles`. bounds: resource -> cycles
    the run would take if only that resource limited it. extrapolated: what was not simulated and the residual ("" if all was).
    notes: what a compiler could not do for this program, and what to change. warps_active: mean resident warps of an SM that holds any.
    profile: of a SIMT kernel, what its source lines cost (its `notes` are the rewrites that were applied). saved: what was taken away from the
    machine, each with the picoseconds that it saved after those before it; with `time_ps` they are the time of the whole machine. load: what the
    launch asks of the supply; None where the specification says nothing of power."""

    gpu: str
    kernel: str
    params: dict[str, Any]
    protocol: Protocol
    occupancy: Occupancy
    ctas: int
    waves: int
    slots: int
    cycles: float
    time_ps: int
    flops: int
    counters: Counters
    stalls: dict[str, float]
    warp_cycles: float
    bounds: dict[str, float]
    extrapolated: str = ""
    notes: tuple[str, ...] = ()
    spans: tuple[Span, ...] = field(default=(), repr=False)
    digest: str = ""
    warps_active: float | None = None
    profile: Profile | None = field(default=None, repr=False)
    saved: tuple[tuple[str, int], ...] = ()
    load: Load | None = field(default=None, repr=False)
