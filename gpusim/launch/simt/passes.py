"""The value pass of a launch: which CTAs are executed, what is counted, which paths are kept for timing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusim.interp.simt import execute
from gpusim.launch.simt.args import backing, scratch
from gpusim.launch.simt.counting import warp_instructions
from gpusim.launch.simt.memory import Footprint
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.skeleton import skeleton
from gpusim.launch.simt.static import data_dependence
from gpusim.launch.simt.tracing import Tracer, classed
from gpusim.trace.simt import Counts, CtaPath, Work

MOST = 64  # entries of a memo


@dataclass(frozen=True, slots=True)
class Passed:
    """counts: of the whole launch, exact unless `said` tells otherwise. paths: of the CTAs asked for. prints: what the launch touches, by
    buffer, as far as somebody needs it. executed: the result of the execution that recorded. said: what was not executed. work: how much each CTA
    of the launch did, if noted. walked: whether the traffic of all CTAs went to the L2."""

    counts: Counts
    paths: dict[int, CtaPath]
    prints: dict[str, Footprint]
    executed: Any
    said: str = ""
    work: Work | None = None
    walked: bool = True


def execute_all(ready: Ready, args: Sequence[Any], record: Iterable[int], trace: Tracer, **options: Any) -> Passed:
    """Every CTA with the caller's arrays, which hold the results afterwards. options: for `interp.simt.execute`."""
    found = None
    if data_independent(ready):
        light = without_values(ready)
        found = classed(light, args, trace.addresses)
        if found is not None:
            found.walk(light, trace)
    for walk in () if found is not None else trace.walks[:-1]:
        copies = backing(args, ready.code.program, copy=True)
        execute(ready.code, ready.geometry, copies, sanitize=False, watch=walk, addresses=trace.addresses)
    arrays = backing(args, ready.code.program, copy=False)
    watch = None if found is not None else trace.watch
    done = execute(ready.code, ready.geometry, arrays, record=sorted(record), watch=watch, addresses=trace.addresses, **options)
    if found is None:
        trace.met(ready, done.counts)
    return Passed(done.counts, done.paths, exact_prints(done), done, work=done.work)


def data_independent(ready: Ready) -> bool:
    """Whether no way and no address depends on loaded data."""
    if "way depends on data" not in ready.memo:
        ready.memo["way depends on data"] = data_dependence(ready.code) is not None
    return not ready.memo["way depends on data"]


def probe(ready: Ready, args: Sequence[Any], cta: int) -> float | None:
    """Warp instructions of one CTA, executed on zeros; None where its way depends on data."""
    if not data_independent(ready):
        return None
    key = ("length", cta, tuple(ready.facts.params.items()))
    if key not in ready.memo:
        if len(ready.memo) > MOST:
            ready.memo.clear()
        code = without_values(ready).code
        counts = execute(code, ready.geometry, scratch(args, code.program), ctas=[cta], sanitize=False, prints=False).counts
        ready.memo[key] = float(warp_instructions(ready.code, counts)) / ready.geometry.cluster_ctas or None
    length: float | None = ready.memo[key]
    return length


def without_values(ready: Ready) -> Ready:
    """The launch with code that decides ways and addresses only; for launches whose ways do not depend on data."""
    if "skeleton" not in ready.memo:
        ready.memo["skeleton"] = skeleton(ready.code)
    return replace(ready, code=ready.memo["skeleton"])


def exact_prints(done: Any) -> dict[str, Footprint]:
    """Footprints of the executed CTAs."""
    return {name: Footprint(done.read[name], done.written[name], touched) for name, touched in done.touched.items()}
