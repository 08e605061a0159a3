"""Sums over the SMs of a launch, from those that were timed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.devices.simt.result import SmRun
from gpusim.launch.simt.estimate import Estimate
from gpusim.launch.simt.loads import Load


@dataclass(frozen=True, slots=True)
class Sm:
    """An SM as it was estimated: `scale` turns its sums into those of all SMs that it stands for."""

    load: Load
    made: Estimate
    scale: float

    @property
    def run(self) -> SmRun:
        return self.made.run


def summed(sms: Sequence[Sm]) -> dict[str, float]:
    reasons = dict.fromkeys(reason for s in sms for reason in s.run.stalls)
    sums = {reason: sum(s.run.stalls.get(reason, 0.0) * s.scale for s in sms) for reason in reasons}
    return {reason: cycles for reason, cycles in sums.items() if cycles}


def line_stalls(sms: Sequence[Sm]) -> dict[int, dict[str, float]]:
    """Line -> reason -> warp-cycles of the launch."""
    out: dict[int, dict[str, float]] = {}
    for s in sms:
        for line, spent in s.run.lines.items():
            known = out.setdefault(line, {})
            for reason, cycles in spent.stalls.items():
                known[reason] = known.get(reason, 0.0) + cycles * s.scale
    return out


def resident(sms: Sequence[Sm], most: int, warps: int, cold: float) -> float:
    """Mean warps of an SM while it has any; the first of them wait for the code. Sums and time are extrapolated apart, so the quotient may
    miss the most by a little."""
    lives = sum((s.run.warp_cycles + cold * min(float(most), warps * len(s.load.ctas))) * s.load.sms for s in sms)
    return min(float(most), lives / sum((s.run.active + cold) * s.load.sms for s in sms))
