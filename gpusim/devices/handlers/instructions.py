"""Ordinary instructions, barriers and fences: what keeps the warps of a CTA busy with themselves."""

from __future__ import annotations

from collections.abc import Callable

from gpusim import effects as fx
from gpusim.devices.cta import BARRIER, DISPATCH, MEMBAR, SELECTED, WAIT, Act, Cta, Executor, Handler
from gpusim.spec.resolve import Machine

#: share of a sub-core's issue slots that the other CTAs of the SM can take from one
MOST_TAKEN = 0.9
#: how much longer dependent instructions take beside matrix instructions (decide.json overlap, chains of one warp: FFMA, FMNMX, EX2 1.18 to 1.26)
BESIDE_LATENCY = 1.2


def issue(x: Executor, e: fx.Issue, site: int) -> Act:
    return _each_step(paced(x, e.count, e.slots, e.wide, e.chain))


def _each_step(act: Callable[[Cta], None]) -> Act:
    return lambda cta, j: act(cta)


def paced(x: Executor, count: float, slots: float = 1.0, wide: float = 0.0, chain: float = fx.CHAIN) -> Callable[[Cta], None]:
    """A warp issues `count` instructions: dependent ones wait for each other, the warps of a sub-core take turns, and the
    other resident CTAs take their usual share of its slots (turns are so short that slots are shared, not queued for). While matrix instructions run, each
    takes `beside` cycles, if it does not take more anyway, and a dependent one BESIDE_LATENCY times as long: they share ports of the register file."""
    m, all_warps = x.machine, count * x.warps
    work = x.per_subcore * slots
    latency = 1.0 + chain * (m.alu_latency - 1.0)
    slow_work, slow_latency = (x.per_subcore * max(slots, beside(m)), latency * BESIDE_LATENCY) if m.wgmma else (work, latency)
    held, stolen = (wide * m.wgmma.wide_multiply, wide * x.per_subcore * m.wgmma.wide_multiply_steal) if m.wgmma else (0.0, 0.0)

    def act(cta: Cta) -> None:
        sm, life, t = cta.sm, cta.life, cta.t
        x.instructions += all_warps
        issue, left = sm.issue, 1.0
        if sm.resident > 1:
            left = 1.0 - min(MOST_TAKEN, issue.busy / (t + 1.0) * (1.0 - 1.0 / sm.resident))
        behind = sm.tensor.free - t
        each = work / left
        if latency > each:
            each = latency
        if behind > 0.0:
            slow = slow_work / left
            if slow_latency > slow:
                slow = slow_latency
            slowly = min(count, behind / slow)
        else:
            slow = slowly = 0.0
        spent = slowly * slow + (count - slowly) * each
        issue.busy += slowly * slow_work + (count - slowly) * work
        selected = min(count, spent)
        life[SELECTED] += selected
        life[WAIT] += spent - selected
        cta.t = end = t + spent
        if held and sm.tensor.free > end:
            sm.tensor.free += stolen
            cta.spend(DISPATCH, end + held)

    return act


def beside(m: Machine) -> float:
    """Cycles that an ordinary instruction of a tile kernel holds the dispatch of its sub-core while matrix instructions run: address arithmetic is half
    integer multiply-adds and half ALU instructions."""
    known = m.wgmma.beside if m.wgmma else {}
    return (known["fma"] + known["alu"]) / 2.0 if known else 1.0


def barrier(x: Executor, e: fx.Barrier, site: int) -> Act:
    cycles = x.barrier_cycles

    def act(cta: Cta, j: int) -> None:
        cta.life[BARRIER] += cycles
        cta.t += cycles

    return act


def fence(x: Executor, e: fx.Fence, site: int) -> Act:
    return lambda cta, j: cta.spend(MEMBAR, cta.t + x.machine.fence)


HANDLERS: dict[type, Handler] = {fx.Issue: issue, fx.Barrier: barrier, fx.Fence: fence}
