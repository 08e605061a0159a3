"""Everything about a launch of a SIMT kernel that needs no values and no time: program, code, machine at its clock, occupancy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import MAX_BLOCK, MAX_GRID, MAX_THREADS, Geometry, Mma, SimtProgram, Wgmma
from gpusim.launch.clock import Clock, first_mhz
from gpusim.launch.clusters import check_cluster, check_code, resident
from gpusim.launch.occupancy import occupancy
from gpusim.launch.simt.args import describe, facts
from gpusim.launch.simt.loads import loads
from gpusim.lower.lowered import Footprint
from gpusim.lower.simt.code import Code
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.run import Occupancy


@dataclass(frozen=True, slots=True)
class Ready:
    """A launch that can start. `spec` is the device at no clock, `machine` the same at the clock of this launch. `memo`: what rests on the
    other fields but `facts` (those are in the keys, where they matter), for launches that repeat this one."""

    code: Code
    facts: LaunchFacts
    geometry: Geometry
    spec: GpuSpec
    machine: Machine
    held: Occupancy
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def slots(self) -> int:
        """CTAs that run at once."""
        return resident(self.machine, self.held.ctas_per_sm, self.geometry.cluster_ctas)


def prepare(kernel: Any, geometry: Geometry, args: Sequence[Any], spec: GpuSpec, registers: int | None, clock_mhz: Clock) -> Ready:
    """`kernel` (a SimtProgram, or what has `.program_for(tuple[Arg, ...])`) for this launch. GpusimError for what the device cannot do."""
    from gpusim.lower.simt import lower

    check_geometry(geometry, spec)
    program = kernel if isinstance(kernel, SimtProgram) else kernel.program_for(describe(args))
    known = facts(program, geometry, args)
    code = lower(program, known)
    return ready(code, known, geometry, spec, registers, clock_mhz)


def ready(code: Code, known: LaunchFacts, geometry: Geometry, spec: GpuSpec, registers: int | None, clock_mhz: Clock) -> Ready:
    """Lowered `code` on `spec`. registers: per thread, instead of the estimate of `code`; what does not fit is spilled."""
    from gpusim.lower.simt.select import limited

    if registers is not None:
        if not 1 <= registers <= spec.sm.max_registers_per_thread:
            raise GpusimError(f"registers = {registers}; a thread has 1 to {spec.sm.max_registers_per_thread}.", where=spec.name)
        code = limited(code, known, registers)
    shared = code.shared_bytes + geometry.shared_bytes
    if shared > spec.sm.shared_max_per_cta:
        what = f"one block needs {shared} bytes of shared memory; {spec.sm.shared_max_per_cta} is the most."
        raise GpusimError(what, where=code.program.name, hint="Use smaller shared arrays.")
    held = occupancy(Footprint(geometry.warps, code.registers, code.spills, shared), spec)
    check_code(code, spec)
    machine = resolve(spec, first_mhz(clock_mhz, spec, uses_tensor(code)))
    memo = {"loads": loads(machine, geometry.ctas, held.ctas_per_sm, geometry.cluster_ctas)} if geometry.cluster_ctas > 1 else {}
    return Ready(code, known, geometry, spec, machine, held, memo)


def uses_tensor(code: Code) -> bool:
    return any(isinstance(op, Mma | Wgmma) for block in code.blocks for op in block.ops)


def check_geometry(geometry: Geometry, spec: GpuSpec) -> None:
    """GpusimError if no device launches such a grid or block."""
    for what, extents, most in (("grid", geometry.grid, MAX_GRID), ("block", geometry.block, MAX_BLOCK)):
        if not _within(extents, most):
            raise GpusimError(f"{what} = {extents}; every extent is at least 1 and at most {most}.", where=spec.name, hint=f"Give another {what}.")
    if geometry.threads > MAX_THREADS:
        raise GpusimError(f"a block of {geometry.block} has {geometry.threads} threads; {MAX_THREADS} is the most.", where=spec.name)
    check_cluster(geometry, spec)
    if geometry.shared_bytes < 0:
        raise GpusimError(f"{geometry.shared_bytes} bytes of dynamic shared memory.", where=spec.name, hint="Give 0 or more.")


def _within(extents: Iterable[int], most: Iterable[int]) -> bool:
    return all(1 <= e <= m for e, m in zip(extents, most, strict=True))
