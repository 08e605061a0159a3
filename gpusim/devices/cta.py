"""One CTA in time: it goes through its stream, and what each effect does moves its clock and books what it shares.

A CTA runs ahead of the simulation clock as long as it touches nothing shared; before it touches something shared (the memory
system, a tensor core that other CTAs use) it waits until the simulation has come as far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from typing import Any

from gpusim import effects as fx
from gpusim.devices.memory import Memory
from gpusim.devices.stream import Placed, Stream
from gpusim.engine.clock import Clock
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


class Cta:
    """What one CTA remembers: its clock `t`, its tiles, copies and matrix groups not yet waited for, its spans, and the
    sectors it asked for that were merged (`merging`: of them, those in the steady window); `age`: loop steps that its slot has run before it."""

    __slots__ = ("number", "sm", "t", "placed", "landing", "loaded", "groups", "matrix", "life", "begun", "marks", "window", "merged", "merging", "age")

    def __init__(self, number: int, sm: Sm, t: float, placed: list[Placed], age: float = 0.0) -> None:
        self.number, self.sm, self.t, self.placed, self.age = number, sm, t, placed, age
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


#: what an effect does to a CTA at the j-th loop step that is run
Act = Callable[[Cta, int], None]
#: (executor, effect, site number) -> what it does: all that no CTA changes is worked out once
Handler = Callable[["Executor", Any, int], Act]


class Executor:
    """Runs the CTAs of one stream on one machine."""

    def __init__(self, clock: Clock, machine: Machine, memory: Memory, made: Stream, handlers: Mapping[type, Handler]) -> None:
        self.clock, self.machine, self.memory, self.stream = clock, machine, memory, made
        self.warps = made.warps
        self.stretch = made.trips / max(1, len(made.steps))
        self.jitter = min(1.0, machine.copy_jitter * self.stretch**0.5)
        self.per_subcore = max(1.0, self.warps / machine.subcores)
        self.barrier_cycles = machine.barrier_base + machine.barrier_per_warp * self.warps
        self.instructions = self.tensor_fma = self.wavefronts = self.load_sectors = self.store_sectors = self.local_bytes = 0.0
        #: for each SM: begin, end, begin, ... of what its tensor cores were booked for
        self.tensor_times: list[list[float]] = [[] for _ in range(machine.sms)]
        self.prologue = self._ordered(made.prologue, handlers)
        self.body = self._ordered(made.body, handlers)
        self.epilogue = self._ordered(made.epilogue, handlers)

    def _ordered(self, effects: tuple[tuple[Any, int], ...], handlers: Mapping[type, Handler]) -> list[tuple[bool, Act]]:
        """(wait for the simulation first?, what to do): what is shared is touched in the order of time."""
        out: list[tuple[bool, Act]] = []
        before = None
        for effect, site in effects:
            shared = isinstance(effect, fx.Matrix | fx.Load | fx.Store | fx.Local | fx.Shared)
            first_copy = isinstance(effect, fx.Copy) and not isinstance(before, fx.Copy)
            out.append((shared or first_copy, handlers[type(effect)](self, effect, site)))
            before = effect
        return out

    def run(self, cta: Cta) -> Generator[float, None, None]:
        """The life of `cta`, as an agent of the clock."""
        yield from self.once(cta, self.prologue)
        yield from self.loop(cta)
        yield from self.once(cta, self.epilogue)
        if cta.t > self.clock.now:
            yield cta.t

    def loop(self, cta: Cta) -> Generator[float, None, None]:
        """The loop steps of `cta`."""
        clock, body = self.clock, self.body
        opens, closes = self.stream.window
        for j in range(len(self.stream.steps)):
            cta.marks.append(cta.t)
            if j == opens:
                cta.window, cta.merging = [-spent for spent in cta.life], -cta.merged
            elif j == closes:
                cta.window, cta.merging = [spent + before for spent, before in zip(cta.life, cta.window, strict=True)], cta.merging + cta.merged
            for sync, act in body:
                if sync and cta.t > clock.now:
                    yield cta.t
                act(cta, j)
        cta.marks.append(cta.t)

    def once(self, cta: Cta, acts: list[tuple[bool, Act]]) -> Generator[float, None, None]:
        """What stands before or behind the loop."""
        for sync, act in acts:
            if sync and cta.t > self.clock.now:
                yield cta.t
            act(cta, 0)
