"""One sub-core: its warps and the scheduler that issues one warp instruction a cycle, in order per warp.

Warps of the CTA that came first go first, warps of one CTA in turn. Evidence (second H200, tests/hardware/data/scheduler.md): of eight equal CTAs
with two warps on each sub-core the first two end after 21k cycles, the others after 32k, 42k, 48k, 58k, 66k and 72k.

The loop is written for speed: plain lists and tuples, no object per instruction. A sub-core runs ahead of the others until it
wants something that the SM shares (memory, barriers); such things happen in the order of time.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from gpusim.devices.simt.costs import PIPES, READING, WAIT, Issue
from gpusim.devices.simt.result import REASONS

if TYPE_CHECKING:
    from gpusim.devices.simt.sm import Sm
    from gpusim.devices.simt.spin import Spin
    from gpusim.trace.simt import WarpPath

INF = float("inf")
NOT_SELECTED = REASONS.index("not_selected")
ALU = PIPES.index("alu")


class Warp:
    """A warp's place in its path, and when its registers are ready. `last`: the cycle behind its latest issue. rank: number of its CTA on the SM.
    drained: when its stores have left; copies: when its asynchronous copies have landed; groups: the same for each committed group;
    products, product_groups: the same for matrix instructions of its warpgroup; spin: its atomics that are loops."""

    __slots__ = (
        "age", "cta", "number", "path", "block", "code", "at", "pc", "ins", "ready", "why", "last", "regs", "drained", "subcore", "copies", "groups",
        "products", "product_groups", "spin", "born", "rank",
    )  # fmt: skip

    ins: Issue
    subcore: int
    spin: Spin

    def __init__(self, age: int, rank: int, cta: int, number: int, path: WarpPath, registers: int, start: float) -> None:
        self.rank = rank
        self.age, self.cta, self.number, self.path = age, cta, number, path
        self.at, self.pc = -1, 0
        self.code: tuple[Issue, ...] = ()
        self.ready = self.last = self.drained = start
        self.why = WAIT
        self.regs = [start] * registers
        self.copies = self.products = self.born = start
        self.groups: list[float] = []
        self.product_groups: list[float] = []

    def __lt__(self, other: Warp) -> bool:
        return self.age < other.age


class SubCore:
    """`free[p]`: when pipe p takes the next instruction. `asleep`: warps by the time they may issue; `queues[p]`: those that may
    issue to pipe p, the one of the oldest CTA that issued longest ago first. `current`: the warp that goes on because its operands are at hand."""

    __slots__ = ("sm", "time", "free", "asleep", "queues", "used", "nearest", "current", "previous", "previous_end", "busy", "parked")

    def __init__(self, sm: Sm) -> None:
        self.sm = sm
        self.time = INF
        self.free = [0.0] * len(PIPES)
        self.busy = [0.0] * len(PIPES)
        self.asleep: list[tuple[float, float, int, Warp]] = []
        self.queues: list[list[tuple[int, float, int, Warp]]] = [[] for _ in PIPES]
        self.used: list[int] = []
        self.nearest = INF
        self.current: Warp | None = None
        self.previous: Warp | None = None
        self.previous_end = -1.0
        self.parked = 0

    def add(self, warp: Warp, ready: float) -> None:
        """`warp` may issue from `ready` on."""
        heappush(self.asleep, (ready, warp.last, warp.age, warp))
        if ready < self.time:
            self.time = ready

    def run(self, limit: float) -> None:
        """Issue up to `limit`, the time of the sub-core that is next; beyond it, what concerns this sub-core alone."""
        asleep = self.asleep
        sm = self.sm
        sm.woken = False
        horizon = sm.horizon(self, limit)
        parked = self.parked
        t = self.time
        while True:
            while asleep and asleep[0][0] <= t:
                self._wake(heappop(asleep)[3])
            goes_on = self.current
            chosen = self._choose(t)
            if chosen is None:
                later = asleep[0][0] if asleep else INF
                t = later if later < self.nearest else self.nearest
                if t > horizon or t == INF:
                    break
                continue
            if chosen.ins[0] > 0 and t > limit:
                if goes_on is chosen:
                    self.current = chosen
                else:
                    self._wake(chosen)
                break
            t = self._issue(chosen, t)
            if sm.woken:
                break
            if self.parked != parked:
                parked = self.parked
                horizon = sm.horizon(self, limit)
            if t > horizon:
                break
        self.time = t

    def _wake(self, warp: Warp) -> None:
        queue = self.queues[warp.ins[1]]
        if not queue and warp.ins[1] not in self.used:
            self.used.append(warp.ins[1])
        insort(queue, (warp.rank, warp.last, warp.age, warp))

    def _choose(self, t: float) -> Warp | None:
        """The warp that issues at t: `current`, else of those whose pipe is free the first in order. None: not before `nearest`."""
        free, queues = self.free, self.queues
        warp = self.current
        if warp is not None:
            self.current = None
            if free[warp.ins[1]] <= t or free[warp.ins[2]] <= t:
                return warp
            self._wake(warp)
        best: tuple[int, float, int, Warp] | None = None
        nearest = INF
        for pipe in self.used:
            queue = queues[pipe]
            if not queue:
                continue
            head = queue[0]
            ready = free[pipe]
            if ready > t and free[head[3].ins[2]] < ready:
                ready = free[head[3].ins[2]]
            if ready > t:
                if ready < nearest:
                    nearest = ready
            elif best is None or head < best:
                best = head
        self.nearest = nearest
        if best is None:
            return None
        del queues[best[3].ins[1]][0]
        return best[3]

    def _issue(self, warp: Warp, t: float) -> float:
        """Issue `warp` at t; returns when the sub-core may issue again."""
        sm = self.sm
        kind, pipe, other, hold, latency, dst, _, _, number, slots, slots_again, gap, _, why, _ = ins = warp.ins
        ready, last = warp.ready, warp.last
        here = sm.waited[number]
        if ready > last:
            here[warp.why] += ready - last
        else:
            ready = last
        if self.free[pipe] > t:
            pipe = other
        if t > ready:
            queued = self.free[pipe] - ready
            if queued > 0:
                beat = hold / 2 if other != ins[1] else hold
                throttled = queued * (beat - 1) / beat if beat > 1 else 0.0
                here[sm.throttle[pipe]] += throttled
                ready += throttled
            here[NOT_SELECTED] += t - ready
        self.free[pipe] = t + hold
        self.busy[pipe] += hold
        if slots > 1 and self.previous is warp and self.previous_end >= t:
            slots = slots_again
        end = t + slots
        self.previous, self.previous_end = warp, end
        warp.last = t + 1
        if kind > 0:
            parked = sm.shared(self, warp, ins, t)
        else:
            parked = False
            if kind == READING:
                self.free[ALU] = max(self.free[ALU], t) + slots_again
            done = t + latency
            regs = warp.regs
            for d in dst:
                regs[d] = done
        if not parked:
            self.advance(warp, t, gap, why)
        return end

    def advance(self, warp: Warp, t: float, gap: float, why: int) -> None:
        """Find the warp's next instruction and when it may issue: `gap` cycles behind t for the reason `why`, and when its registers are there."""
        pc = warp.pc + 1
        code = warp.code
        if pc >= len(code):
            gap, why = self.sm.enter(warp, t, gap, why)
            if gap < 0:
                return
            pc, code = warp.pc, warp.code
        warp.pc = pc
        ins = warp.ins = code[pc]
        ready = t + gap
        regs = warp.regs
        reasons = self.sm.why
        for r in ins[6]:
            if regs[r] > ready:
                ready = regs[r]
                why = reasons[r]
        if ins[7]:
            cross = self.sm.cross
            for r in ins[7]:
                if regs[r] + cross > ready:
                    ready = regs[r] + cross
                    why = reasons[r]
        warp.ready, warp.why = ready, why
        if ins[14] and ready <= t + 1:
            self.current = warp
        else:
            heappush(self.asleep, (ready, warp.last, warp.age, warp))
