"""Which SMs are timed, and which CTAs each of them runs.

The first CTAs go where the dispatcher deals them; a freed slot takes the next CTA. Where CTAs take equally long, CTA i follows CTA
i - slots, so every SM gets one of two numbers of CTAs. One SM of each number is timed and stands for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusim.launch.clusters import deal_clusters
from gpusim.launch.dealing import deal
from gpusim.spec.resolve import Machine


@dataclass(frozen=True, slots=True)
class Load:
    """SM `sm` runs `ctas` in this order and stands for `sms` SMs. `first`: how many CTAs the chip starts before its first one. `keep`: those that
    are timed whatever is left out. `mean`: warp instructions of a CTA, where this SM's differ from other SMs'."""

    sm: int
    ctas: tuple[int, ...]
    sms: int
    first: int
    keep: tuple[int, ...] = ()
    mean: float | None = None


def placement(machine: Machine, ctas: int, ctas_per_sm: int, cluster: int = 1) -> np.ndarray:
    """SM of each CTA, shape [ctas]; of clusters, CTAs in the order of clusters."""
    order = np.array(deal(machine, ctas, ctas_per_sm) if cluster == 1 else deal_clusters(machine, ctas // cluster, ctas_per_sm, cluster), np.int64)
    return order[np.arange(ctas) % len(order)]


def loads(machine: Machine, ctas: int, ctas_per_sm: int, cluster: int = 1) -> tuple[Load, ...]:
    """One Load for each number of CTAs that an SM can have, the longest first."""
    sm_of = placement(machine, ctas, ctas_per_sm, cluster)
    per_sm = np.bincount(sm_of, minlength=machine.sms)
    out = []
    for number in sorted(set(per_sm[per_sm > 0].tolist()), reverse=True):
        members = np.flatnonzero(per_sm == number)
        sm = int(members[len(members) // 2])
        own = np.flatnonzero(sm_of == sm)
        out.append(Load(sm, tuple(own.tolist()), len(members), int(own[0])))
    return tuple(out)
