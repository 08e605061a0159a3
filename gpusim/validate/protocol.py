"""The protocols under which a case is measured and simulated. They are never pooled: a number belongs to one of them."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.trace.run import Run

#: bytes that a profiler which flushes and invalidates L2 before a launch leaves dirty in it: read-only launches of more than L2 holds write 2.37 to
#: 2.5 MB, those that fit write none. Evidence: counters.json, dram__bytes_write of 9 reductions, histograms and vector-matrix products
PROFILER = 2.4e6


@dataclass(frozen=True, slots=True)
class Measure:
    """What is compared, and how it is taken. `truth`: keys of the measured value, the first that is there counts.
    `length`: keys of the duration in ns that decides what is short. `own_clock`: the model finds the clock that its load allows; else the case gives it.
    `leftover`: bytes of dirty lines in L2 that the measuring itself left there, older than all else."""

    name: str
    unit: str
    truth: tuple[str, ...]
    length: tuple[str, ...]
    l2: str
    launch: str
    own_clock: bool
    text: str
    leftover: float = 0.0

    def simulated(self, run: Run) -> float:
        """The value of `run` that stands against the measured one, in `unit`."""
        return float(run.cycles) if self.unit == "cycles" else run.time_ps / 1000


MEASURES = {
    m.name: m
    for m in (
        Measure(
            "cycles",
            "cycles",
            truth=("sm_cycles",),
            length=("gpu_ns",),
            l2="cold",
            launch="out",
            own_clock=False,
            text="cycles: L2 cold and clean, launch overhead out, at each case's measured clock, against sm_cycles",
            leftover=PROFILER,
        ),
        Measure(
            "time",
            "ns",
            truth=("ns", "ns_median"),
            length=("ns", "ns_median"),
            l2="foreign-dirty",
            launch="in",
            own_clock=True,
            text="time: L2 full of dirty foreign lines, launch overhead in, at the clock of the model's own load, against ns",
        ),
        Measure(
            "clean",
            "ns",
            truth=("clean_ns_median",),
            length=("clean_ns_median",),
            l2="foreign-clean",
            launch="in",
            own_clock=True,
            text="clean: L2 full of clean foreign lines, launch overhead in, at the clock of the model's own load, against clean_ns_median",
        ),
        Measure(
            "warm",
            "ns",
            truth=("warm_ns_median",),
            length=("warm_ns_median",),
            l2="warm",
            launch="in",
            own_clock=True,
            text="warm: L2 as the same launch left it, launch overhead in, at the clock of the model's own load, against warm_ns_median",
        ),
    )
}


def measure_of(name: str) -> Measure:
    """The protocol called `name`; GpusimError with the known names otherwise."""
    if name not in MEASURES:
        raise GpusimError(f"'{name}' is no measure.", where="--measure", hint=f"Give one of {', '.join(MEASURES)}.")
    return MEASURES[name]
