"""Conservation laws that hold in every run; a breach is a bug of the model and says which numbers disagree."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.devices.gpu import Timed
from gpusim.launch.tally import Tally
from gpusim.trace.run import Run

#: relative slack for sums of floats
SLACK = 1e-6
#: a launch may beat a mean-load bound by the rounding of what is booked, never by more
ROOFLINE_SLACK = 1e-3


def check(run: Run, counts: Tally, timed: Timed | None) -> None:
    """Raise AssertionError with the numbers if a law is broken. `timed`: the raw run, where nothing was left out."""
    for name, holds in LAWS.items():
        assert holds(run), f"law broken: {name}: {run.counters} cycles {run.cycles} bounds {run.bounds} stalls {run.stalls} of {run.warp_cycles}"
    if timed is not None:
        for name in ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "shared_wavefronts"):
            assert _equal(timed.counts[name], counts[name]), f"law broken: {name} executed {timed.counts[name]}, from the program {counts[name]}"


def check_simt(run: Run) -> None:
    """The same for a kernel of threads."""
    for name, holds in SIMT_LAWS.items():
        assert holds(run), f"law broken: {name}: {run.counters} cycles {run.cycles} bounds {run.bounds} stalls {run.stalls} of {run.warp_cycles}"


def _equal(a: float, b: float) -> bool:
    return abs(a - b) <= SLACK * max(abs(a), abs(b), 1.0)


LAWS: dict[str, Callable[[Run], bool]] = {
    "sectors requested = merged + received by L2": lambda r: r.counters["l1_load_sectors"] == r.counters["merged_sectors"] + r.counters["l2_read_sectors"],
    "sectors stored = received by L2": lambda r: r.counters["l1_store_sectors"] == r.counters["l2_write_sectors"],
    "hits are part of what L2 received": lambda r: 0 <= r.counters["l2_hit_sectors"] <= r.counters["l2_read_sectors"] + r.counters["l2_write_sectors"],
    "written to DRAM + dirty at the end >= 0": lambda r: min(r.counters.values()) >= 0,
    "stalls partition the life of the warps": lambda r: _equal(sum(r.stalls.values()), r.warp_cycles),
    "not faster than any single resource": lambda r: all(b <= r.cycles * (1 + ROOFLINE_SLACK) for b in r.bounds.values()),
}

LANES = 32

SIMT_LAWS: dict[str, Callable[[Run], bool]] = {
    "nothing is negative": lambda r: min(r.counters.values()) >= 0 and min(r.stalls.values(), default=0.0) >= 0,
    "sectors loaded = hit in L1 + merged + received by L2": lambda r: (
        r.counters["l1_load_sectors"] == r.counters["l1_hit_sectors"] + r.counters.get("merged_sectors", 0) + r.counters["l2_read_sectors"]
    ),
    "an instruction has 0 to 32 active lanes": lambda r: 0 <= r.counters["thread_instructions"] <= LANES * r.counters["instructions"],
    "a request has at least one sector": lambda r: r.counters["l1_load_sectors"] >= r.counters.get("l1_load_requests", 0),
    "lines add up to the launch": lambda r: r.profile is not None and sum(c.instructions for c in r.profile.lines) == r.counters["instructions"],
    "stalls partition the life of the warps": lambda r: _equal(sum(r.stalls.values()), r.warp_cycles),
    "not faster than any single resource": lambda r: all(b <= r.cycles * (1 + ROOFLINE_SLACK) for b in r.bounds.values()),
}
