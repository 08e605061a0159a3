"""One SM in detail: from the paths of its CTAs to cycles, stalls and a timeline."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gpusim.devices.simt.memory import Surroundings
from gpusim.devices.simt.result import Moment, SmRun
from gpusim.devices.simt.sm import run_sm
from gpusim.launch.simt.memory import FirstTouch, Footprint, from_dram, kept_share, l1_bytes
from gpusim.launch.simt.prepare import Ready
from gpusim.trace.profile import Pass, Track
from gpusim.trace.simt import CtaPath


def time_sm(ready: Ready, paths: Sequence[CtaPath], prints: dict[str, Footprint], active_sms: int, *, timeline: bool = False) -> SmRun:
    """The CTAs of `paths`, in this order, on one of `active_sms` SMs that all do the like."""
    machine, spec, held = ready.machine, ready.spec, ready.held
    cold = from_dram(ready.code, paths, prints, len(paths) / ready.geometry.ctas)
    memory = Surroundings(
        active_sms=active_sms,
        where=FirstTouch(cold, kept_share(prints, machine)).where,
        l1_bytes=l1_bytes(machine, held.shared_bytes_per_cta, spec.sm.shared_reserved_per_cta, held.ctas_per_sm),
    )
    return run_sm(ready.code, list(paths), held.ctas_per_sm, machine, memory, timeline=timeline)


def tracks(run: SmRun, sm: int, subcores: int) -> tuple[Track, ...]:
    """The timeline of `run` by warps: a pass lasts until the warp's next one, the last until the CTA ends."""
    ends = {c.cta: c.end for c in run.ctas}
    ordered = sorted(run.timeline, key=lambda m: (m.cta, m.warp, m.time))
    out = []
    for (cta, warp), moments in groupby(ordered, key=lambda m: (m.cta, m.warp)):
        out.append(Track(sm, cta, warp, warp % subcores, _passes(list(moments), ends[cta])))
    return tuple(out)


def _passes(moments: list[Moment], end: float) -> tuple[Pass, ...]:
    stops = [m.time for m in moments[1:]] + [end]
    return tuple(Pass(m.time, max(m.time, stop), m.block, m.mask) for m, stop in zip(moments, stops, strict=True))
