"""How a launch's traffic gets to the L2: CTA by CTA as the value pass executes them, or class by class where classes can be proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt import execute
from gpusim.launch.simt.affine import Regular, regular
from gpusim.launch.simt.args import scratch
from gpusim.launch.simt.classes import CtaClass, classes
from gpusim.launch.simt.classwalk import walk_classes
from gpusim.launch.simt.loads import placement
from gpusim.launch.simt.meeting import Meeting
from gpusim.launch.simt.merging import Crowd, least_cycles, received
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.state import MemoryState
from gpusim.launch.simt.strips import Strip
from gpusim.launch.simt.walk import Walk
from gpusim.parts.merging import Merging
from gpusim.trace.simt import Counts

#: lanes of a launch that is executed whole rather than searched for classes
SMALL = 1 << 13


@dataclass(frozen=True, slots=True)
class Tracer:
    """The walks of one launch: the measured one last, before it those that only warm the L2. meeting: watches the measured one, if requests merge.
    addresses: see `interp.simt.execute`; sm_of, gpc_of: of each CTA; exact: walk every round."""

    walks: tuple[Walk, ...]
    meeting: Meeting | None
    addresses: dict[int, int]
    sm_of: np.ndarray
    gpc_of: np.ndarray
    exact: bool = False

    @property
    def walk(self) -> Walk:
        return self.walks[-1]

    @property
    def watch(self) -> Walk | Meeting:
        """What the value pass tells of its accesses, where CTAs are walked as they are executed."""
        return self.meeting or self.walk

    def met(self, ready: Ready, counts: Counts) -> None:
        """The whole launch was watched: what of its loads reaches L2."""
        if self.meeting is not None:
            ctas, on_sm = ready.geometry.ctas, ctas_on_sm(ready)
            self.walk.moved.received = self.meeting.received(law(ready), on_sm, least_cycles(ready.code, counts, ctas, on_sm, ready.machine))


def law(ready: Ready) -> Merging:
    machine = ready.machine
    return Merging(machine.merge_requests, machine.merge_window, machine.merge_together, machine.merge_steps)


def ctas_on_sm(ready: Ready) -> int:
    """CTAs that share an SM, at most."""
    return min(ready.held.ctas_per_sm, -(-ready.geometry.ctas // ready.machine.sms))


def tracer(ready: Ready, args: Sequence[Any], state: MemoryState, wanted: Sequence[int], warm: bool) -> Tracer:
    """warm: an identical launch came before this one."""
    machine = ready.machine
    addresses = state.addresses(args)
    gpc_of_sm = np.repeat(np.arange(len(machine.gpc_sms)), machine.gpc_sms)
    sm_of = placement(machine, ready.geometry.ctas, ready.held.ctas_per_sm)
    half_of = (np.array(machine.gpc_half) % machine.halves)[gpc_of_sm[sm_of]]
    gpc_of = np.array(machine.gpc_number)[gpc_of_sm[sm_of]]
    drift = None if ctas_on_sm(ready) <= 1 else machine.merge_steps
    walks = tuple(Walk(state.cache, ready.code.accesses, half_of, wanted if last else (), drift) for last in ((False, True) if warm else (True,)))
    merges = machine.merge_requests > 1 and ready.geometry.ctas > 1
    meeting = Meeting(walks[-1], ready.code.accesses, sm_of, gpc_of, ready.slots) if merges else None
    return Tracer(walks, meeting, addresses, sm_of, gpc_of)


@dataclass(frozen=True, slots=True)
class Classed:
    """The classes of a launch, and what one CTA of each touches."""

    classes: Sequence[CtaClass]
    strips: dict[int, Strip]
    regular: Regular

    def walk(self, ready: Ready, tracer: Tracer) -> None:
        for walk in tracer.walks:
            walk_classes(walk, ready.geometry.grid, self.classes, self.strips, self.regular.steps, ready.slots, tracer.exact)
        if ready.machine.merge_requests > 1:
            tracer.walk.moved.received = self._received(ready, tracer)

    def _received(self, ready: Ready, tracer: Tracer) -> dict[int, float]:
        """What of the loads reaches L2."""
        on_sm = ctas_on_sm(ready)
        cycles = {c.cta: least_cycles(ready.code, c.counts, 1, on_sm, ready.machine) for c in self.classes}
        crowd = Crowd(tracer.sm_of, tracer.gpc_of, ready.slots, on_sm, cycles)
        return received(law(ready), crowd, ready.geometry.grid, self.classes, self.strips, self.regular.steps, ready.code.accesses)


def classed(ready: Ready, args: Sequence[Any], addresses: dict[int, int]) -> Classed | None:
    """None where no classes can be proved, or where the launch is so small that executing it costs less. ready: without values
    (`passes.without_values`); its ways must not depend on data."""
    if ready.geometry.ctas * ready.geometry.threads <= SMALL:
        return None
    if "regular" not in ready.memo:
        ready.memo["regular"] = {}
    known = ready.memo["regular"]
    key = tuple(ready.facts.params.items())
    if key not in known:
        known[key] = regular(ready.code, ready.facts)
    found: Regular | None = known[key]
    if found is None:
        return None
    held = scratch(args, ready.code.program)
    strips: dict[int, Strip] = {}

    def run(cta: int) -> Any:
        strips[cta] = Strip(ready.code.accesses)
        return execute(ready.code, ready.geometry, held, ctas=[cta], sanitize=False, watch=strips[cta], addresses=addresses, prints=False).counts

    made = classes(ready.geometry.grid, found.periods, run)
    return None if made is None else Classed(made, strips, found)
