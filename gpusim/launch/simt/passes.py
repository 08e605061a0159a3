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
from gpusim.trace.simt import Counts, CtaPath, Work

MOST = 64  # entries of a memo


@dataclass(frozen=True, slots=True)
class Passed:
    """counts: of the whole launch, exact unless `said` tells otherwise. paths: of the CTAs asked for. prints: what the launch touches, by
    buffer. executed: the result of the execution that recorded. said: what was not executed. work: how much each CTA of the launch did, if noted."""

    counts: Counts
    paths: dict[int, CtaPath]
    prints: dict[str, Footprint]
    executed: Any
    said: str = ""
    work: Work | None = None


def execute_all(ready: Ready, args: Sequence[Any], record: Iterable[int], **options: Any) -> Passed:
    """Every CTA with the caller's arrays, which hold the results afterwards. options: for `interp.simt.execute`."""
    arrays = backing(args, ready.code.program, copy=False)
    done = execute(ready.code, ready.geometry, arrays, record=sorted(record), **options)
    return Passed(done.counts, done.paths, exact_prints(done), done, work=done.work)


def probe(ready: Ready, args: Sequence[Any], cta: int) -> float | None:
    """Warp instructions of one CTA, executed on zeros; None where its way depends on data."""
    if "way depends on data" not in ready.memo:
        ready.memo["way depends on data"] = data_dependence(ready.code) is not None
    if ready.memo["way depends on data"]:
        return None
    key = ("length", cta, tuple(ready.facts.params.items()))
    if key not in ready.memo:
        if len(ready.memo) > MOST:
            ready.memo.clear()
        code = without_values(ready).code
        counts = execute(code, ready.geometry, scratch(args, code.program), ctas=[cta], sanitize=False).counts
        ready.memo[key] = float(warp_instructions(ready.code, counts)) or None
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
