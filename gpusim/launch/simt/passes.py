"""The value pass of a launch: which CTAs are executed, what is counted, which paths are kept for timing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.interp.simt import execute
from gpusim.launch.simt.args import backing
from gpusim.launch.simt.prepare import Ready
from gpusim.trace.simt import Counts, CtaPath


@dataclass(frozen=True, slots=True)
class Passed:
    """`counts` of the whole launch (exact, unless `error` > 0: relative standard error of the instructions), `paths` of the CTAs asked for,
    `said`: what was not executed, `executed`: the result of the last execution."""

    counts: Counts
    paths: dict[int, CtaPath]
    executed: Any
    said: str = ""
    error: float = 0.0


def execute_all(ready: Ready, args: Sequence[Any], record: Iterable[int], **options: Any) -> Passed:
    """Every CTA with the caller's arrays, which hold the results afterwards."""
    arrays = backing(args, ready.code.program, copy=False)
    executed = execute(ready.code, ready.geometry, arrays, record=tuple(record), **options)
    return Passed(executed.counts, executed.paths, executed)
