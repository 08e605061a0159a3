"""Ordinary instructions, barriers and fences: what keeps the warps of a CTA busy with themselves."""

from __future__ import annotations

from collections.abc import Callable

from gpusim import effects as fx
from gpusim.devices.cta import BARRIER, DISPATCH, MEMBAR, SELECTED, WAIT, Act, Cta, Executor, Handler

#: share of a sub-core's issue slots that the other CTAs of the SM can take from one
MOST_TAKEN = 0.9


def issue(x: Executor, e: fx.Issue, site: int) -> Act:
    return _each_step(paced(x, e.count, e.slots, e.wide, e.chain))


def _each_step(act: Callable[[Cta], None]) -> Act:
    return lambda cta, j: act(cta)


def paced(x: Executor, count: float, slots: float = 1.0, wide: float = 0.0, chain: float = fx.CHAIN) -> Callable[[Cta], None]:
    """A warp issues `count` instructions: dependent ones wait for each other, the warps of a sub-core take turns, and the
    other resident CTAs take their usual share of its slots (turns are so short that slots are shared, not queued for)."""
    m, all_warps = x.machine, count * x.warps
    work = count * x.per_subcore * slots
    alone = max(work, count * (1.0 + chain * (m.alu_latency - 1.0)))
    held, stolen = (wide * m.wgmma.wide_multiply, wide * x.per_subcore * m.wgmma.wide_multiply_steal) if m.wgmma else (0.0, 0.0)

    def act(cta: Cta) -> None:
        sm, life = cta.sm, cta.life
        x.instructions += all_warps
        spent = alone
        if sm.resident > 1:
            others = sm.issue.busy / (cta.t + 1.0) * (1.0 - 1.0 / sm.resident)
            spent = max(alone, work / (1.0 - min(others, MOST_TAKEN)))
        sm.issue.busy += work
        selected = min(count, spent)
        life[SELECTED] += selected
        life[WAIT] += spent - selected
        cta.t = end = cta.t + spent
        if held and sm.tensor.free > end:
            sm.tensor.free += stolen
            cta.spend(DISPATCH, end + held)

    return act


def barrier(x: Executor, e: fx.Barrier, site: int) -> Act:
    cycles = x.barrier_cycles

    def act(cta: Cta, j: int) -> None:
        cta.life[BARRIER] += cycles
        cta.t += cycles

    return act


def fence(x: Executor, e: fx.Fence, site: int) -> Act:
    return lambda cta, j: cta.spend(MEMBAR, cta.t + x.machine.fence)


HANDLERS: dict[type, Handler] = {fx.Issue: issue, fx.Barrier: barrier, fx.Fence: fence}
