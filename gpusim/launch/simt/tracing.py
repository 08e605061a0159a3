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
from gpusim.launch.simt.counting import warp_instructions
from gpusim.launch.simt.loads import placement
from gpusim.launch.simt.merging import Crowd, received
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.state import MemoryState
from gpusim.launch.simt.strips import Strip
from gpusim.launch.simt.walk import Walk
from gpusim.parts.merging import Merging

#: lanes of a launch that is executed whole rather than searched for classes
SMALL = 1 << 13


@dataclass(frozen=True, slots=True)
class Tracer:
    """The walks of one launch: the measured one last, before it those that only warm the L2. addresses: see `interp.simt.execute`; sm_of, gpc_of: of
    each CTA; exact: walk every round."""

    walks: tuple[Walk, ...]
    addresses: dict[int, int]
    sm_of: np.ndarray
    gpc_of: np.ndarray
    exact: bool = False

    @property
    def walk(self) -> Walk:
        return self.walks[-1]


def tracer(ready: Ready, args: Sequence[Any], state: MemoryState, wanted: Sequence[int], warm: bool) -> Tracer:
    """warm: an identical launch came before this one."""
    machine = ready.machine
    addresses = state.addresses(args)
    gpc_of_sm = np.repeat(np.arange(len(machine.gpc_sms)), machine.gpc_sms)
    sm_of = placement(machine, ready.geometry.ctas, ready.held.ctas_per_sm)
    half_of = (np.array(machine.gpc_half) % machine.halves)[gpc_of_sm[sm_of]]
    alone = min(ready.held.ctas_per_sm, -(-ready.geometry.ctas // machine.sms)) <= 1
    drift = None if alone else machine.merge_steps
    walks = tuple(Walk(state.cache, ready.code.accesses, half_of, wanted if last else (), drift) for last in ((False, True) if warm else (True,)))
    return Tracer(walks, addresses, sm_of, gpc_of_sm[sm_of])


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
        """What of the loads reaches L2. A CTA takes at least as long as the instructions of its SM take to issue."""
        machine = ready.machine
        law = Merging(machine.merge_requests, machine.merge_window, machine.merge_together, machine.merge_steps)
        on_sm = min(ready.held.ctas_per_sm, -(-ready.geometry.ctas // machine.sms))
        cycles = {c.cta: warp_instructions(ready.code, c.counts) * on_sm / machine.subcores for c in self.classes}
        crowd = Crowd(tracer.sm_of, tracer.gpc_of, ready.slots, on_sm, cycles)
        return received(law, crowd, ready.geometry.grid, self.classes, self.strips, self.regular.steps, ready.code.accesses)


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
