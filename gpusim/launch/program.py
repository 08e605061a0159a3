"""Launches behind each other on one chip: when each begins, and what the device and the host put between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.spec.device import GpuSpec, Launch

#: how launches reach the device: as nodes of one graph, or one by one from the host
SUBMIT = ("graph", "stream")
#: ps in a nanosecond
PS = 1000.0


@dataclass(frozen=True, slots=True)
class Timeline:
    """begins, ends: of each launch, in ps after the first event (`launch="in"`) or after the first launch began. total: ps until the last
    event, or the last end."""

    begins: tuple[int, ...]
    ends: tuple[int, ...]
    total: int


def timeline(times: Sequence[int], spec: GpuSpec, launch: str, submit: str) -> Timeline:
    """times: ps of each launch alone, its start in it and no overhead.

    launch="out": the launches alone, one right behind the other, as a profiler adds them up. launch="in": what events around all of them see. The first pays
    `launch.overhead`. Each further one begins when the one before it has ended and the host has brought it; its start takes
    `launch.between` instead of `launch.start`, because the device prepares it beforehand. In a graph all are there from the beginning; in
    a stream the host brings one every `launch.submit`, so launches shorter than that wait for it.
    Raises GpusimError for a way of submitting that does not exist, and for a specification that does not say what it takes.
    """
    check_submit(submit)
    given = spec.launch
    if launch == "out":
        gap, every, overhead = given.start, 0.0, 0.0
    else:
        between, host = _known(given, spec.name) if len(times) > 1 else (given.start, 0.0)
        gap, every, overhead = between, host if submit == "stream" else 0.0, given.overhead
    begins, ends, now = [], [], 0.0
    for i, time in enumerate(times):
        begin = max(now, i * every * PS)
        now = begin + time - (given.start - gap) * PS * (i > 0)
        begins.append(round(begin))
        ends.append(round(now))
    return Timeline(tuple(begins), tuple(ends), round(now + overhead * PS))


def check_submit(submit: str) -> None:
    """GpusimError for a way of submitting that does not exist."""
    if submit not in SUBMIT:
        raise GpusimError(f"submit = '{submit}' is unknown.", hint=f"Give one of: {', '.join(SUBMIT)}.")


def _known(launch: Launch, name: str) -> tuple[float, float]:
    """(between, submit) in ns."""
    if launch.between is None or launch.submit is None:
        missing = "launch.between" if launch.between is None else "launch.submit"
        raise GpusimError(
            f"{missing} is not given, so nobody knows what lies between launches.", where=name, hint="Add it to the YAML file, or use launch='out'."
        )
    return launch.between, launch.submit
