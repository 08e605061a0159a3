"""Energy and power of a run, from its load and its clock. None where the specification says nothing of power."""

from __future__ import annotations

from gpusim.report.units import percent
from gpusim.spec.device import GpuSpec
from gpusim.spec.kinds import Device
from gpusim.trace.run import Run

#: the level on DRAM's own supply, whose voltage does not follow the SM clock
DRAM = "DRAM"
#: what holds the clock -> what that means, and what would raise it
HELD = {
    "tensor instructions": "from the first tensor instruction on it is {tensor:.0f} MHz at most",
    "peak power": "SMs and L2 would draw more than {peak:.0f} W above idle; data that toggles less or fewer bytes from L2 would raise it",
    "board power": "the board would draw more than {limit:.0f} W; data that toggles less or fewer bytes from DRAM and L2 would raise it",
}
#: those that a kernel can do something about
POWER = ("peak power", "board power")


def energy_uj(run: Run, spec: Device) -> dict[str, float] | None:
    """Level -> uJ, "idle" first. The voltage of SMs and L2 follows their clock, so their energies go with its square."""
    if run.load is None or not isinstance(spec, GpuSpec) or spec.power is None:
        return None
    scale = (run.protocol.clock_mhz * 1e6 / spec.clocks.boost) ** 2
    idle = {"idle": spec.power.idle * run.time_ps * 1e-6}
    return idle | {level: value * (1 if level == DRAM else scale) * 1e-6 for level, value in run.load.energy.items() if value}


def power_w(run: Run, spec: Device) -> float | None:
    """Mean power of the board during the launch, in W."""
    energy = energy_uj(run, spec)
    return None if energy is None else sum(energy.values()) / run.time_ps * 1e6


def held_text(run: Run, spec: Device) -> str:
    """Why the clock is below the boost clock; "" where it is not, or was given."""
    if not isinstance(spec, GpuSpec) or spec.power is None or run.protocol.held_by not in HELD:
        return ""
    p = spec.power
    why = HELD[run.protocol.held_by].format(tensor=spec.clocks.tensor / 1e6, peak=p.quick.peak if p.quick else 0, limit=p.limit)
    return f"{run.protocol.clock_mhz:.0f} of {spec.clocks.boost / 1e6:.0f} MHz, held by {run.protocol.held_by}: {why}"


def advice(run: Run, spec: Device) -> str:
    """A sentence where power holds the clock, with a space before it; "" elsewhere."""
    if run.protocol.held_by not in POWER or not isinstance(spec, GpuSpec):
        return ""
    lost = 1 - run.protocol.clock_mhz * 1e6 / spec.clocks.boost
    return f" Power holds the clock {percent(lost)} below boost: each byte and each operation saved also makes the others faster."
