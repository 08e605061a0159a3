"""Programs of tiles that are programs of threads: what `simulate` does with those that have no matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpusim.ir.check import check
from gpusim.ir.program import Program
from gpusim.launch.clock import Clock
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import Begun, SimtResult, begin
from gpusim.launch.simt.state import MemoryState
from gpusim.lower.blocked.threads import Threads, is_of_threads, threads
from gpusim.lower.simt.registers import FREE
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run

__all__ = ["Arrays", "arguments", "is_of_threads", "simulate_blocked"]

#: (name, element type, elements) -> the array of a tensor, for launches that share memory
Arrays = dict[tuple[str, str, int], ArraySpec]


def simulate_blocked(
    program: Program,
    spec: GpuSpec,
    *,
    l2: str,
    launch: str,
    clock_mhz: Clock,
    exact: bool,
    timeline: bool = False,
    without: Sequence[str] = (),
    leftover: float = 0.0,
    data: str = "random",
    state: MemoryState | None = None,
    arrays: Arrays | None = None,
) -> Run:
    """The Run of one launch; arguments as in `launch.run.simulate`. state, arrays: what launches before it left in L2, and the arrays they had: tensors of one
    name, type and size are one array."""
    check(program)
    state = state or (MemoryState(spec, l2, leftover) if leftover and l2 == "cold" else None)
    options = {"clock_mhz": clock_mhz, "l2": l2, "launch": launch, "exact": exact, "state": state, "data": data}
    known: Arrays = {} if arrays is None else arrays
    begun = _begun(program, spec, known, False, options)
    if begun.ready.code.registers > FREE:
        close = _begun(program, spec, known, True, options)
        begun = max(begun, close, key=lambda one: one.ready.held.ctas_per_sm)
    begun.execute(values=False)
    result: SimtResult = begun.result(timeline=timeline, without=without)
    notes = tuple(note for note in result.run.notes if "line 0" not in note)
    return replace(result.run, params=program.params, flops=program.flops or result.run.flops, notes=notes)


def _begun(program: Program, spec: GpuSpec, arrays: Arrays, sink: bool, options: dict[str, Any]) -> Begun:
    """Loads early, or, as compilers do where that lets more CTAs be resident, near their use."""
    made = threads(program, sink)
    return begin(made.program, made.geometry, arguments(made, arrays), spec, **options)


def arguments(made: Threads, arrays: Arrays | None = None) -> list[Any]:
    """What the kernel is launched with: shapes of arrays, and numbers."""
    known = {} if arrays is None else arrays
    return [argument if isinstance(argument, int) else known.setdefault(argument, ArraySpec((argument[2],), argument[1])) for argument in made.arguments]
