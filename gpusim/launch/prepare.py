"""Everything about a launch that needs no time: lowered program, machine at its clock, occupancy, stream."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.devices.stream import Stream
from gpusim.ir.check import check
from gpusim.ir.program import Program
from gpusim.launch.clock import Clock, first_mhz
from gpusim.launch.occupancy import occupancy, register_limit
from gpusim.launch.places import slots
from gpusim.launch.streaming import stream
from gpusim.lower.gpu_tile import lower
from gpusim.lower.lowered import Lowered
from gpusim.lower.specialised import lower_specialised
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.run import Occupancy


@dataclass(frozen=True, slots=True)
class Ready:
    """A launch that can start."""

    lowered: Lowered
    machine: Machine
    held: Occupancy
    stream: Stream

    @property
    def slots(self) -> int:
        """CTAs that run at once."""
        return slots(self.machine, self.held.ctas_per_sm, self.stream.pipeline)


def prepare(program: Program, spec: GpuSpec, clock_mhz: Clock) -> Ready:
    """`program` on `spec` at `clock_mhz`, or at the highest clock that it can have. GpusimError for what the device cannot do."""
    check(program)
    machine, shared = resolve(spec, spec.clocks.boost / 1e6), spec.sm.shared_max_per_cta
    if program.pipeline is not None:
        lowered = lower_specialised(program, program.pipeline, machine, shared)
    else:
        lowered = lower(program, machine, shared, lambda warps: register_limit(warps, spec))
    held = occupancy(lowered.footprint, spec, program.resident)
    return Ready(lowered, resolve(spec, first_mhz(clock_mhz, spec, lowered.matrix != "simt")), held, stream(lowered))
