"""Cases of several launches: what a profiler adds up, and what events around all of them see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpusim.ir.program import Program
from gpusim.launch.blocked import Arrays, simulate_blocked
from gpusim.launch.program import timeline
from gpusim.launch.run import simulate
from gpusim.launch.simt.state import MemoryState
from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run
from gpusim.validate.protocol import Measure

#: picoseconds in a nanosecond
PS = 1000


def simulated(programs: Sequence[Program], options: dict[str, Any], spec: GpuSpec, measure: Measure) -> tuple[float, Run]:
    """(The value of `programs` in this order under `measure`, the Run of the longest one).

    Where launch overhead is out, a profiler has run each alone, from a flushed L2, and their values are added up. Where it is in, the host brings one after
    the other, and each finds in L2 what those before it left.
    """
    if measure.launch == "out":
        runs = [simulate(program, spec, **options) for program in programs]
        return sum(measure.simulated(run) for run in runs), max(runs, key=lambda run: run.time_ps)
    state, arrays = MemoryState(spec, measure.l2), Arrays()
    alone = {**options, "launch": "out", "exact": False}
    runs = [simulate_blocked(program, spec, **alone, state=state, arrays=arrays) for program in programs]
    total = timeline([run.time_ps for run in runs], spec, measure.launch, "stream").total
    return total / PS, max(runs, key=lambda run: run.time_ps)
