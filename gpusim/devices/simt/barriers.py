"""Barriers of a CTA, of a cluster and of the grid: who waits there, and when they go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.devices.simt.asynchronous import Mbarrier
from gpusim.devices.simt.costs import BARRIER, GRID, Issue
from gpusim.devices.simt.result import REASONS
from gpusim.devices.simt.subcore import SubCore, Warp
from gpusim.spec.resolve import Machine

if TYPE_CHECKING:
    from gpusim.devices.simt.sm import Sm

_BARRIER = REASONS.index("barrier")


class Cta:
    """A CTA in its slot. waiting: warps at a barrier; phases: its mbarriers by their place in shared memory."""

    __slots__ = ("number", "start", "alive", "waiting", "arrived", "end", "gone", "phases")

    def __init__(self, number: int, start: float, warps: int) -> None:
        self.number, self.start, self.alive = number, start, warps
        self.waiting: list[tuple[Warp, SubCore, float]] = []
        self.arrived = 0.0
        self.end = self.gone = start
        self.phases: dict[int, Mbarrier] = {}


class Barriers:
    """The SM takes one arrival after the other, of all its CTAs. base: from the last arrival of a CTA until its warps go on."""

    def __init__(self, sm: Sm, machine: Machine) -> None:
        simt = machine.simt
        self.sm = sm
        self.fence = sum(simt.gap.get(op, 1.0) for op in ("MEMBAR", "ERRBAR")) + machine.l2_latency
        self.base, self.step, self.free = simt.barrier, machine.barrier_per_warp, 0.0
        self.gathered: list[Cta] = []

    def arrive(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta) -> None:
        self.free = cta.arrived = max(self.free, t) + self.step
        for d in ins[5]:
            warp.regs[d] = t
        cta.waiting.append((warp, core, t))
        core.parked += 1
        if len(cta.waiting) == cta.alive:
            self.meet(cta)

    def meet(self, cta: Cta) -> None:
        """All warps of the CTA are at a barrier. At one of the grid it waits for the other CTAs; those of other SMs do as these do."""
        first = cta.waiting[0][0].ins
        if first[0] != GRID:
            self._release(cta, cta.arrived + (self.base if first[0] == BARRIER else self.sm.asynchronous.barrier(first[12].bits)))
            return
        self.gathered.append(cta)
        if len(self.gathered) == self.sm.running:
            together, self.gathered = self.gathered, []
            last = max(c.arrived for c in together)
            now = last + self.base + 2 * self.fence + self.sm.memory.grid_barrier(len(together))
            for one in together:
                self._release(one, now)

    def _release(self, cta: Cta, now: float) -> None:
        waiting, cta.waiting = cta.waiting, []
        for warp, core, since in waiting:
            self.resume(warp, core, since, now, _BARRIER)

    def resume(self, warp: Warp, core: SubCore, since: float, now: float, why: int) -> None:
        """A warp that waited since `since` goes on."""
        self.sm.woken = True
        core.parked -= 1
        core.advance(warp, since, now - since, why)
        if warp.ready < core.time:
            core.time = warp.ready
