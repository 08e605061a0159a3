"""How a probe is measured: cycles between n and 2 n passes of a loop on all SMs at once, so that launch and entry are gone; or one launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Arg, Geometry
from gpusim.launch.clock import Clock
from gpusim.launch.protocol import check_options
from gpusim.launch.simt.args import ArraySpec, describe
from gpusim.launch.simt.repeats import Repeats
from gpusim.launch.simt.run import Begun
from gpusim.launch.simt.state import MemoryState
from gpusim.probe.plan import Excluded, Plan, Simulation
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import resolve
from gpusim.trace.run import Run

MOST_WARPS = 32


@dataclass(frozen=True, slots=True)
class Loop:
    """A kernel whose cost is that of one pass of a loop. args: those behind `sink` (of which the element type is `sink`), the number of passes
    as a string. value: cycles a pass -> the value of the record. passes: n. shared: dynamic shared memory of a CTA, bytes."""

    kernel: Any
    warps: int
    args: tuple[Any, ...]
    value: Callable[[float], float]
    passes: int = 2
    sink: str = "uint32"
    shared: int = 0


def slope(loop: Loop) -> Simulation:
    """The simulation of `loop`. More warps than a CTA can have come as several CTAs an SM."""
    ctas = -(-loop.warps // MOST_WARPS)
    threads = loop.warps // ctas * 32

    def simulate(spec: GpuSpec) -> float:
        """Cycles of a pass: of 2 n passes less those of n, over n."""
        grid = sms(spec) * ctas
        sink = ArraySpec((grid * threads,), loop.sink)
        cycles = []
        for n in (loop.passes, 2 * loop.passes):
            args = tuple(int32(n) if isinstance(a, str) else int32(a) for a in loop.args)
            cycles.append(run(spec, loop.kernel, (grid, threads), (sink, *args), loop.shared).cycles)
        return loop.value((cycles[1] - cycles[0]) / loop.passes)

    return simulate


@dataclass(frozen=True, slots=True)
class Timed:
    """What a launch took."""

    cycles: float
    time_ps: int


@dataclass(frozen=True, slots=True, eq=False)
class _Launch:
    """A launch of which only the time matters. Two are equal where everything that was given is, types of numbers too; a spec is itself only."""

    spec: GpuSpec
    kernel: Any
    geometry: Geometry
    args: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.spec), self.kernel, self.geometry, self.args, tuple(map(type, self.args)), self.options

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Launch) and self.key == other.key

    def timed(self) -> Timed:
        made = launched(self.spec, self.kernel, self.geometry, self.args, **dict(self.options))
        return Timed(made.cycles, made.time_ps)


@lru_cache(maxsize=256)
def _once(launch: _Launch) -> Timed:
    return launch.timed()


def run(spec: GpuSpec, kernel: Any, threads: tuple[int, int], args: tuple[Any, ...], shared: int = 0, **options: Any) -> Timed:
    """One launch without values, on a chip of its own; the same one again is not simulated again. threads: (CTAs, threads of a CTA). options: for
    `begin`."""
    launch = _Launch(spec, kernel, Geometry((threads[0], 1, 1), (threads[1], 1, 1), shared), args, tuple(sorted(options.items())))
    return launch.timed() if any(isinstance(a, np.ndarray) for a in args) else _once(launch)


def launched(spec: GpuSpec, kernel: Any, geometry: Geometry, args: Sequence[Any], *, timeline: bool = False, **options: Any) -> Run:
    """One launch without values. timeline: keep the passes of the timed warps. options: for `begin`."""
    begun = begin(kernel, geometry, args, spec, **options)
    begun.execute(values=False)
    return begun.result(timeline=timeline).run


def begin(
    kernel: Any,
    geometry: Geometry,
    args: Sequence[Any],
    spec: GpuSpec,
    *,
    l2: str = "cold",
    launch: str = "out",
    exact: bool = False,
    state: MemoryState | None = None,
    clock: Clock = None,
    data: str = "random",
) -> Begun:
    """As `launch.simt.run.begin`. Launches of one kernel that lead to the same code are compiled once: probes differ in numbers."""
    check_options(l2, launch, clock, data)
    ready = _repeats(kernel, describe(args)).prepare(geometry, args, spec, None, clock)
    return Begun(ready, args, l2, launch, exact, state, clock, data)


@lru_cache(maxsize=32)
def _repeats(kernel: Any, types: tuple[Arg, ...]) -> Repeats:
    return Repeats(kernel.program_for(types))


def nanoseconds(spec: GpuSpec, kernel: Any, threads: tuple[int, int], args: tuple[Any, ...], shared: int = 0, **options: Any) -> float:
    """The time of one launch, its overhead in it."""
    return run(spec, kernel, threads, args, shared, launch="in", **options).time_ps / 1000


def int32(value: Any) -> Any:
    """The originals' `int` has 32 bits, a whole number of Python's 64."""
    return np.int32(value) if isinstance(value, int) and value < 2**31 else value


def sms(spec: GpuSpec) -> int:
    return resolve(spec, spec.clocks.boost / 1e6).sms


def refused(reason: str, where: str) -> Plan:
    """A plan for what kernels cannot say."""

    def refuse(_: Any) -> Simulation:
        raise GpusimError(reason, where=where)

    return refuse


def excluded(reason: str) -> Plan:
    """A plan for a record that says something about the run that was measured."""

    def exclude(_: Any) -> Simulation:
        raise Excluded(reason)

    return exclude
