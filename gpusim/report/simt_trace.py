"""Timeline of a SIMT run as Chrome's JSON, which Perfetto and chrome://tracing load: one event for each pass of a warp through a block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpusim.errors import GpusimError
from gpusim.report.simt_lines import text_of
from gpusim.trace.profile import Profile, Track
from gpusim.trace.run import Run

#: threads of one process in the file: sub-cores of an SM are processes, warps threads
SUBCORES = 16


def events(run: Run) -> Iterator[dict[str, Any]]:
    """Names of processes and threads first, then one complete event ("X") for each pass; times in microseconds."""
    profile = timeline(run)
    per_us = run.protocol.clock_mhz
    named: set[int] = set()
    for number, track in enumerate(profile.tracks):
        process = track.sm * SUBCORES + track.subcore
        if process not in named:
            named.add(process)
            yield _name("process_name", process, 0, f"SM {track.sm}, sub-core {track.subcore}")
        yield _name("thread_name", process, number, f"CTA {track.cta}, warp {track.warp}")
        yield from _passes(profile, track, process, number, per_us)


def timeline(run: Run) -> Profile:
    """The profile of a run that kept its timeline. GpusimError if it did not."""
    if run.profile is None:
        raise GpusimError(f"{run.kernel} is no kernel of threads: it has no timeline of warps.", hint="Use plot_timeline().")
    if not run.profile.tracks:
        raise GpusimError(f"the run of {run.kernel} kept no timeline.", hint="Run it with timeline=True.")
    return run.profile


def _name(what: str, process: int, thread: int, text: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": text}}


def _passes(profile: Profile, track: Track, process: int, thread: int, per_us: float) -> Iterator[dict[str, Any]]:
    for p in track.passes:
        line = profile.blocks[p.block].line
        yield {
            "ph": "X",
            "name": f"line {line}",
            "cat": f"block {p.block}",
            "pid": process,
            "tid": thread,
            "ts": p.start / per_us,
            "dur": (p.end - p.start) / per_us,
            "args": {"block": p.block, "source": text_of(profile, line), "active lanes": p.mask.bit_count(), "mask": f"0x{p.mask:08x}", "cycle": p.start},
        }


def write_trace(run: Run, path: str | Path) -> None:
    """Write the timeline to `path`."""
    data = {"traceEvents": list(events(run)), "displayTimeUnit": "ns", "otherData": {"kernel": run.kernel, "gpu": run.gpu, "clock_mhz": run.protocol.clock_mhz}}
    Path(path).write_text(json.dumps(data))
