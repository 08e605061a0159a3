"""What one SM's run gives: cycles, and where the warps' time went."""

from __future__ import annotations

from dataclasses import dataclass, field

#: Nsight's stall reasons in the order of `SmRun.stalls`; "selected" is the cycle of issue
REASONS = (
    "selected",
    "wait",
    "short_scoreboard",
    "long_scoreboard",
    "barrier",
    "membar",
    "branch_resolving",
    "no_instruction",
    "not_selected",
    "dispatch_stall",
    "math_pipe_throttle",
    "mio_throttle",
    "lg_throttle",
    "imc_miss",
    "sleeping",
    "gmma",
    "drain",
)


@dataclass(frozen=True, slots=True)
class CtaTimes:
    """cta: linear number; start: first instruction may issue; end: its last warp is gone."""

    cta: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class LineCost:
    """Of one line of the user's source: warp instructions issued, their active lanes, warp-cycles spent before issue of them, in all and by
    reason."""

    issues: int = 0
    lanes: int = 0
    stall_cycles: float = 0.0
    stalls: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """A warp enters a code block with these lanes."""

    cta: int
    warp: int
    time: float
    block: int
    mask: int


@dataclass(frozen=True, slots=True)
class SmRun:
    """cycles: from 0 to the end of the last CTA. stalls: warp-cycles by reason, "selected" among them; they add up to `warp_cycles`,
    the sum of all warps' lives. lines: source line -> cost. busy: cycles in which a pipe was taken, summed over sub-cores.
    active: cycles in which a warp held a place or had just done so.
    wavefronts: cycles of the L1 data stage. l1_hits, l1_misses, l2_sectors, dram_sectors: sectors of global reads. timeline: empty unless asked for."""

    cycles: float
    ctas: tuple[CtaTimes, ...]
    instructions: int
    stalls: dict[str, float]
    warp_cycles: float
    lines: dict[int, LineCost]
    busy: dict[str, float]
    wavefronts: float = 0.0
    l1_hits: int = 0
    l1_misses: int = 0
    l2_sectors: int = 0
    l2_received: float = 0.0
    dram_sectors: int = 0
    active: float = 0.0
    timeline: tuple[Moment, ...] = field(default=(), repr=False)
