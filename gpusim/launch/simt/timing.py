"""One SM in detail: from the paths of its CTAs to cycles, stalls and a timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from gpusim.devices.simt.memory import Surroundings
from gpusim.devices.simt.result import Moment, SmRun
from gpusim.devices.simt.room import Room
from gpusim.devices.simt.sm import run_sm
from gpusim.launch.occupancy import warps_per_subcore
from gpusim.launch.simt.counting import path_instructions
from gpusim.launch.simt.loads import placement
from gpusim.launch.simt.memory import Levels, dram_sectors
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.sample import APART
from gpusim.launch.simt.traffic import Cost
from gpusim.parts.l1 import capacity
from gpusim.trace.profile import Pass, Track
from gpusim.trace.simt import CtaPath


@dataclass(frozen=True, slots=True)
class Bench:
    """Times any paths on the SM `sm`, one among `active_sms` that do the like.

    asked: where each CTA finds each sector (`walk.Walk.asked`). The rest is of `devices.simt.memory.Surroundings`.
    """

    ready: Ready
    sm: int
    active_sms: int
    asked: Mapping[int, Mapping[int, Sequence[int]]]
    per_read: float
    per_stored: float
    per_step: float
    received: Mapping[int, float]
    evicting: float
    in_gpc: int
    filled: float

    @property
    def l1_bytes(self) -> int:
        held = self.ready.held
        return capacity(self.ready.machine, (held.shared_bytes_per_cta + self.ready.spec.sm.shared_reserved_per_cta) * held.ctas_per_sm)

    def time(self, paths: Sequence[CtaPath], *, timeline: bool = False) -> SmRun:
        """The CTAs of `paths` in this order. The run issues exactly the instructions of the paths, or it is a bug."""
        code, machine, held = self.ready.code, self.ready.machine, self.ready.held
        memory = Surroundings(
            sm=self.sm,
            active_sms=self.active_sms,
            where=Levels(self.asked, paths, APART).where,
            per_read=self.per_read,
            per_stored=self.per_stored,
            per_step=self.per_step,
            received=self.received,
            evicting=self.evicting,
            in_gpc=self.in_gpc,
            filled=self.filled,
            l1_bytes=self.l1_bytes,
        )
        room = Room(min(held.limits["CTA slots"], held.limits["shared memory"]), warps_per_subcore(held.registers_per_thread, self.ready.spec))
        run = run_sm(code, list(paths), held.ctas_per_sm, machine, memory, room=room, timeline=timeline)
        counted = sum(path_instructions(code, paths))
        assert run.instructions == counted, f"law broken: the SM issued {run.instructions} warp instructions, the paths hold {counted}"
        return run


def bench(ready: Ready, sm: int, paths: Sequence[CtaPath], asked: Mapping[int, Mapping[int, Sequence[int]]], cost: Cost) -> Bench:
    """For an SM whose CTAs are like `paths`."""
    ctas = ready.geometry.ctas
    active = min(ready.machine.sms, ctas)
    gpc_of = np.repeat(np.array(ready.machine.gpc_number), ready.machine.gpc_sms)
    busy = np.unique(placement(ready.machine, min(ctas, ready.slots), ready.held.ctas_per_sm))
    in_gpc = max(1, int(np.count_nonzero(gpc_of[busy] == gpc_of[sm])))
    reads = dram_sectors(asked, [p.cta for p in paths]) * ctas / len(paths)
    per_read, per_stored, per_step = (active * part for part in cost.split(reads))
    return Bench(ready, sm, active, asked, per_read, per_stored, per_step, cost.received, cost.evicting, in_gpc, cost.filled)


def tracks(run: SmRun, sm: int, subcores: int) -> tuple[Track, ...]:
    """The timeline of `run` by warps: a pass lasts until the warp's next one, the last until the CTA ends. Copies of CTAs are left out."""
    ends = {c.cta: c.end for c in run.ctas}
    ordered = sorted((m for m in run.timeline if m.cta < APART), key=lambda m: (m.cta, m.warp, m.time))
    out = []
    for (cta, warp), moments in groupby(ordered, key=lambda m: (m.cta, m.warp)):
        out.append(Track(sm, cta, warp, warp % subcores, _passes(list(moments), ends[cta])))
    return tuple(out)


def _passes(moments: list[Moment], end: float) -> tuple[Pass, ...]:
    stops = [m.time for m in moments[1:]] + [end]
    return tuple(Pass(m.time, max(m.time, stop), m.block, m.mask) for m, stop in zip(moments, stops, strict=True))
