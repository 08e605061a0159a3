"""Cores that walk the steps of their grids, with copies running ahead, on one memory.

The loop is the one that Pallas emits. At the beginning of a step a core asks for the input blocks of a later step (with two buffers: of the next
one), as the buffer of the step before is free now; it waits for its own input blocks, computes, and hands over its output block, for which it must
wait until the copy out before the last one has ended. The memory is one server for all cores: who asks first is served first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpusim.engine.server import Server

#: buffers of an output block
OUT_BUFFERS = 2


class Step(NamedTuple):
    """One step. read, written: bytes to copy in before it and out behind it; work: cycles of computing; overhead: of the grid itself."""

    read: float
    written: float
    work: float
    overhead: float


@dataclass(slots=True)
class Core:
    """steps: of this core, in order. buffers: of an input block. time: where the core is; leaving: bytes that wait to be copied out. keep: whether
    `spans` gets (reason, step, begin, end) of all copies and of the work between them."""

    number: int
    steps: Sequence[Step]
    buffers: int
    memory: Server
    latency: float
    time: float = 0.0
    at: int = 0
    asked: int = 0
    waited_in: float = 0.0
    waited_out: float = 0.0
    arrivals: deque[float] = field(default_factory=deque)
    outs: deque[float] = field(default_factory=deque)
    spans: list[tuple[str, int, float, float]] = field(default_factory=list)
    keep: bool = False
    leaving: float = 0.0

    @property
    def over(self) -> bool:
        return not self.leaving and self.at >= len(self.steps)

    def advance(self) -> None:
        """One step, or what follows it: the handing over of its output. They are apart so that all cores ask the memory in order of time."""
        if self.leaving:
            self._hand_over()
            return
        steps, at = self.steps, self.at
        self._ask(min(at + max(1, self.buffers - 1), len(steps) - 1) if self.buffers > 1 else at)
        ready = self.arrivals.popleft()
        start = self.time
        if ready > start:
            self.waited_in += ready - start
            start = ready
        step = steps[at]
        self.time = start + step.work + step.overhead
        if self.keep:
            self.spans.append(("compute", at, start, self.time))
        self.leaving = step.written
        self.at = at + 1

    def _ask(self, last: int) -> None:
        """Request the input blocks of all steps up to `last`."""
        while self.asked <= last:
            size = self.steps[self.asked].read
            ready = self.memory.book(self.time, size) + self.latency if size else 0.0
            self.arrivals.append(ready)
            if self.keep and size:
                self.spans.append(("copy_in", self.asked, self.time, ready))
            self.asked += 1

    def _hand_over(self) -> None:
        """Wait until a buffer is free; then the copy out is asked for."""
        if len(self.outs) == OUT_BUFFERS:
            if (free := self.outs[0]) > self.time:
                self.waited_out += free - self.time
                self.time = free
                return
            self.outs.popleft()
        done = self.memory.book(self.time, self.leaving) + self.latency
        self.outs.append(done)
        self.leaving = 0.0
        if self.keep:
            self.spans.append(("copy_out", self.at - 1, self.time, done))

    def finish(self) -> None:
        """Wait until the last output block has been written."""
        last = max(self.outs, default=self.time)
        if last > self.time:
            self.waited_out += last - self.time
            self.time = last


def run(cores: Sequence[Core]) -> float:
    """Let all cores walk their steps, the one that is behind first, so that the memory is asked in order of time. The end of the last one."""
    for core in _in_turn(cores):
        core.advance()
        if core.over:
            core.finish()
    return max((core.time for core in cores), default=0.0)


def _in_turn(cores: Sequence[Core]) -> Iterator[Core]:
    active = [core for core in cores if not core.over]
    while active:
        core = active[0] if len(active) == 1 else min(active, key=lambda c: c.time)
        yield core
        if core.over:
            active.remove(core)
