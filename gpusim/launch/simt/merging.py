"""What of an SM's loads reaches L2, where CTAs fall into classes: CTAs of a GPC that ask for the same sectors at about the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.launch.simt.affine import Coefs
from gpusim.launch.simt.classes import CtaClass
from gpusim.launch.simt.counting import warp_instructions
from gpusim.launch.simt.strips import Strip, class_of, positions, shift
from gpusim.launch.simt.walk import READS
from gpusim.lower.simt.code import Access, Code
from gpusim.parts.merging import Merging
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Counts

Array = Any  # np.ndarray


@dataclass(frozen=True, slots=True)
class Crowd:
    """sm_of, gpc_of: of each CTA; slots: CTAs of a wave; on_sm: CTAs that share an SM; cycles: that a CTA of each class takes at least."""

    sm_of: Array
    gpc_of: Array
    slots: int
    on_sm: int
    cycles: Mapping[int, float]


def received(
    law: Merging,
    crowd: Crowd,
    grid: tuple[int, int, int],
    classes: Sequence[CtaClass],
    strips: Mapping[int, Strip],
    steps: Mapping[int, Coefs],
    accesses: Sequence[Access],
) -> dict[int, float]:
    """Number of an Access that loads -> share of its requests that L2 receives. strips, steps: see `classwalk.walk_classes`."""
    sums: dict[int, list[float]] = {}
    number, at, kind = np.arange(len(crowd.sm_of)), positions(grid), class_of(grid, classes)
    for i, found in enumerate(classes):
        members = number[kind == i]
        for access, (times, sectors) in _loads(strips[found.cta], accesses).items():
            in_step, step = law.in_step(times, crowd.on_sm), crowd.cycles[found.cta] / times
            sharers = _sharers(crowd, members, shift(grid, found.cta, steps[access], at, members))
            row = sums.setdefault(access, [0.0, 0.0])
            row[0] += sectors * float(sharers.sum())
            row[1] += sectors * float(law.received(sharers, step, in_step).sum())
    return {access: got / asked for access, (asked, got) in sums.items() if asked}


def _loads(strip: Strip, accesses: Sequence[Access]) -> dict[int, tuple[int, int]]:
    """Access -> (how often a CTA asks for sectors that it did not ask for before, these sectors). L1 mostly has the others."""
    out: dict[int, tuple[int, int]] = {}
    known: set[int] = set()
    for access, sectors, _ in strip.touches:
        if accesses[access].kind in READS:
            fresh = set(sectors.tolist()) - known
            known |= fresh
            times, total = out.get(access, (0, 0))
            out[access] = times + bool(fresh), total + len(fresh)
    return {access: (times, total) for access, (times, total) in out.items() if times}


def least_cycles(code: Code, counts: Counts, ctas: int, on_sm: int, machine: Machine) -> float:
    """Cycles that a CTA takes at least where `on_sm` share an SM: until the instructions of its SM are issued, and until the lines that they touch and
    their passes through shared memory have gone through the pipe that both use. counts: of `ctas` CTAs."""
    lines = sum(int(counts.lines[i]) for i, a in enumerate(code.accesses) if a.space == "global")
    piped = lines + int(counts.wavefronts.sum())
    return max(warp_instructions(code, counts) / machine.subcores, float(piped)) * on_sm / ctas


def _sharers(crowd: Crowd, members: Array, shifts: Array) -> Array:
    """SMs of a GPC that ask for the same, for each GPC, wave and place in memory."""
    places, place = np.unique(shifts, return_inverse=True)
    if len(places) == len(members):
        return np.ones(len(members), np.int64)
    gpcs, sms = int(crowd.gpc_of.max()) + 1, int(crowd.sm_of.max()) + 1
    asked = (members // crowd.slots * gpcs + crowd.gpc_of[members]) * len(places) + place
    return np.unique(np.unique(asked * sms + crowd.sm_of[members]) // sms, return_counts=True)[1]
