"""Which SMs are timed where some CTAs do much more than others: the one with the longest warp, the one with most to do, and typical ones.

How long a CTA takes is told by its longest warp, for CTAs side by side share an SM alike. A free slot takes the next CTA.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace
from typing import Any

import numpy as np

from gpusim.engine.noise import noise
from gpusim.interp.simt import execute
from gpusim.interp.simt.flow import analyse
from gpusim.ir.simt.nodes import Atomic, Store
from gpusim.launch.dealing import deal
from gpusim.launch.simt.args import backing
from gpusim.launch.simt.loads import Load
from gpusim.launch.simt.memory import Footprint, loaded
from gpusim.launch.simt.prepare import Ready
from gpusim.launch.simt.static import CLOCK, dependences, items
from gpusim.launch.simt.walk import DRAM, NEAR
from gpusim.lower.simt.code import Code
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import CtaPath, Work

#: warps that issue so many times the mean of the CTAs' longest warps make a launch uneven
UNEVEN = 1.25
#: typical SMs: at these shares of the SMs in the order of what they do
TYPICAL = (0.25, 0.75)


def is_uneven(work: Work | None) -> bool:
    """Whether some CTA takes much longer than most."""
    return work is not None and len(work.longest) > 1 and bool(work.longest.max() > UNEVEN * work.longest.mean())


def dealt(machine: Machine, ctas_per_sm: int, longest: Sequence[int]) -> np.ndarray:
    """SM of each CTA where a CTA takes as long as its longest warp; shape [CTAs]."""
    first = deal(machine, len(longest), ctas_per_sm)
    out = list(first)
    slots = [(longest[i], i, sm) for i, sm in enumerate(first)]
    heapify(slots)
    for cta in range(len(first), len(longest)):
        free, _, sm = slots[0]
        out.append(sm)
        heapreplace(slots, (free + longest[cta], cta, sm))
    return np.array(out, np.int64)


def uneven_loads(machine: Machine, ctas_per_sm: int, work: Work) -> tuple[Load, ...]:
    """The SM with the longest warp, the one with most instructions, and typical ones, which stand for all others. Each SM once.

    work: of all CTAs of the launch, in order.
    """
    sm_of = dealt(machine, ctas_per_sm, work.longest.tolist())
    sums = np.bincount(sm_of, work.instructions, machine.sms)
    straggler = int(work.longest.argmax())
    special = list(dict.fromkeys((int(sm_of[straggler]), int(sums.argmax()))))
    others = [sm for sm in np.argsort(sums, kind="stable").tolist() if sums[sm] and sm not in special]
    typical = list(dict.fromkeys(others[int(len(others) * share)] for share in TYPICAL)) if others else []
    stands = dict.fromkeys(special, 1) | {sm: len(others[i :: len(typical)]) for i, sm in enumerate(typical)}
    return tuple(_load(sm, stands[sm], np.flatnonzero(sm_of == sm), work, straggler) for sm in (*special, *typical))


def _load(sm: int, stands: int, own: np.ndarray, work: Work, straggler: int) -> Load:
    keep = (straggler,) if straggler in own else (int(own[work.longest[own].argmax()]),)
    return Load(sm, tuple(own.tolist()), stands, int(own[0]), keep, float(work.instructions[own].mean()))


def supposed_shared(code: Code, paths: Sequence[CtaPath], prints: Mapping[str, Footprint], ctas: int) -> dict[int, dict[int, list[int]]]:
    """CTA -> sector -> where it is found, for CTAs whose traffic nobody has walked: in DRAM behind either half if the CTA is the first to read it.

    A buffer comes from DRAM once. So of the sectors that a CTA reads of it, as many do as the buffer has for each of the `ctas` CTAs.
    """
    read = {path.cta: loaded(code, [path]) for path in paths}
    out: dict[int, dict[int, list[int]]] = {cta: {} for cta in read}
    for buffer in dict.fromkeys(name for found in read.values() for name in found):
        each = float(np.median([len(found.get(buffer, ())) for found in read.values()]))
        first = prints[buffer].read / (each * ctas) if buffer in prints and each else 1.0
        for cta, found in read.items():
            out[cta].update({s: [DRAM + (s >> 3) % 2, NEAR] if noise(s) < first else [NEAR] for s in found.get(buffer, ())})
    return out


class Again:
    """Executes some CTAs of a launch a second time, for their paths. Made before the launch: what decides ways and is written is kept."""

    def __init__(self, ready: Ready, args: Sequence[Any]) -> None:
        self.ready, self.args = ready, args
        self.held = backing(args, ready.code.program, copy=True) if _changes_ways(ready) else None

    def paths(self, ctas: Sequence[int]) -> dict[int, CtaPath]:
        """The caller's arrays stay as they are."""
        held = self.held or backing(self.args, self.ready.code.program, copy=True)
        return execute(self.ready.code, self.ready.geometry, held, ctas=ctas, record=ctas, sanitize=False).paths


def again(ready: Ready, args: Sequence[Any]) -> Again | None:
    """None where ways do not depend on data, or where CTAs decide what other CTAs do."""
    if "again" not in ready.memo:
        ready.memo["again"] = _repeatable(ready)
    return Again(ready, args) if ready.memo["again"] else None


def _repeatable(ready: Ready) -> bool:
    origins = _origins(ready)
    flow = analyse(ready.code)
    if not origins or CLOCK in origins or flow.resident or flow.together or ready.geometry.ctas < 2:
        return False
    return not any(isinstance(s, Atomic) and s.dst is not None and s.buffer.name in origins for s in _statements(ready))


def _changes_ways(ready: Ready) -> bool:
    origins = _origins(ready)
    return any(isinstance(s, Store | Atomic) and s.buffer.name in origins for s in _statements(ready))


def _origins(ready: Ready) -> frozenset[str]:
    if "origins" not in ready.memo:
        ready.memo["origins"] = frozenset[str]().union(*(d.origins for d in dependences(ready.code)))
    origins: frozenset[str] = ready.memo["origins"]
    return origins


def _statements(ready: Ready) -> list[Any]:
    return [item.stmt for block in ready.code.blocks for item in items(block.ops)]
