"""simulate, for programs whose loop mixes matrix products with work on their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.devices.cta import DRAIN, LONG, REASONS
from gpusim.devices.mixed.phases import phases
from gpusim.devices.mixed.sm import Steady, steady
from gpusim.ir.check import check
from gpusim.ir.expr import evaluate
from gpusim.ir.ops import Let
from gpusim.ir.program import Program
from gpusim.launch import laws
from gpusim.launch.clock import Clock, first_mhz
from gpusim.launch.dealing import deal
from gpusim.launch.digest import digest
from gpusim.launch.energy import Work, loaded
from gpusim.launch.mixed.chip import Pace, Scheduled, schedule
from gpusim.launch.mixed.counts import Counts, Grid, counts
from gpusim.launch.mixed.outside import end_cycles, start_cycles
from gpusim.launch.mixed.parts import Parts, parts
from gpusim.launch.occupancy import occupancy, register_limit
from gpusim.launch.settling import settled
from gpusim.lower.lowered import Lowered
from gpusim.lower.matrix import WARPGROUP
from gpusim.lower.mixed.lower import lower_mixed
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.run import Occupancy, Protocol, Run, Span

#: steps of the loop that are simulated in detail
STEPS = 16


def launch_mixed(program: Program, spec: GpuSpec, protocol: tuple[str, str, str], clock_mhz: Clock, timeline: bool, without: Sequence[str]) -> Run | None:
    """One launch of `program` on `spec`; None if it has no loop of this kind. protocol: l2, launch and data; all as of `launch.run.simulate`."""
    check(program)
    lowered = lower_mixed(program, resolve(spec, spec.clocks.boost / 1e6), spec.sm.shared_max_per_cta, lambda warps: register_limit(warps, spec))
    if lowered is None:
        return None
    ready = _Ready(program, spec, lowered, occupancy(lowered.footprint, spec, program.resident), protocol, timeline)
    first = resolve(spec, first_mhz(clock_mhz, spec, lowered.matrix != "simt"))
    return settled(ready.once, lambda run: run, clock_mhz, first, spec, without)[1]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A launch that needs a machine. protocol: l2, launch, data."""

    program: Program
    spec: GpuSpec
    lowered: Lowered
    held: Occupancy
    protocol: tuple[str, str, str]
    timeline: bool

    def once(self, machine: Machine, names: tuple[str, ...]) -> Run:
        """One simulation on `machine`, from which the costs `names` were taken away."""
        program, lowered, slots = self.program, self.lowered, self.held.ctas_per_sm
        cut = parts(lowered)
        repeat, grid = cut.repeat, _grid(lowered, cut)
        c = counts(lowered, cut, grid, machine)
        shared = min(1.0, machine.merge_requests * c.first_touch)
        body = phases(repeat.body, machine, program.warps, {t.name: t.dtype.bytes for t in program.tensors})
        groups = max(1, program.warps // WARPGROUP)
        found = [steady(body, machine, n, groups, STEPS, shared) for n in range(1, slots + 1)]
        start, end = start_cycles(cut.before, machine, program), end_cycles(cut.after, lowered.matrix, machine, program)
        often = float(grid.times.max())
        pace = Pace(often * start, often * end, (0.0, *(f.cycles for f in found)), machine.cta_change)
        done = schedule((grid.trips * grid.times).tolist(), deal(machine, program.ctas, slots), machine.sms, pace)
        return self.run(machine, names, c, done, found)

    def run(self, machine: Machine, names: tuple[str, ...], c: Counts, done: Scheduled, found: list[Steady]) -> Run:
        program, spec, held, lowered = self.program, self.spec, self.held, self.lowered
        l2, launch, data = self.protocol
        cycles = max(done.end + machine.launch_start, *c.bounds.values()) + (machine.launch_overhead if launch == "in" else 0.0)
        picoseconds = round(cycles / machine.clock_hz * 1e12)
        stalls = _stalls(done, found, held.warps_per_cta)
        slots = held.ctas_per_sm * machine.sms
        run = Run(
            gpu=spec.name,
            kernel=program.name,
            params=program.params | {"stages": lowered.stages},
            protocol=Protocol(l2, launch, machine.clock_hz / 1e6, data=data),
            occupancy=held,
            ctas=program.ctas,
            waves=-(-program.ctas // slots),
            slots=slots,
            cycles=cycles,
            time_ps=picoseconds,
            flops=program.flops,
            counters=c.counters,
            stalls=stalls,
            warp_cycles=sum(stalls.values()),
            bounds=c.bounds,
            extrapolated=f"one SM in detail for {STEPS} loop steps with 1 to {held.ctas_per_sm} CTAs; all CTAs at the time per step of their SM",
            notes=lowered.notes,
            spans=tuple(Span(sm, cta, a, b, "step") for cta, sm, a, b in done.lives) if self.timeline else (),
            digest=digest(program, spec, (l2, launch, machine.clock_hz, *names), c.counters, picoseconds),
        )
        laws.check(run, {}, None)
        if spec.power is None:
            return run
        moved = (c.counters["l1_load_sectors"] + c.counters["l1_store_sectors"]) * machine.sector
        work = Work(
            instructions=run.counters["instructions"],
            tensor={lowered.matrix: c.tensor},
            l1_bytes=0.0 if lowered.matrix == "wgmma" else c.counters["shared_wavefronts"] * machine.line,
            l2_bytes=moved,
            dram_bytes=run.counters["dram_read_bytes"] + run.counters["dram_write_bytes"],
        )
        return loaded(run, work, spec.power, machine, before=machine.launch_start)


def _grid(lowered: Lowered, cut: Parts) -> Grid:
    program = lowered.program
    rest = np.arange(program.ctas, dtype=np.int64)
    env: dict[str, Any] = {}
    for axis, extent in enumerate(program.grid):
        env[f"pid{axis}"], rest = rest % extent, rest // extent
    for let in (e for e in lowered.body if isinstance(e, Let)):
        env[let.name] = evaluate(let.value, env)
    times, trips = (np.broadcast_to(np.maximum(0, evaluate(n, env)), (program.ctas,)) for n in (cut.times, cut.repeat.count))
    return Grid(trips, times, env)


def _stalls(done: Scheduled, found: list[Steady], warps: int) -> dict[str, float]:
    """Warp-cycles by reason: loops as the SM in detail spent them, before them waiting for memory, behind them for stores."""
    total = [0.0] * len(REASONS)
    for n, f in enumerate(found, 1):
        for i, share in enumerate(f.spans):
            total[i] += done.loops[n] * share
    total[LONG] += done.starts
    total[DRAIN] += done.ends
    return {reason: warps * spent for reason, spent in zip(REASONS, total, strict=True) if spent > 0}
