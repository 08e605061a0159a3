"""A launch at the clock that was asked for: given, the highest, or the one that its own load allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from gpusim.launch.ablations import ablate, in_turn
from gpusim.launch.clock import BOOST, LOAD, NEAR, SUSTAINED, TENSOR, Clock, Held, held_by, word
from gpusim.spec.device import GpuSpec
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.run import Run

#: repeats of a simulation at the clock that its own load gives
REPEATS = 2

T = TypeVar("T")


def settled(
    make: Callable[[Machine, tuple[str, ...]], T], run_of: Callable[[T], Run], clock: Clock, machine: Machine, spec: GpuSpec, without: Sequence[str]
) -> tuple[T, Run]:
    """What `make` gives for a machine and the costs that were taken away from it, and its run. machine: at the clock of the first simulation. A
    clock under load is a fixed point, of at most `REPEATS` repeats, on the whole machine; what is taken away leaves it as it is."""
    saved: tuple[tuple[str, int], ...] = ()
    if clock in (LOAD, SUSTAINED):
        made, held = _fixed_point(make, run_of, str(clock), machine, spec)
        machine = resolve(spec, held.mhz)
    else:
        step = word(clock) == BOOST and machine.clock_hz < spec.clocks.boost
        held = Held(machine.clock_hz / 1e6, TENSOR if step else "")
    if without or clock not in (LOAD, SUSTAINED):
        made, saved = in_turn(lambda names: make(ablate(machine, names), names), lambda one: run_of(one).time_ps, without)
    run = run_of(made)
    return made, replace(run, saved=saved, protocol=replace(run.protocol, clock=word(clock), held_by=held.by))


def _fixed_point(make: Callable[[Machine, tuple[str, ...]], T], run_of: Callable[[T], Run], mode: str, machine: Machine, spec: GpuSpec) -> tuple[T, Held]:
    made = make(machine, ())
    for _ in range(REPEATS):
        held = held_by(run_of(made), spec, mode)
        if abs(held.mhz / run_of(made).protocol.clock_mhz - 1) < NEAR:
            break
        made = make(resolve(spec, held.mhz), ())
    return made, replace(held, mhz=run_of(made).protocol.clock_mhz)
