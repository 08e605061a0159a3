"""Conservation laws of a launch on a TPU; a breach is a bug of the model and says which numbers disagree."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.trace.run import Run

SLACK = 1e-6


def check(run: Run) -> None:
    """Raise AssertionError with the numbers if a law is broken."""
    for name, holds in LAWS.items():
        assert holds(run), f"law broken: {name}: {run.counters} cycles {run.cycles} bounds {run.bounds} stalls {run.stalls} of {run.warp_cycles}"


LAWS: dict[str, Callable[[Run], bool]] = {
    "nothing is negative": lambda r: min(r.counters.values(), default=0) >= 0 and min(r.stalls.values(), default=0.0) >= 0,
    "what cores do partitions their time": lambda r: abs(sum(r.stalls.values()) - r.warp_cycles) <= SLACK * max(1.0, r.warp_cycles),
    "not faster than any single resource": lambda r: all(b <= r.cycles * (1 + SLACK) for b in r.bounds.values()),
    "arrays multiply at least what is useful": lambda r: not r.counters.get("tensor_fma") or 2 * r.counters["tensor_fma"] >= r.flops,
}
