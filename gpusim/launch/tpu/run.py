"""simulate_tpu: program + spec + protocol -> Run, on a TPU."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass

from gpusim.devices.tpu.core import Core, run
from gpusim.devices.tpu.cost import WORK
from gpusim.engine.server import Server
from gpusim.errors import GpusimError
from gpusim.ir.check import check
from gpusim.ir.program import Program
from gpusim.launch.clock import LOAD, SUSTAINED, Clock
from gpusim.launch.digest import digest
from gpusim.launch.protocol import check_options
from gpusim.launch.tpu.laws import check as check_laws
from gpusim.launch.tpu.steps import Sequence, sequence, shares
from gpusim.lower.tpu.lower import TpuLowered, lower_tpu
from gpusim.parts.dram import runs, serve
from gpusim.spec.resolve_tpu import TpuMachine, resolve_tpu
from gpusim.spec.tpu import TpuSpec
from gpusim.trace.counters import Counters
from gpusim.trace.run import Occupancy, Protocol, Run, Span


@dataclass(frozen=True, slots=True)
class Timed:
    """A simulated launch: the cores at their ends, the sequences that they walked, and the rate of the memory in bytes per cycle."""

    cores: tuple[Core, ...]
    sequences: tuple[Sequence, ...]
    end: float
    rate: float


def simulate_tpu(
    program: Program,
    spec: TpuSpec,
    *,
    l2: str = "cold",
    launch: str = "out",
    clock_mhz: Clock = None,
    exact: bool = False,
    timeline: bool = False,
    without: Seq[str] = (),
    leftover: float = 0.0,
    data: str = "random",
) -> Run:
    """One launch of `program` on all cores of `spec`. launch: the host's overhead "out" or "in". timeline: keep the copies and the work of
    every step.

    Every step is simulated, so `exact` changes nothing. l2 can only be "cold" and `without` empty: GpusimError. So it is for what a TPU cannot do.
    """
    check_options("cold", launch, clock_mhz, data)
    _refuse(l2, without)
    check(program)
    m = resolve_tpu(spec, _mhz(clock_mhz, spec))
    lowered = lower_tpu(program, m)
    timed = time(lowered, m, timeline)
    run_ = _run(program, spec, lowered, timed, m, (launch, timeline))
    check_laws(run_)
    return run_


def _run(program: Program, spec: TpuSpec, lowered: TpuLowered, timed: Timed, m: TpuMachine, options: tuple[str, bool]) -> Run:
    """The facts for the report. options: launch, timeline."""
    launch, timeline = options
    counters = _counters(timed)
    cycles = timed.end + m.launch_start + (m.launch_overhead if launch == "in" else 0.0)
    picoseconds = round(cycles / m.clock_hz * 1e12)
    return Run(
        gpu=spec.name,
        kernel=program.name,
        params=program.params | ({"stages": lowered.buffers} if "stages" in program.params else {}),
        protocol=Protocol("cold", launch, m.clock_hz / 1e6),
        occupancy=_occupancy(lowered, m),
        ctas=program.ctas,
        waves=-(-program.ctas // m.cores),
        slots=m.cores,
        cycles=cycles,
        time_ps=picoseconds,
        flops=program.flops,
        counters=counters,
        stalls=_stalls(timed),
        warp_cycles=sum(core.time for core in timed.cores),
        bounds=_bounds(timed, m),
        spans=_timeline(timed) if timeline else (),
        notes=_notes(lowered),
        digest=digest(program, spec, ("cold", launch, m.clock_hz), counters, picoseconds),
    )


def _mhz(clock: Clock, spec: TpuSpec) -> float | None:
    """GpusimError for a clock under load: nothing is known of a TPU's power."""
    if clock in (LOAD, SUSTAINED):
        raise GpusimError(f"clock = '{clock}': nothing is known of the power of {spec.name}.", hint="Leave it out, or give the clock in MHz.")
    return None if isinstance(clock, str) else clock


def _refuse(l2: str, without: Seq[str]) -> None:
    if l2 != "cold":
        raise GpusimError(f"l2 = '{l2}': a TPU has no L2.", hint="Leave it out: every launch begins with its operands in memory.")
    if without:
        raise GpusimError(
            f"without = {', '.join(without)}: costs can be taken away on GPUs only.",
            hint="Change a number of the specification instead (base: in a YAML file).",
        )


def time(lowered: TpuLowered, m: TpuMachine, keep: bool = False) -> Timed:
    """All cores, each with its share of the blocks."""
    sequences = tuple(sequence(lowered, m, first, last) for first, last in shares(lowered.program.ctas, m.cores))
    rate = _memory_rate(sequences, m)
    memory = Server(rate)
    cores = tuple(Core(i, s.steps, lowered.buffers, memory, m.dma_latency, keep=keep) for i, s in enumerate(sequences))
    return Timed(cores, sequences, run(cores), rate)


def _memory_rate(sequences: Seq[Sequence], m: TpuMachine) -> float:
    """Bytes per cycle of the memory for this mix of reads and writes; copies move whole words of the engine."""
    read, written = (float(sum(getattr(s, way) for s in sequences)) for way in ("read", "written"))
    busy = serve(m.dram, runs(m.dram, 0.0, read), runs(m.dram, 0.0, written)).time
    return (read + written) / busy if busy else m.dram.rate


def _counters(timed: Timed) -> Counters:
    totals: dict[str, float] = {}
    for s in timed.sequences:
        own = {"grid_steps": s.grid_steps, "dma_copies": s.copies, "dram_read_bytes": s.read, "dram_write_bytes": s.written}
        for name, amount in (own | s.totals).items():
            totals[name] = totals.get(name, 0.0) + amount
    return {name: round(amount) for name, amount in totals.items()}


def _stalls(timed: Timed) -> dict[str, float]:
    """What the cores did with their time, in core-cycles."""
    spent = {kind: sum(s.work[kind] for s in timed.sequences) for kind in WORK}
    spent["step"] = sum(step.overhead for s in timed.sequences for step in s.steps)
    spent |= {"copy_in": sum(c.waited_in for c in timed.cores), "copy_out": sum(c.waited_out for c in timed.cores)}
    return {reason: cycles for reason, cycles in spent.items() if cycles}


def _bounds(timed: Timed, m: TpuMachine) -> dict[str, float]:
    """Resource -> cycles if it alone limited, all cores evenly loaded."""
    work = {kind: sum(s.work[kind] for s in timed.sequences) / m.cores for kind in WORK}
    moved = sum(s.read + s.written for s in timed.sequences)
    steps = sum(step.overhead for s in timed.sequences for step in s.steps) / m.cores
    found = {
        "MXU": work["mxu"],
        "MXU weights": work["mxu"] + work["weights"] if work["weights"] else 0.0,
        "DRAM": moved / timed.rate,
        "vector unit": work["vector"],
        "vector memory": work["vmem"],
        "grid steps": steps + work["fill_drain"],
    }
    return {name: cycles for name, cycles in found.items() if cycles}


def _occupancy(lowered: TpuLowered, m: TpuMachine) -> Occupancy:
    """One block at a time on a core; what its buffers leave of the vector memory is not used."""
    fits = m.vmem_bytes // max(1, lowered.vmem_bytes)
    return Occupancy(1, "sequential grid", {"sequential grid": 1, "vector memory": fits}, 1, 0, lowered.vmem_bytes)


def _notes(lowered: TpuLowered) -> tuple[str, ...]:
    """What the lowering did beyond translating."""
    if lowered.together == 1:
        return ()
    return (f"{lowered.together} blocks of a row share each grid step (grid.together of the specification; 1 switches this off)",)


def _timeline(timed: Timed) -> tuple[Span, ...]:
    """Copies in, work and copies out of every step; a span's `cta` is the step."""
    return tuple(Span(core.number, step, a, b, reason) for core in timed.cores for reason, step, a, b in core.spans)


__all__ = ["Timed", "simulate_tpu", "time"]
