"""What is simulated for one measured SIMT case, and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gpusim.spec.device import GpuSpec


@dataclass(frozen=True, slots=True)
class Facts:
    """What a simulation gives: the value that stands against the measured one, and, of a whole launch, its counters and the clock in MHz that it has
    under its own load."""

    value: float
    counters: dict[str, float] = field(default_factory=dict)
    mhz: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """measured: in `unit`. simulate: on a device, at one go. shape names the problem. length_us: how long the measured launch took (a
    microbenchmark is never too short, because launch cost is gone from it)."""

    measured: float
    unit: str
    simulate: Callable[[GpuSpec], Facts]
    shape: str = ""
    length_us: float = float("inf")
