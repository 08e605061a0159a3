"""One CTA in time: it goes through its stream, and a handler per effect moves its clock and books what it shares.

A CTA runs ahead of the simulation clock as long as it touches nothing shared; before it touches something shared (the memory
system, a tensor core that other CTAs use) it waits until the simulation has come as far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import Any

import simpy

from gpusim import effects as fx
from gpusim.devices.memory import Memory
from gpusim.devices.stream import Placed, Stream
from gpusim.engine.clock import until
from gpusim.parts.sm import Sm
from gpusim.spec.resolve import Machine

#: stall reasons with Nsight's names; the spans of a CTA tile its life
REASONS = (
    "selected",
    "wait",
    "barrier",
    "long_scoreboard",
    "short_scoreboard",
    "lg_throttle",
    "math_pipe_throttle",
    "gmma",
    "membar",
    "drain",
    "no_instruction",
    "dispatch_stall",
)
SELECTED, WAIT, BARRIER, LONG, SHORT, LG, MATH, GMMA, MEMBAR, DRAIN, NO_INSTRUCTION, DISPATCH = range(len(REASONS))


#: does one effect for a CTA: (executor, CTA, effect, site number, index of the loop step)
Handler = Callable[["Executor", "Cta", Any, int, int], None]


class Cta:
    """What one CTA remembers: its clock `t`, its tiles, copies and matrix groups not yet waited for, its spans, and the
    sectors it asked for that were merged (`merging`: of them, those in the steady window)."""

    __slots__ = ("number", "sm", "t", "placed", "landing", "loaded", "groups", "matrix", "life", "begun", "marks", "window", "merged", "merging")

    def __init__(self, number: int, sm: Sm, t: float, placed: list[Placed]) -> None:
        self.number, self.sm, self.t, self.placed = number, sm, t, placed
        self.begun = t
        self.landing = self.loaded = 0.0
        self.groups: deque[float] = deque()
        self.matrix: deque[float] = deque()
        self.life = [0.0] * len(REASONS)
        self.marks: list[float] = []
        self.window: list[float] = []
        self.merged = self.merging = 0.0

    def spend(self, reason: int, end: float) -> None:
        """The time until `end` (if that is later) went to `reason`."""
        if end > self.t:
            self.life[reason] += end - self.t
            self.t = end


class Executor:
    """Runs the CTAs of one stream on one machine."""

    def __init__(self, env: simpy.Environment, machine: Machine, memory: Memory, made: Stream, handlers: Mapping[type, Handler]) -> None:
        self.env, self.machine, self.memory, self.stream = env, machine, memory, made
        self.warps = made.warps
        self.jitter = min(1.0, machine.copy_jitter * (made.trips / len(made.steps)) ** 0.5)
        self.per_subcore = max(1.0, self.warps / machine.subcores)
        self.barrier_cycles = machine.barrier_base + machine.barrier_per_warp * self.warps
        self.instructions = self.tensor_fma = self.wavefronts = self.load_sectors = self.store_sectors = self.local_bytes = 0.0
        self.prologue = _ordered(made.prologue, handlers)
        self.body = _ordered(made.body, handlers)
        self.epilogue = _ordered(made.epilogue, handlers)

    def run(self, cta: Cta) -> Generator[Any, Any, None]:
        """The life of `cta`, as a simpy process body."""
        env = self.env
        for sync, handler, effect, site in self.prologue:
            if sync and cta.t > env.now:
                yield until(env, cta.t)
            handler(self, cta, effect, site, 0)
        opens, closes = self.stream.window
        for j in range(len(self.stream.steps)):
            cta.marks.append(cta.t)
            if j == opens:
                cta.window, cta.merging = [-spent for spent in cta.life], -cta.merged
            elif j == closes:
                cta.window, cta.merging = [spent + before for spent, before in zip(cta.life, cta.window, strict=True)], cta.merging + cta.merged
            for sync, handler, effect, site in self.body:
                if sync and cta.t > env.now:
                    yield until(env, cta.t)
                handler(self, cta, effect, site, j)
        cta.marks.append(cta.t)
        for sync, handler, effect, site in self.epilogue:
            if sync and cta.t > env.now:
                yield until(env, cta.t)
            handler(self, cta, effect, site, 0)
        if cta.t > env.now:
            yield until(env, cta.t)


def _ordered(effects: tuple[tuple[Any, int], ...], handlers: Mapping[type, Handler]) -> list[tuple[bool, Handler, Any, int]]:
    """(wait for the simulation first?, handler, effect, site): what is shared is touched in the order of time."""
    out: list[tuple[bool, Handler, Any, int]] = []
    before = None
    for effect, site in effects:
        shared = isinstance(effect, fx.Matrix | fx.Load | fx.Store | fx.Local | fx.Shared)
        first_copy = isinstance(effect, fx.Copy) and not isinstance(before, fx.Copy)
        out.append((shared or first_copy, handlers[type(effect)], effect, site))
        before = effect
    return out
