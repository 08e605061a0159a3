"""CTAs of one SM in their loops, side by side: how long a step takes, and where the time goes.

Warpgroups share pipes as fluids: work that asks for more of a pipe than there is slows down all that use it, and products take turns so quickly, an
instruction of each, that a warpgroup's share of the tensor core is that of its instruction's length (in turn, not first come first served; KER 2.3).
Time jumps from event to event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.devices.cta import DISPATCH, GMMA, LG, LONG, MATH, REASONS, SELECTED, WAIT
from gpusim.devices.mixed.phases import RESOURCES, Busy, Fetch, Meet, Multiply, Pause, Phase, Room, WaitLanded, WaitLoaded, WaitMultiply
from gpusim.engine.noise import noise
from gpusim.spec.resolve import Machine

#: an instant, in cycles: what is nearer than this happens together
SAME = 1e-6
#: bytes that an SM may receive ahead of its share of L2's bandwidth: bursts of SMs do not coincide, only their mean is bounded
BURST = 65536.0
FOREVER = float("inf")
#: the tensor core keeps at least this share of its speed beside dense FMA work (decide.json overlap: slowed 3.76 times by two warps)
LEAST = 0.27
SLEEPING, WORKING, DRAINING, QUEUEING, MEETING, ENDED = range(6)


@dataclass(frozen=True, slots=True)
class Steady:
    """cycles: between the ends of steps of the SM, that is of any of its CTAs. spans: share of a warpgroup's life by reason, in the order of REASONS."""

    cycles: float
    spans: tuple[float, ...]


class Agent:
    """One warpgroup: the phase it is in, and what it has under way."""

    __slots__ = ("cta", "at", "step", "state", "since", "reason", "wake", "left", "slow", "queue", "tensor", "done", "landing", "loaded", "marks", "life")

    def __init__(self, cta: int, wake: float) -> None:
        self.cta, self.at, self.step, self.state = cta, 0, 0, SLEEPING
        self.since, self.reason, self.wake = 0.0, LONG, wake
        self.left = self.slow = self.tensor = self.done = self.loaded = 0.0
        self.queue: list[Multiply] = []
        self.landing: list[float] = []
        self.marks: list[float] = []
        self.life = [0.0] * len(REASONS)


#: runs from different starts that are averaged: CTAs whose steps are equally long may stay in or out of step for long
RUNS = 4
#: cycles within which CTAs begin their loops
APART = 3000.0


#: agents with products under way, each with its share of the tensor core
Turns = list[tuple[Agent, float]]


def steady(body: Sequence[Phase], machine: Machine, ctas: int, groups: int, steps: int, missing: float) -> Steady:
    """`ctas` CTAs of `groups` warpgroups go through `body` `steps` times. missing: share of the requests that wait for DRAM."""
    runs = 1 if ctas == 1 else RUNS
    found = [_Sm(body, machine, ctas, groups, steps, missing, k).run() for k in range(runs)]
    spans = [sum(column) / runs for column in zip(*(f.spans for f in found), strict=True)]
    return Steady(sum(f.cycles for f in found) / runs, tuple(spans))


class _Sm:
    def __init__(self, body: Sequence[Phase], machine: Machine, ctas: int, groups: int, steps: int, missing: float, start: int) -> None:
        self.body, self.machine, self.groups, self.steps, self.missing = body, machine, groups, steps, missing
        self.now = self.fill = self.share = 0.0
        self.fills: list[tuple[float, float]] = []
        self.agents = [Agent(i // groups, APART * noise(start << 10 | i // groups)) for i in range(ctas * groups)]
        self.ctas = ctas
        self.rate = machine.l2_read_rate / machine.sms
        self.window = steps // 4

    def run(self) -> Steady:
        while any(a.state != ENDED for a in self.agents):
            multiplying = self._turns()
            beside = sum(a.queue[0].share * turn for a, turn in multiplying)
            working = self._speeds(beside)
            pace = self._pace(multiplying, working)
            self._advance(self._until(working, multiplying, pace), working, multiplying, pace, beside)
        first, last = self.window, self.steps - 1
        mean = sum((a.marks[last] - a.marks[first]) / (last - first) for a in self.agents) / len(self.agents)
        spans = [sum(column) for column in zip(*(a.life for a in self.agents), strict=True)]
        whole = sum(spans)
        return Steady(mean / self.ctas, tuple(s / whole for s in spans))

    # rates

    def _turns(self) -> Turns:
        """Agents with products under way, and the share of the tensor core that each has."""
        found = [a for a in self.agents if a.queue]
        whole = sum(a.queue[0].each for a in found)
        return [(a, a.queue[0].each / whole) for a in found]

    def _speeds(self, beside: float) -> list[tuple[Agent, float]]:
        """Agents with vector work, and the share of it that each does in a cycle."""
        asked: list[tuple[Agent, float, tuple[float, ...]]] = []
        load = [0.0] * len(RESOURCES)
        for a in self.agents:
            if a.state != WORKING:
                continue
            work = self._work(a)
            needs = work.alone if not beside else tuple(x + (y - x) * beside for x, y in zip(work.alone, work.beside, strict=True))
            length = max(needs) + work.latency
            for i, need in enumerate(needs):
                load[i] += need / length
            asked.append((a, length, needs))
        found = []
        for a, length, needs in asked:
            crowd = max([1.0, *(share for share, need in zip(load, needs, strict=True) if need)])
            found.append((a, 1.0 / (length * crowd * a.slow)))
        return found

    def _pace(self, multiplying: Turns, working: list[tuple[Agent, float]]) -> float:
        """How fast the tensor core works: it shares the register file with dense FMA work, and the ports of shared memory with data that arrive."""
        while self.fills and self.fills[0][1] <= self.now + SAME:
            self.fills.pop(0)
        if not multiplying:
            return 1.0
        pace = max(LEAST, 1.0 - sum(speed * self._work(a).stolen for a, speed in working))
        if not self.fills or self.fills[0][0] > self.now + SAME:
            return pace
        ports = sum(a.queue[0].shared * turn for a, turn in multiplying)
        return pace / max(1.0, ports + self.machine.fill_rate / self.machine.shared_rate)

    def _work(self, a: Agent) -> Busy:
        work = self.body[a.at]
        assert isinstance(work, Busy)
        return work

    # time

    def _until(self, working: list[tuple[Agent, float]], multiplying: Turns, pace: float) -> float:
        """Cycles until something changes."""
        ends = [a.left / speed for a, speed in working]
        ends += [a.tensor / turn / pace for a, turn in multiplying]
        ends += [a.wake - self.now for a in self.agents if a.state == SLEEPING]
        if self.fills:
            ends.append(self.fills[0][0] - self.now if self.fills[0][0] > self.now + SAME else self.fills[0][1] - self.now)
        if any(a.state == QUEUEING for a in self.agents):
            ends.append(self._room_in(multiplying, pace))
        return max(0.0, min(ends, default=0.0))

    def _outstanding(self) -> float:
        return sum(a.tensor / a.queue[0].each + sum(m.instructions for m in a.queue[1:]) for a in self.agents if a.queue)

    def _room_in(self, multiplying: Turns, pace: float) -> float:
        """Cycles until the next instruction leaves the queue."""
        speed = sum(turn / a.queue[0].each for a, turn in multiplying) * pace
        return min(1.0 / speed, FOREVER) if speed else 0.0

    def _advance(self, dt: float, working: list[tuple[Agent, float]], multiplying: Turns, pace: float, beside: float) -> None:
        self.now += dt
        for a, speed in working:
            a.left -= speed * dt
            work = self._work(a)
            issued = min(work.count * speed * dt, dt)
            hindered = beside * (dt - issued)
            self._charge(a, SELECTED, issued)
            self._charge(a, DISPATCH, hindered)
            self._charge(a, WAIT, dt - issued - hindered)
        for a, turn in multiplying:
            a.tensor -= dt * pace * turn
            if a.tensor < SAME:
                a.queue.pop(0)
                a.tensor, a.done = a.queue[0].cycles if a.queue else 0.0, self.now
        for a in self.agents:
            self._wake(a)

    def _wake(self, a: Agent) -> None:
        if a.state == WORKING and a.left < SAME:
            a.at += 1
            self._enter(a)
        elif a.state == SLEEPING and a.wake <= self.now + SAME:
            self._charge(a, a.reason, self.now - a.since)
            self._enter(a)
        elif a.state == DRAINING and not a.queue:
            self._drained(a)
        elif a.state == QUEUEING and self._has_room(a):
            self._charge(a, MATH, self.now - a.since)
            a.at += 1
            self._enter(a)

    def _charge(self, a: Agent, reason: int, cycles: float) -> None:
        if self.window <= a.step < self.steps:
            a.life[reason] += cycles

    # phases

    def _enter(self, a: Agent) -> None:
        """Go on from phase to phase until one takes time."""
        while True:
            if a.at == len(self.body):
                a.at, a.step = 0, a.step + 1
                a.marks.append(self.now)
                if a.step >= self.steps:
                    a.state = ENDED
                    return
            if _BEGIN[type(self.body[a.at])](self, a, self.body[a.at]):
                return

    def _sleep(self, a: Agent, wake: float, reason: int) -> bool:
        """The agent's next phase begins at `wake`; whether that is later than now."""
        a.at += 1
        if wake <= self.now + SAME:
            return False
        a.state, a.since, a.wake, a.reason = SLEEPING, self.now, wake, reason
        return True

    def _busy(self, a: Agent, p: Busy) -> bool:
        uneven = self.machine.copy_jitter * (2.0 * noise(a.cta << 20 | a.step << 6 | a.at) - 1.0)
        a.state, a.left, a.slow = WORKING, 1.0, 1.0 + uneven
        return True

    def _multiply(self, a: Agent, p: Multiply) -> bool:
        a.tensor = a.tensor if a.queue else p.cycles
        a.queue.append(p)
        a.at += 1
        return False

    def _wait_multiply(self, a: Agent, p: WaitMultiply) -> bool:
        a.since = self.now
        if a.queue:
            a.state = DRAINING
            return True
        return self._drained(a)

    def _drained(self, a: Agent) -> bool:
        """The products have left the tensor core; their results come `drain` later."""
        p = self.body[a.at]
        assert isinstance(p, WaitMultiply)
        since = a.since
        if not self._sleep(a, a.done + p.drain, GMMA):
            if a.state == DRAINING:
                self._charge(a, GMMA, self.now - since)
                self._enter(a)
            return False
        a.since = since
        return True

    def _has_room(self, a: Agent) -> bool:
        p = self.body[a.at]
        assert isinstance(p, Room)
        return self._outstanding() <= p.most + SAME

    def _room(self, a: Agent, p: Room) -> bool:
        if self._has_room(a):
            a.at += 1
            return False
        a.state, a.since = QUEUEING, self.now
        return True

    def _meet(self, a: Agent, p: Meet) -> bool:
        a.state, a.since = MEETING, self.now
        here = [x for x in self.agents if x.cta == a.cta and x.state == MEETING and x.at == a.at and x.step == a.step]
        if len(here) == self.groups:
            for x in here:
                since = x.since
                self._sleep(x, self.now + p.cycles, BARRIER_REASON)
                x.since = since
        return True

    def _pause(self, a: Agent, p: Pause) -> bool:
        return self._sleep(a, self.now + p.cycles, p.reason)

    def _fetch(self, a: Agent, p: Fetch) -> bool:
        """The burst comes at the SM's rate, within its share of L2's."""
        m = self.machine
        self.share = max(self.now - BURST / self.rate, self.share) + p.bytes / self.rate
        self.fill = max(self.now, self.fill) + p.bytes / m.fill_rate
        self.fill = max(self.fill, self.share)
        landed = self.fill + p.latency + self.missing * (m.dram_latency + m.dram_spread)
        if p.group:
            a.landing.append(landed)
            self.fills.append((landed - p.bytes / m.fill_rate, landed))
            return self._sleep(a, self.now + p.issue, LG)
        a.loaded = max(a.loaded, landed)
        return self._sleep(a, self.now + p.issue, LG)

    def _wait_landed(self, a: Agent, p: WaitLanded) -> bool:
        late = a.landing[: max(0, len(a.landing) - p.pending)]
        del a.landing[: len(late)]
        return self._sleep(a, max(late, default=0.0), LONG)

    def _wait_loaded(self, a: Agent, p: WaitLoaded) -> bool:
        return self._sleep(a, a.loaded, LONG)


BARRIER_REASON = REASONS.index("barrier")

_BEGIN: dict[type, Callable[[_Sm, Agent, Any], bool]] = {
    Busy: _Sm._busy, Multiply: _Sm._multiply, WaitMultiply: _Sm._wait_multiply, Room: _Sm._room, Meet: _Sm._meet, Pause: _Sm._pause,
    Fetch: _Sm._fetch, WaitLanded: _Sm._wait_landed, WaitLoaded: _Sm._wait_loaded,
}  # fmt: skip
