"""Ordinary instructions, barriers and fences: what keeps the warps of a CTA busy with themselves."""

from __future__ import annotations

from gpusim import effects as fx
from gpusim.devices.cta import BARRIER, DISPATCH, MEMBAR, SELECTED, WAIT, Cta, Executor, Handler

#: share of a sub-core's issue slots that the other CTAs of the SM can take from one
MOST_TAKEN = 0.9


def issue(x: Executor, cta: Cta, e: fx.Issue, site: int, j: int) -> None:
    instructions(x, cta, e.count, e.slots, e.wide, e.chain)


def instructions(x: Executor, cta: Cta, count: float, slots: float = 1.0, wide: float = 0.0, chain: float = fx.CHAIN) -> None:
    """A warp issues `count` instructions: dependent ones wait for each other, the warps of a sub-core take turns, and the
    other resident CTAs take their usual share of its slots (turns are so short that slots are shared, not queued for)."""
    m, sm = x.machine, cta.sm
    x.instructions += count * x.warps
    work = count * x.per_subcore * slots
    others = sm.issue.busy / (cta.t + 1.0) * (1.0 - 1.0 / sm.resident)
    sm.issue.busy += work
    alone = max(work, count * (1.0 + chain * (m.alu_latency - 1.0)))
    end = cta.t + max(alone, work / (1.0 - min(others, MOST_TAKEN)))
    selected = min(count, end - cta.t)
    cta.life[SELECTED] += selected
    cta.life[WAIT] += end - cta.t - selected
    cta.t = end
    if wide and m.wgmma and sm.tensor.free > end:
        sm.tensor.free += wide * x.per_subcore * m.wgmma.wide_multiply_steal
        cta.spend(DISPATCH, end + wide * m.wgmma.wide_multiply)


def barrier(x: Executor, cta: Cta, e: fx.Barrier, site: int, j: int) -> None:
    cta.spend(BARRIER, cta.t + x.barrier_cycles)


def fence(x: Executor, cta: Cta, e: fx.Fence, site: int, j: int) -> None:
    cta.spend(MEMBAR, cta.t + x.machine.fence)


HANDLERS: dict[type, Handler] = {fx.Issue: issue, fx.Barrier: barrier, fx.Fence: fence}
