"""One launch from a script: grid and block checked, values computed at once, time when the report is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.cuda.arguments import Bound
from gpusim.cuda.streams import TIMELINE
from gpusim.cuda.writing import check_writes, effects, finish, marks
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import MAX_BLOCK, MAX_GRID, MAX_THREADS, Geometry
from gpusim.options import Options

if TYPE_CHECKING:
    from gpusim.cuda.dispatcher import Dispatcher
    from gpusim.launch.simt.run import Begun
    from gpusim.launch.simt.state import MemoryState
    from gpusim.report.report import Report
    from gpusim.spec.device import GpuSpec


def caller() -> str:
    """file:line of the nearest frame that is not ours; of a launch from the command line, that."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (name := frame.f_globals.get("__name__", "")).split(".")[0] == "gpusim":
        if name.startswith("gpusim.cli."):
            return "command line"
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def geometry(grid: Any, block: Any, shared: Any = 0, where: str = "", cluster: Any = 1) -> Geometry:
    """grid, block and cluster: an integer, or up to three (x, y, z); shared: bytes of dynamic shared memory. GpusimError with what a launch allows."""
    g, b = _extents(grid, "grid", MAX_GRID, where), _extents(block, "block", MAX_BLOCK, where)
    threads = b[0] * b[1] * b[2]
    if threads > MAX_THREADS:
        raise GpusimError(
            f"a block of {_by(b)} has {threads} threads; a block holds at most {MAX_THREADS}.",
            where=where,
            hint="Make the block smaller and the grid larger.",
        )
    if isinstance(shared, bool) or not isinstance(shared, int | np.integer) or shared < 0:
        raise GpusimError(f"{shared!r} bytes of dynamic shared memory.", where=where, hint="Give a whole number of 0 or more.")
    return Geometry(g, b, int(shared), _extents(cluster, "cluster", MAX_GRID, where))


def _extents(given: Any, what: str, most: Sequence[int], where: str) -> tuple[int, int, int]:
    if given is None:
        raise GpusimError(f"no {what} was given.", where=where, hint=f"Give {what} as an integer or as (x, y, z).")
    parts = tuple(given) if isinstance(given, tuple | list | np.ndarray) else (given,)
    whole = all(isinstance(p, int | np.integer) and not isinstance(p, bool) for p in parts)
    if not whole or not 1 <= len(parts) <= 3:
        hint = "Give an integer or up to three of them; round a quotient up with (n + threads - 1) // threads."
        raise GpusimError(f"{what} = {given!r} is not made of one to three integers.", where=where, hint=hint)
    x, y, z = (*map(int, parts), 1, 1)[:3]
    for extent, high, axis in zip((x, y, z), most, "xyz", strict=True):
        if not 1 <= extent <= high:
            raise GpusimError(f"{what} = {_by((x, y, z))}: {axis} is {extent}, it can be 1 to {high}.", where=where, hint=f"Choose another {what}.")
    return x, y, z


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


@dataclass(frozen=True, slots=True)
class How:
    """How a launch is taken: the machine and the protocol of its report. registers: per thread, instead of the estimate. state: memory and L2
    that it shares with launches before it."""

    spec: GpuSpec
    registers: int | None = None
    options: Options = field(default_factory=Options)
    state: MemoryState | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch for `gs.program`: a kernel with its grid, block and arguments. shared: bytes of dynamic shared memory; cluster: blocks side by side; registers:
    of a thread, instead of the estimate."""

    kernel: Dispatcher
    grid: Any
    block: Any
    args: Sequence[Any] = ()
    shared: int = 0
    cluster: Any = 1
    registers: int | None = None


class Launched:
    """A launch whose values are there. `report` simulates its time when it is first read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._report: Any = None

    @property
    def report(self) -> Any:
        if self._make is not None:
            self._report, self._make = self._make(), None
        return self._report

    def microseconds(self) -> float:
        return float(self.report.time_us)


def launch(kernel: Dispatcher, bound: Sequence[Bound], shape: Geometry, how: How, where: str) -> Launched:
    """Runs `kernel` on `bound`; results stand in the caller's arrays afterwards."""
    begun = _begin(kernel, bound, shape, how)
    check_writes(begun.ready, bound, where)
    print(begun.execute(written=marks(bound)).printed, end="")
    finish(begun.ready, bound)
    made = Launched(lambda: _report(begun, how, {b.name: b.value for b in bound if isinstance(b.value, np.ndarray)}))
    TIMELINE.add(made.microseconds)
    return made


def run_kernel(kernel: Dispatcher, given: Sequence[Any], grid: Any, block: Any, shared: int, how: How, values: bool, cluster: Any = 1) -> Report:
    """The report of one launch. values: compute them; else arrays stay as they are."""
    if values:
        report: Report = kernel.launch(given, grid, block, shared, how, cluster).report
        return report
    where = caller()
    begun = _begin(kernel, kernel.bound(given, where), geometry(grid, block, shared, where, cluster), how)
    begun.execute(values=False)
    return _report(begun, how, None)


def _begin(kernel: Dispatcher, bound: Sequence[Bound], shape: Geometry, how: How) -> Begun:
    from gpusim.launch.simt.run import Begun

    values = [b.value for b in bound]
    ready = kernel.ready_for(bound, shape, how)
    line = effects(ready).grid_barrier
    if line is not None and shape.ctas > ready.slots:
        raise GpusimError(
            f"{shape.ctas} blocks wait for each other at a barrier of the grid, but {how.spec.name} holds only {ready.slots} of them at once.",
            where=f"{ready.code.program.file}:{line}",
            hint="Launch fewer blocks and let each thread do more; kernel.overloads[types].max_cooperative_grid_blocks(threads) gives the most.",
        )
    return Begun(ready, values, how.options.l2, how.options.launch, how.options.exact, how.state, how.options.clock, how.options.data)


def _report(begun: Begun, how: How, values: dict[str, np.ndarray] | None) -> Report:
    from gpusim.report.simt import simt_report

    return replace(simt_report(begun.result(timeline=True, without=how.options.without), how.spec), values=values)
