"""How far an SM is from a slice of the L2: what a hit takes longer or shorter than the mean. State-free.

A line lies in some slice, by a hash of its address. Slices stand on two sides of the chip, and so do GPCs; the way to the other side is longer.
Inside a GPC the CPCs, groups of TPCs that share a way out, stand at different places. What remains differs from slice to slice.
Evidence: each SM alone on the same 64 lines (micro.json latency/l2_hit_line_by_sm): SMs fall into classes of GPC pair and CPC that see the same
64 latencies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from gpusim.engine.noise import noise
from gpusim.spec.resolve import Machine, Noc

#: keeps the side of a line apart from its spread, and both from other hashes of the same line
_SIDE, _SLICE = 0x51DE << 40, 0x511CE << 40


@lru_cache(maxsize=64)
def _places(noc: Noc, gpc_sms: tuple[int, ...], sms_per_tpc: int) -> tuple[tuple[tuple[int, int], ...], float]:
    """((side, CPC) of each SM, mean cycles over all SMs and slices, of which each side has half); nothing where the machine does not say."""
    if not noc.gpc_side or not noc.near:
        return (), 0.0
    out: list[tuple[int, int]] = []
    for sms, side, first in zip(gpc_sms, noc.gpc_side, noc.gpc_cpc, strict=True):
        out += [(side, (first + i // sms_per_tpc) % len(noc.near)) for i in range(sms)]
    return tuple(out), sum(noc.near[cpc] + noc.far[cpc] for _, cpc in out) / (2 * len(out))


def hit_offset(machine: Machine, sm: int, line: int) -> float:
    """Cycles that a hit of SM `sm` takes longer than the machine's mean where the slice of `line` (byte address // bytes of a line) answers."""
    return offsets(machine, sm)(line)


def offsets(machine: Machine, sm: int) -> Callable[[int], float]:
    """`hit_offset` for one SM: line -> cycles."""
    noc = machine.noc
    places, mean = _places(noc, machine.gpc_sms, machine.sms_per_tpc)
    if not places:
        return _nothing
    side, cpc = places[sm]
    near, far, width = noc.near[cpc] - mean, noc.far[cpc] - mean, 2.0 * noc.spread

    def offset(line: int) -> float:
        other = (noise(line ^ _SIDE) >= 0.5) != bool(side)
        return (far if other else near) + (noise(line ^ _SLICE) - 0.5) * width

    return offset


def _nothing(_line: int) -> float:
    return 0.0
