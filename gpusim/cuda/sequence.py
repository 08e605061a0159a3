"""`gs.program`: launches in order, on one memory and one L2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpusim.cuda.launching import How, Launch, caller, run_kernel
from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.options import Options

if TYPE_CHECKING:
    from gpusim.launch.blocked import Arrays
    from gpusim.launch.simt.state import MemoryState
    from gpusim.report.program import ProgramReport
    from gpusim.report.report import Report
    from gpusim.spec.device import GpuSpec

APART = (
    "programs with matrix products ({names}) begin with the L2 that the first launch finds, and leave nothing in the L2 of kernels of threads: each of the two "
    "has an L2 of its own"
)


def run_program(launches: Sequence[Launch | Program], spec: GpuSpec, options: Options, submit: str, values: bool) -> ProgramReport:
    """The report of `launches` in this order. GpusimError for what is no launch, and for what a launch cannot do: then none after it is executed."""
    from gpusim.launch.blocked import is_of_threads
    from gpusim.launch.program import check_submit, timeline
    from gpusim.launch.simt.state import MemoryState
    from gpusim.report.program import ProgramReport

    _check(launches, options)
    check_submit(submit)
    state, alone = MemoryState(spec, options.l2), replace(options, launch="out")
    arrays: Arrays = {}
    reports = [_report(item, spec, alone, state, arrays, values) for item in launches]
    line = timeline([r.run.time_ps for r in reports], spec, options.launch, submit)
    tiles = list(dict.fromkeys(item.name for item in launches if isinstance(item, Program) and not is_of_threads(item)))
    notes = (APART.format(names=", ".join(tiles)),) if tiles and len(launches) > 1 else ()
    return ProgramReport(tuple(reports), spec, line.begins, line.ends, line.total, options.l2, options.launch, submit, notes)


def _check(launches: Sequence[Any], options: Options) -> None:
    from gpusim.cuda.dispatcher import Dispatcher

    where = caller()
    if not launches:
        raise GpusimError("a program of no launches.", where=where, hint="Give a list of gs.Launch(kernel, grid=..., block=..., args=...).")
    for i, item in enumerate(launches):
        what = item.kernel if isinstance(item, Launch) else item
        if not isinstance(what, Dispatcher if isinstance(item, Launch) else Program):
            hint = "Write gs.Launch(kernel, grid=..., block=..., args=...), or a program such as gs.kernels.gemm(...)."
            raise GpusimError(f"launch {i + 1} of the program is {what!r}, which is no launch.", where=where, hint=hint)
    if options.l2 == "warm":
        hint = "Give the launches twice: the second half then finds what the first half has left."
        raise GpusimError("l2 = 'warm' says what an identical launch left; a program has several.", where=where, hint=hint)


def _report(item: Launch | Program, spec: GpuSpec, options: Options, state: MemoryState, arrays: Arrays, values: bool) -> Report:
    from gpusim.launch.blocked import is_of_threads, simulate_blocked
    from gpusim.launch.run import simulate
    from gpusim.report.report import Report

    if isinstance(item, Program) and is_of_threads(item):
        return Report(simulate_blocked(item, spec, **options.for_launch(), state=state, arrays=arrays), spec)
    if isinstance(item, Program):
        return Report(simulate(item, spec, **options.for_launch()), spec)
    return run_kernel(item.kernel, item.args, item.grid, item.block, item.shared, How(spec, item.registers, options, state), values, item.cluster)
