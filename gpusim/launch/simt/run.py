"""simulate_simt: kernel + grid + arguments + spec + protocol -> values in place and a Run. The one place that knows every layer of SIMT."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

from gpusim.devices.simt.costs import CODE_BYTES
from gpusim.devices.simt.memory import WRITE_ROOM
from gpusim.devices.simt.result import SmRun
from gpusim.ir.simt.nodes import Geometry, SimtProgram
from gpusim.launch import laws
from gpusim.launch.ablations import ablate_passed, ablate_traffic
from gpusim.launch.clock import Clock
from gpusim.launch.energy import loaded, thread_work
from gpusim.launch.protocol import KEPT, check_options
from gpusim.launch.settling import settled
from gpusim.launch.simt.counting import counters as count
from gpusim.launch.simt.counting import flops, tensor_work
from gpusim.launch.simt.estimate import estimate
from gpusim.launch.simt.limits import limits
from gpusim.launch.simt.loads import Load, loads
from gpusim.launch.simt.memory import SECTOR, array_bytes, footprints, supposed_levels
from gpusim.launch.simt.passes import Passed, execute_all, probe
from gpusim.launch.simt.prepare import Ready, prepare
from gpusim.launch.simt.profile import profile
from gpusim.launch.simt.sample import recorded
from gpusim.launch.simt.state import Foreign, MemoryState
from gpusim.launch.simt.sums import Sm, line_stalls, resident, summed
from gpusim.launch.simt.timing import bench, tracks
from gpusim.launch.simt.timing_only import execute_some
from gpusim.launch.simt.tracing import Tracer, tracer
from gpusim.launch.simt.traffic import Cost, cost, supposed, traffic
from gpusim.launch.simt.uneven import Again, again, is_uneven, supposed_shared, uneven_loads
from gpusim.launch.simt.walk import Asked, Moved
from gpusim.lower.simt.code import Code
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters
from gpusim.trace.profile import Profile
from gpusim.trace.run import Protocol, Run
from gpusim.trace.simt import Work


@dataclass(frozen=True, slots=True)
class SimtResult:
    """run: facts for the report. executed: what the value pass gave (counts, findings, printed text). code: what was executed and timed.
    timed: the SMs that were simulated in detail."""

    run: Run
    executed: Any
    code: Code
    timed: tuple[SmRun, ...]


def simulate_simt(
    kernel: Any,
    geometry: Geometry,
    args: Sequence[Any],
    spec: GpuSpec,
    *,
    registers: int | None = None,
    clock_mhz: Clock = None,
    values: bool = True,
    l2: str = "cold",
    launch: str = "out",
    exact: bool = False,
    timeline: bool = False,
    state: MemoryState | None = None,
    without: Sequence[str] = (),
    data: str = "random",
) -> SimtResult:
    """One launch of `kernel` (a SimtProgram, or what has `.program_for(tuple[Arg, ...])`) with `args` on `spec`.

    args: NumPy arrays (written in place), numbers; with values=False also `ArraySpec`. registers: per thread, instead of the estimate.
    values: execute every thread; False: only what time and counters need, and arrays stay as they are. l2, launch, clock_mhz, data: as in
    `launch.run.simulate`. exact: leave nothing out. timeline: keep the passes of the timed warps. without: names of `launch.ablations`
    to take away. state: memory and L2 of the launches before, instead of l2. Raises GpusimError for what the device cannot do, and for what
    the sanitizer finds.
    """
    begun = begin(kernel, geometry, args, spec, registers=registers, clock_mhz=clock_mhz, l2=l2, launch=launch, exact=exact, state=state, data=data)
    begun.execute(values=values)
    return begun.result(timeline=timeline, without=without)


def begin(
    kernel: Any,
    geometry: Geometry,
    args: Sequence[Any],
    spec: GpuSpec,
    *,
    registers: int | None = None,
    clock_mhz: Clock = None,
    l2: str = "cold",
    launch: str = "out",
    exact: bool = False,
    state: MemoryState | None = None,
    data: str = "random",
) -> Begun:
    """A launch that is compiled and fits the device. `execute` makes its values, `result` its time; `simulate_simt` has the arguments."""
    check_options(l2, launch, clock_mhz, data)
    ready = prepare(kernel, geometry, args, spec, registers, clock_mhz)
    return Begun(ready, args, l2, launch, exact, state, clock_mhz, data)


class Begun:
    """A launch in two steps, so that values can be had without paying for time."""

    def __init__(
        self, ready: Ready, args: Sequence[Any], l2: str, launch: str, exact: bool, state: MemoryState | None = None, clock: Clock = None, data: str = "random"
    ) -> None:
        self.ready, self.args, self.clock, self.data = ready, args, clock, data
        self.state = state or MemoryState(ready.spec, l2)
        self.l2, self.launch, self.exact = l2 if l2 == "warm" or self.state.fresh else KEPT, launch, exact
        if "loads" not in ready.memo:
            ready.memo["loads"] = loads(ready.machine, ready.geometry.ctas, ready.held.ctas_per_sm)
        self.loads: tuple[Load, ...] = ready.memo["loads"]
        self.kept: list[tuple[int, ...]] = []
        self.passed: Passed | None = None
        self.trace: Tracer | None = None
        self.booked: tuple[Moved, Foreign] | None = None

    @property
    def program(self) -> SimtProgram:
        return self.ready.code.program

    def execute(self, *, values: bool = True, **options: Any) -> Any:
        """The value pass; results stand in the arrays afterwards if `values`. options: for `interp.simt.execute`. Returns what that gives."""
        self.kept = self._choose()
        wanted = {cta for kept in self.kept for cta in kept}
        second = None if self.exact else again(self.ready, self.args)
        noted = second is not None
        self.trace = trace = replace(tracer(self.ready, self.args, self.state, sorted(wanted), self.l2 == "warm"), exact=self.exact)
        if values:
            self.passed = execute_all(self.ready, self.args, wanted, trace, work=noted, **options)
        else:
            self.passed = execute_some(self.ready, self.args, wanted, trace, work=noted, behind=self.l2 in (KEPT, "warm"))
        if second is not None and self.passed.work is not None and is_uneven(self.passed.work):
            self.passed = self._choose_again(second, self.passed, self.passed.work)
        return self.passed.executed

    def _choose_again(self, second: Again, passed: Passed, work: Work) -> Passed:
        """CTAs differ: other SMs are timed, and the paths of their CTAs come from a second execution."""
        slots = self.ready.held.ctas_per_sm
        self.loads = uneven_loads(self.ready.machine, slots, work)
        self.kept = [recorded(load, slots, None, self.exact) for load in self.loads]
        said = "CTAs differ: timed are the SM with the longest warp, the one with most to do, and typical ones for the others"
        return replace(passed, paths=second.paths(sorted({cta for kept in self.kept for cta in kept})), said="; ".join(filter(None, (passed.said, said))))

    def _choose(self) -> list[tuple[int, ...]]:
        """Of each load the CTAs whose paths are recorded. One in the middle of the grid tells how long they are."""
        ready, ctas = self.ready, self.ready.geometry.ctas
        few = all(len(load.ctas) <= ready.held.ctas_per_sm for load in self.loads)
        length = None if few or self.exact else probe(ready, self.args, ctas // 2)
        return [recorded(load, ready.held.ctas_per_sm, length, self.exact) for load in self.loads]

    def result(self, *, timeline: bool = False, without: Sequence[str] = ()) -> SimtResult:
        """Time, counters and stalls. The arrays' contents no longer matter. without: as in `simulate_simt`; the values are not made again."""
        if self.passed is None:
            self.execute()
        assert self.passed is not None
        whole, passed = copy(self), self.passed

        def make(machine: Machine, names: tuple[str, ...]) -> SimtResult:
            whole.ready = replace(self.ready, machine=machine)
            return assemble(whole, ablate_passed(passed, self.ready.code, names), timeline, names)

        made, run = settled(make, lambda one: one.run, self.clock, self.ready.machine, self.ready.spec, without)
        return replace(made, run=run)


def assemble(begun: Begun, passed: Passed, timeline: bool, without: tuple[str, ...] = ()) -> SimtResult:
    """The Run of a launch whose values are done. without: what `begun` and `passed` no longer have."""
    ready, options = begun.ready, (begun.l2, begun.launch, begun.exact, *without)
    code, machine, geometry = ready.code, ready.machine, ready.geometry
    counted = count(code, passed.counts)
    moved, foreign, asked = ablate_traffic(*_moved(begun, passed, counted), without)
    costs = cost(moved, foreign, counted, int(passed.counts.partial.sum()), machine)
    sms = _timed(begun, passed, asked, costs, counted["instructions"] / geometry.ctas, timeline)
    counters = counted | traffic(counted, [(s.run, s.scale) for s in sms], moved, foreign, machine)
    bounds = limits(counters, machine, ready.spec, geometry.ctas)
    busy = max(_served(costs, sms), *(s.run.cycles + s.load.first * machine.per_cta for s in sms))
    simulated = machine.launch_start + _cold(code, machine) + max(busy, geometry.ctas * machine.per_cta) + _performed(counted, machine)
    least = _least(bounds, sms)
    cycles = max(simulated, least) + (machine.launch_overhead if begun.launch == "in" else 0.0)
    picoseconds = round(cycles / machine.clock_hz * 1e12)
    stalls = summed(sms)
    run = Run(
        gpu=ready.spec.name,
        kernel=code.program.name,
        params=_params(ready),
        protocol=Protocol(begun.l2, begun.launch, machine.clock_hz / 1e6, data=begun.data),
        occupancy=ready.held,
        ctas=geometry.ctas,
        waves=-(-geometry.ctas // ready.slots),
        slots=ready.slots,
        cycles=cycles,
        time_ps=picoseconds,
        flops=flops(code, passed.counts),
        counters=counters,
        stalls=stalls,
        warp_cycles=sum(stalls.values()),
        bounds=bounds,
        extrapolated=_said(passed, sms),
        notes=code.notes,
        digest=_digest(ready, options, counters, picoseconds),
        warps_active=resident(sms, ready.held.ctas_per_sm * ready.held.warps_per_cta, ready.held.warps_per_cta, machine.simt.cold_start),
        profile=_profile(ready, passed, sms),
    )
    laws.check_simt(run)
    if ready.spec.power is not None:
        work = thread_work(counters, tensor_work(code, passed.counts, machine))
        run = loaded(run, work, ready.spec.power, machine, before=machine.launch_start + _cold(code, machine))
    return SimtResult(run, passed.executed, code, tuple(s.run for s in sms))


def _least(bounds: Mapping[str, float], sms: Sequence[Sm]) -> float:
    """Cycles that a launch takes at least of which not all was timed. The SMs that a timed one stands for find less or more of their data in L2 than it
    does, and DRAM serves all of them."""
    if any(not s.made.whole for s in sms):
        return max(bounds.values())
    return bounds.get("DRAM", 0.0) if any(s.scale > 1 for s in sms) else 0.0


def _served(costs: Cost, sms: Sequence[Sm]) -> float:
    """Cycles in which DRAM serves the launch's mix of reads and writes: the SMs work at least as long where not all of them was timed. What may wait
    to be written does not hold up the end."""
    dram = costs.dram
    written = max(0.0, dram.written + dram.foreign - WRITE_ROOM)
    return dram.read + written if any(not s.made.whole or s.scale > 1 for s in sms) else 0.0


def _moved(begun: Begun, passed: Passed, counted: Counters) -> tuple[Moved, Foreign, Asked]:
    """What the traffic pass found, with the bytes of foreign lines that left; or what must be supposed where it did not see all CTAs."""
    known: Asked = begun.trace.walk.asked if begun.trace is not None and passed.walked else {}
    if begun.booked is None:
        seen = begun.trace is not None and passed.walked
        moved = begun.trace.walk.finish() if seen and begun.trace else supposed(passed.prints, counted, begun.ready.machine)
        begun.booked = moved, begun.state.evicted(moved.allocated, SECTOR * (moved.back.sectors + moved.dirty.sectors))
    missing = [p for cta, p in passed.paths.items() if cta not in known]
    code, ctas = begun.ready.code, begun.ready.geometry.ctas
    if known and missing:
        prints = passed.prints or footprints(code, passed.counts, array_bytes(code, begun.args))
        return *begun.booked, {**known, **supposed_shared(code, missing, prints, ctas)}
    return *begun.booked, {**known, **supposed_levels(code, missing)}


def _timed(begun: Begun, passed: Passed, asked: Asked, costs: Cost, mean: float, timeline: bool) -> list[Sm]:
    """The SMs with most CTAs; those with fewer too, where that costs little or CTAs differ. Else they count as the others, CTA for CTA."""
    ready, out = begun.ready, []
    for load, kept in zip(begun.loads, begun.kept, strict=True):
        paths = [passed.paths[cta] for cta in kept]
        on = bench(ready, load.sm, paths, asked, costs)
        out.append(Sm(load, estimate(on, load, paths, mean, exact=begun.exact, timeline=timeline), float(load.sms)))
        if not out[-1].made.whole and load.mean is None:
            break
    missing = ready.geometry.ctas - sum(len(s.load.ctas) * s.load.sms for s in out)
    last = out[-1]
    out[-1] = replace(last, scale=last.scale + missing / len(last.load.ctas))
    return out


def _params(ready: Ready) -> dict[str, Any]:
    """What a reader needs to launch the same again: grid, block, shared memory, scalar arguments."""
    g = ready.geometry
    scalars = {ready.code.program.args[arg].name: value for (arg, what), value in ready.facts.params.items() if what == "value"}
    return {"grid": g.text(g.grid), "block": g.text(g.block)} | ({"shared": g.shared_bytes} if g.shared_bytes else {}) | scalars


def _said(passed: Passed, sms: Sequence[Sm]) -> str:
    """What was left out, each thing once."""
    return "; ".join(dict.fromkeys(text for text in (passed.said, *(t for s in sms for t in s.made.said)) if text))


def _profile(ready: Ready, passed: Passed, sms: Sequence[Sm]) -> Profile:
    timelines = tuple(t for s in sms for t in tracks(s.run, s.load.sm, ready.machine.subcores))
    return profile(ready.code, ready.geometry, passed.counts, line_stalls(sms), passed.paths.values(), timelines)


def _cold(code: Code, machine: Machine) -> float:
    """Cycles that the first warps wait for code that no cache holds."""
    lines = -(-sum(len(block.instrs) for block in code.blocks) * CODE_BYTES // machine.line)
    return min(machine.cold_fetch, lines * machine.simt.cold_line)


def _performed(counted: Counters, machine: Machine) -> float:
    """Cycles from the end of the last CTA, whose stores have left the SM, until the farthest of them is in L2 and its answer back: only then the
    launch is over. Evidence: an empty kernel of 132 CTAs 2.69 us, with one store a thread 3.14, of which 0.13 pass before the store (second H200)."""
    stored = counted.get("l1_store_requests") or counted.get("global_red_requests")
    return machine.l2_latency + machine.far_latency if stored else 0.0


def _digest(ready: Ready, options: tuple[Any, ...], counters: Counters, picoseconds: int) -> str:
    """Of spec, code, geometry, uniform arguments, options, integer counters and integer picoseconds: equal exactly where the report is."""
    facts = sorted((str(key), value) for key, value in ready.facts.params.items())
    parts = [
        ready.spec.model_dump(mode="json", exclude={"provenance"}), repr(ready.code.blocks), asdict(ready.geometry), facts, list(options),
        ready.machine.clock_hz, ready.code.registers, counters, picoseconds,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:16]
