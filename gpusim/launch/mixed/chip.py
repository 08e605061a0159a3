"""All CTAs of a launch on all SMs: each goes through its steps at the pace that its SM has with so many CTAs in their loops.

A CTA is a start (nothing of the SM's pipes), its steps, and an end. The pace comes from one SM in detail; when the number of CTAs in their loops on an
SM changes, the steps that are left go on at another pace. A freed slot takes the next CTA.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

#: steps nearer than this to their end are done
DONE = 1e-7


@dataclass(frozen=True, slots=True)
class Pace:
    """Cycles of a CTA outside its loop, `start` and `end`; `step`: of its SM for one step of any CTA, by CTAs in their loops (index 0 unused).
    `change`: from the end of a CTA to the start of its successor."""

    start: float
    end: float
    step: tuple[float, ...]
    change: float


@dataclass(frozen=True, slots=True)
class Scheduled:
    """end: of the last CTA. starts, loops, ends: CTA-cycles in those parts; loops by CTAs of the SM in their loops. lives: (CTA, SM, begun, ended)."""

    end: float
    starts: float
    loops: tuple[float, ...]
    ends: float
    lives: tuple[tuple[int, int, float, float], ...]


@dataclass(slots=True)
class _Cta:
    number: int
    begun: float
    until: float
    left: float
    part: int = 0


@dataclass(slots=True)
class _Sm:
    ctas: list[_Cta] = field(default_factory=list)
    last: float = 0.0
    version: int = 0


def schedule(trips: Sequence[int], dealt: Sequence[int], sms: int, pace: Pace) -> Scheduled:
    """trips: steps of each CTA, in the order in which they are dealt. dealt: SM of each of the first CTAs; the others follow into freed slots."""
    return _Chip(trips, dealt, sms, pace).run()


class _Chip:
    def __init__(self, trips: Sequence[int], dealt: Sequence[int], sms: int, pace: Pace) -> None:
        self.trips, self.pace = trips, pace
        self.sms = [_Sm() for _ in range(sms)]
        self.events: list[tuple[float, int, int]] = []
        self.next = 0
        self.loops = [0.0] * len(pace.step)
        self.lives: list[tuple[int, int, float, float]] = []
        for number in dealt[: len(trips)]:
            self._begin(number, 0.0)
        for i, sm in enumerate(self.sms):
            self._announce(i, sm)

    def run(self) -> Scheduled:
        end = 0.0
        while self.events:
            now, i, version = heapq.heappop(self.events)
            sm = self.sms[i]
            if version == sm.version:
                end = max(end, now)
                self._pass(sm, now)
                self._change(i, sm, now)
                self._announce(i, sm)
        n = len(self.trips)
        return Scheduled(end, n * self.pace.start, tuple(self.loops), n * self.pace.end, tuple(self.lives))

    def _begin(self, sm: int, now: float) -> None:
        if self.next < len(self.trips):
            self.sms[sm].ctas.append(_Cta(self.next, now, now + self.pace.start, float(self.trips[self.next])))
            self.next += 1

    def _in_loop(self, sm: _Sm) -> int:
        return sum(c.part == 1 for c in sm.ctas)

    def _crowd(self, sm: _Sm) -> int:
        return sum(c.part >= 1 for c in sm.ctas)

    def _announce(self, i: int, sm: _Sm) -> None:
        """The next time at which something changes on this SM."""
        sm.version += 1
        if sm.ctas:
            r = self._crowd(sm)
            first = min(sm.last + c.left * r * self.pace.step[r] if c.part == 1 else c.until for c in sm.ctas)
            heapq.heappush(self.events, (first, i, sm.version))

    def _pass(self, sm: _Sm, now: float) -> None:
        r = self._crowd(sm)
        looping = self._in_loop(sm)
        if looping:
            steps = (now - sm.last) / (r * self.pace.step[r])
            self.loops[r] += (now - sm.last) * looping
            for c in sm.ctas:
                if c.part == 1:
                    c.left -= steps
        sm.last = now

    def _change(self, i: int, sm: _Sm, now: float) -> None:
        for c in list(sm.ctas):
            if c.part == 0 and c.until <= now:
                c.part = 1
            if c.part == 1 and c.left <= DONE:
                c.part, c.until = 2, now + self.pace.end
            elif c.part == 2 and c.until <= now:
                sm.ctas.remove(c)
                self.lives.append((c.number, i, c.begun, now))
                self._begin(i, now + self.pace.change)
