"""The value pass where nobody wants values: as few CTAs as give the counters and the paths of the timed SMs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.simt import execute
from gpusim.launch.simt.args import ArraySpec, backing, is_array, scratch
from gpusim.launch.simt.classes import scaled, total
from gpusim.launch.simt.counting import thread_instructions
from gpusim.launch.simt.memory import array_bytes, footprints
from gpusim.launch.simt.passes import Passed, without_values
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.static import CLOCK, Dependence, data_dependence
from gpusim.launch.simt.tracing import Tracer, classed
from gpusim.trace.simt import Counts

#: grids that are executed whole where classes cannot be proved
FEW_CTAS, FEW_THREADS = 2_000, 1 << 22
#: the same where L2 holds what launches before have left, which only a walk of all CTAs finds
FEW_THREADS_BEHIND = 1 << 25
#: places inside of strata that fall together with no width of a grid: multiples of the golden ratio
GOLDEN = 0.6180339887
#: larger ones: so many strata of the grid, so many CTAs of each
STRATA, EACH = 16, 16


def execute_some(ready: Ready, args: Sequence[Any], record: Iterable[int], trace: Tracer, *, work: bool = False, behind: bool = False) -> Passed:
    """Counts of the whole launch and the recorded paths; the caller's arrays stay as they are.

    Where branches and addresses do not depend on loaded data, arrays of zeros serve. GpusimError if they do and an array has no data.
    work: note how much each CTA does, where all are executed. behind: L2 holds what launches before have left.
    """
    wanted = sorted(record)
    dependence = data_dependence(ready.code)
    if dependence is not None:
        _need_data(ready, args, dependence)
        held = backing(args, ready.code.program, copy=True)
        if _few(ready, behind):
            return _whole(ready, held, wanted, trace, work)
        return _strata(ready, held, wanted, f"its ways depend on data (line {dependence.line})", behind)
    held = scratch(args, ready.code.program)
    ready = without_values(ready)
    if ready.geometry.cluster_ctas > 1:
        return _whole(ready, held, wanted, trace) if _few(ready, behind) else _strata(ready, held, wanted, "its CTAs form clusters", behind)
    found = classed(ready, args, trace.addresses)
    if found is not None:
        found.walk(ready, trace)
        done = execute(ready.code, ready.geometry, held, ctas=wanted, record=wanted, sanitize=False, addresses=trace.addresses, prints=False)
        counts = total(found.classes)
        prints = footprints(ready.code, counts, array_bytes(ready.code, held))
        kinds = "1 class" if len(found.classes) == 1 else f"{len(found.classes)} classes"
        said = f"{kinds} of CTAs executed for the counts of {ready.geometry.ctas}" if ready.geometry.ctas > len(wanted) else ""
        return Passed(counts, done.paths, prints, done, said)
    if _few(ready, behind) or ready.geometry.ctas <= len(wanted):
        return _whole(ready, held, wanted, trace)
    return _strata(ready, held, wanted, "its CTAs fall into no classes that can be proved", behind)


def _few(ready: Ready, behind: bool) -> bool:
    g = ready.geometry
    return g.ctas <= FEW_CTAS or g.ctas * g.threads <= (FEW_THREADS_BEHIND if behind else FEW_THREADS)


def _need_data(ready: Ready, args: Sequence[Any], dependence: Dependence) -> None:
    arrays = {b.name: args[b.arg] for b in ready.code.program.buffers if b.space == "global" and b.arg is not None and is_array(args[b.arg])}
    missing = sorted(name for name in dependence.origins if isinstance(arrays.get(name), ArraySpec))
    if missing and dependence.origins != {CLOCK}:
        program = ready.code.program
        what = f"{dependence.what} depends on what {', '.join(missing)} holds, of which only the shape is given."
        raise GpusimError(what, where=f"{program.file or program.name}:{dependence.line}", hint="Pass an array with data.")


def _whole(ready: Ready, held: Sequence[Any], wanted: Sequence[int], trace: Tracer, work: bool = False) -> Passed:
    for walk in trace.walks[:-1]:
        execute(ready.code, ready.geometry, backing(held, ready.code.program, copy=True), sanitize=False, watch=walk, addresses=trace.addresses, prints=False)
    done = execute(ready.code, ready.geometry, held, record=wanted, sanitize=False, work=work, watch=trace.watch, addresses=trace.addresses, prints=False)
    trace.met(ready, done.counts)
    return Passed(done.counts, done.paths, {}, done, work=done.work)


def _strata(ready: Ready, held: Sequence[Any], wanted: Sequence[int], why: str, behind: bool) -> Passed:
    """Groups of CTAs, each spread over the whole grid; their scatter gives the standard error."""
    number, per_group = ready.geometry.ctas, STRATA * EACH
    place = np.arange(per_group) * GOLDEN % 1.0
    picked = np.unique(((np.arange(per_group) + place) * number / per_group).astype(np.int64))
    groups = [execute(ready.code, ready.geometry, held, ctas=picked[i::EACH], sanitize=False, prints=False).counts for i in range(EACH)]
    sums = [thread_instructions(ready.code, c) for c in groups]
    error = stdev(sums) / fmean(sums) / len(sums) ** 0.5
    counts = Counts.zero(len(ready.code.blocks), len(ready.code.accesses))
    for group in groups:
        counts.add(group)
    counts = scaled(counts, number / len(picked))
    done = execute(ready.code, ready.geometry, held, ctas=wanted, record=wanted, sanitize=False, prints=False)
    prints = footprints(ready.code, counts, array_bytes(ready.code, held))
    said = f"{len(picked)} of {number} CTAs executed, spread over the grid, for {why}: counters have a standard error of {error:.1%}"
    if behind:
        said += "; what L2 held before does not count"
    return Passed(counts, done.paths, prints, done, said, walked=False)
