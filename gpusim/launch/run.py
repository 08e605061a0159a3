"""simulate: program + spec + protocol -> Run. The one place that knows every layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpusim.devices.gpu import REASONS, Gpu, Timed
from gpusim.devices.stream import Stream
from gpusim.ir.program import Program
from gpusim.launch import laws
from gpusim.launch.blocked import is_of_threads, simulate_blocked
from gpusim.launch.bounds import bounds
from gpusim.launch.choice import chosen
from gpusim.launch.clock import Clock
from gpusim.launch.digest import digest
from gpusim.launch.energy import loaded, rests, tile_work
from gpusim.launch.items import NOTE, work_items
from gpusim.launch.mixed.run import launch_mixed
from gpusim.launch.places import places
from gpusim.launch.prepare import Ready, prepare
from gpusim.launch.protocol import check_options
from gpusim.launch.settling import settled
from gpusim.launch.shorten import Plan, Whole, plan, restore
from gpusim.launch.streaming import stream
from gpusim.launch.tally import Tally, tally
from gpusim.launch.tpu.run import simulate_tpu
from gpusim.launch.traffic import empty, left_behind, walk
from gpusim.parts.l2 import Half
from gpusim.spec.device import GpuSpec
from gpusim.spec.kinds import Device
from gpusim.spec.resolve import Machine
from gpusim.trace.counters import Counters
from gpusim.trace.run import Protocol, Run, Span


def simulate(program: Program, spec: Device, **protocol: Any) -> Run:
    """One launch of `program` on `spec`, with the keyword arguments of `simulate_gpu`. A choice that the program leaves to the device is made.

    Raises GpusimError for what the device cannot do.
    """
    return SIMULATORS[spec.KIND](chosen(program, spec), spec, **protocol)


def simulate_gpu(
    program: Program,
    spec: GpuSpec,
    *,
    l2: str = "cold",
    launch: str = "out",
    clock_mhz: Clock = None,
    exact: bool = False,
    timeline: bool = False,
    without: Sequence[str] = (),
    leftover: float = 0.0,
    data: str = "random",
) -> Run:
    """One launch of `program` on `spec`.

    l2: what L2 holds before (`protocol.L2_STATES`). launch: overhead "out" or "in". clock_mhz: the SM clock, a number or one of
    `clock.MODES`; None is "boost".
    exact: simulate every CTA and step. timeline: keep the spans of every CTA. without: names of `launch.ablations` to take away; `saved` of
    the Run says what each of them costs. leftover: bytes of another kernel's dirty lines that are the oldest in L2, where l2 is "cold": they leave
    when no place is empty any more. data: what the arrays are supposed to hold ("random" or "zeros"), which tells energy and clock.
    Raises GpusimError for what the device cannot do.
    """
    check_options(l2, launch, clock_mhz, data)
    if is_of_threads(program):
        protocol: dict[str, Any] = {"l2": l2, "launch": launch, "clock_mhz": clock_mhz, "exact": exact, "leftover": leftover, "data": data}
        return simulate_blocked(program, spec, timeline=timeline, without=without, **protocol)
    items = work_items(program, spec.sms)
    if items is not None:
        said: dict[str, Any] = {"l2": l2, "launch": launch, "clock_mhz": clock_mhz, "exact": exact, "leftover": leftover, "data": data}
        made = simulate_gpu(items, spec, timeline=timeline, without=without, **said)
        return replace(made, notes=(*made.notes, NOTE.format(items=items.ctas, blocks=program.ctas)))
    mixed = launch_mixed(program, spec, (l2, launch, data), clock_mhz, timeline, without)
    if mixed is not None:
        return mixed
    ready = prepare(program, spec, clock_mhz)

    def make(machine: Machine, names: tuple[str, ...]) -> Run:
        return _once(program, spec, replace(ready, machine=machine), (l2, launch, exact, *names), timeline, leftover, data)

    return settled(make, lambda run: run, clock_mhz, ready.machine, spec, without)[1]


def _once(program: Program, spec: GpuSpec, ready: Ready, options: tuple[Any, ...], timeline: bool, leftover: float, data: str) -> Run:
    """options: l2, launch, exact, and what was taken away."""
    l2, launch, exact = options[:3]
    machine, held = ready.machine, ready.held
    p = plan(program.ctas, ready.stream, ready.slots, exact)
    made = ready.stream if p.steps is None else stream(ready.lowered, p.steps)
    before = _before(made, ready, l2, p.scale, leftover)
    dealt = places(machine, program.ctas, held.ctas_per_sm, program.pipeline)
    timed = Gpu(machine, made, held.ctas_per_sm, l2, p.scale, before).run(p.ctas, dealt, p.ages(machine.merge_drift))
    whole = restore(timed, made, p)
    counts = tally(ready.stream, machine)
    counters = _counters(counts, timed, whole, p, ready, l2, leftover)
    limits = bounds(counts, counters, machine, ready.lowered.matrix, ready.stream)
    simulated = whole.cycles + machine.launch_start
    least = 0.0 if p.whole else max(limits.values())
    cycles = max(simulated, least) + (machine.launch_overhead if launch == "in" else 0.0)
    picoseconds = round(cycles / machine.clock_hz * 1e12)
    stalls = {reason: spent * held.warps_per_cta for reason, spent in zip(REASONS, whole.spans, strict=True) if spent}
    run = Run(
        gpu=spec.name,
        kernel=program.name,
        params=program.params | {"stages": ready.lowered.stages},
        protocol=Protocol(l2, launch, machine.clock_hz / 1e6, data=data),
        occupancy=held,
        ctas=program.ctas,
        waves=-(-program.ctas // ready.slots),
        slots=ready.slots,
        cycles=cycles,
        time_ps=picoseconds,
        flops=program.flops,
        counters=counters,
        stalls=stalls,
        warp_cycles=sum(whole.spans) * held.warps_per_cta,
        bounds=limits,
        extrapolated=_said(p, ready.stream, whole),
        notes=ready.lowered.notes,
        spans=_timeline(timed) if timeline else (),
        digest=digest(program, spec, (l2, launch, machine.clock_hz, exact, *options[3:]), counters, picoseconds),
    )
    laws.check(run, counts, timed if p.whole else None)
    if spec.power is None:
        return run
    hold = spec.power.step.hold * machine.clock_hz * 1e-9 if spec.power.step else float("inf")
    first, often, long = rests(timed.tensor, hold)
    whole_of_seen = max(1.0, whole.cycles / timed.end)
    seen = {"before": machine.launch_start + first, "rests": often * whole_of_seen, "rested": long * whole_of_seen}
    return loaded(run, tile_work(run, ready.stream, machine, ready.lowered.matrix), spec.power, machine, **seen)


def _before(made: Stream, ready: Ready, l2: str, scale: float, leftover: float) -> list[Half] | None:
    """What L2 holds before the launch; None where its state alone tells."""
    if l2 == "warm":
        return left_behind(made, ready.machine, ready.held.ctas_per_sm, scale)
    return empty(ready.machine, scale, leftover=leftover) if leftover and l2 == "cold" else None


def _counters(counts: Tally, timed: Timed, whole: Whole, p: Plan, ready: Ready, l2: str, leftover: float) -> Counters:
    """Requests from the tally, the merged ones from the timing run; L2 and DRAM from the live halves, or from the traffic pass."""
    out = {name: round(counts[name]) for name in ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "shared_wavefronts")}
    least = -(-out["l1_load_sectors"] // ready.machine.merge_requests)
    merged = min(round(whole.merged), out["l1_load_sectors"] - least)
    out |= {"merged_sectors": merged, "l2_read_sectors": out["l1_load_sectors"] - merged, "l2_write_sectors": out["l1_store_sectors"]}
    if counts["spill_bytes"]:
        out["spill_bytes"] = round(counts["spill_bytes"])
    if p.whole:
        live = ("l2_hit_sectors", "fabric_sectors", "dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes")
        return _parts(out | {name: round(timed.counts[name]) for name in live}, ready.machine.halves)
    t = walk(ready.stream, ready.machine, ready.held.ctas_per_sm, l2, leftover if l2 == "cold" else 0.0)
    sector = ready.machine.sector
    received = out["l2_read_sectors"] + out["l2_write_sectors"]
    walked = {
        "l2_hit_sectors": max(0, received - round(t.near_misses / sector)),
        "fabric_sectors": round(t.fabric / sector),
        "dram_read_bytes": round(t.dram_read),
        "dram_write_bytes": round(t.dram_write),
        "l2_dirty_bytes": round(t.dirty),
    }
    return _parts(out | walked, ready.machine.halves)


def _parts(c: Counters, halves: int) -> Counters:
    """Reads and writes apart. A store finds its place in the near half, and crosses the fabric where its home is another one."""
    hit = max(0, c["l2_hit_sectors"] - c["l2_write_sectors"])
    crossed = min(c["fabric_sectors"], round(c["l2_write_sectors"] * (halves - 1) / halves))
    return c | {
        "l2_read_hit_sectors": hit,
        "l2_read_miss_sectors": max(0, c["l2_read_sectors"] - hit),
        "fabric_read_sectors": c["fabric_sectors"] - crossed,
        "fabric_write_sectors": crossed,
    }


def _said(p: Plan, full: Stream, whole: Whole) -> str:
    """What was left out of the simulation."""
    parts = []
    if p.steps is not None:
        parts.append(f"{p.steps} of {full.trips} loop steps simulated, the rest at the measured time per step (residual {whole.residual:.1%})")
    if p.repeated:
        parts.append(f"{len(p.ctas)} of {full.ctas} CTAs simulated, {p.repeated} steady waves repeated")
    return "; ".join(parts)


def _timeline(timed: Timed) -> tuple[Span, ...]:
    """Prologue, loop steps and epilogue of every simulated CTA."""
    spans = []
    for life in timed.lives:
        edges = (life.begun, *life.marks, life.ended)
        names = ("prologue", *(["step"] * (len(life.marks) - 1)), "epilogue")
        spans += [Span(life.sm, life.number, a, b, name) for a, b, name in zip(edges, edges[1:], names, strict=False)]
    return tuple(spans)


#: kind of device -> what simulates a launch on it
SIMULATORS: dict[str, Callable[..., Run]] = {"gpu": simulate_gpu, "tpu": simulate_tpu}
