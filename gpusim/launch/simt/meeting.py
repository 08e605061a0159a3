"""CTAs of a GPC that ask for the same sectors at about the same time, counted while the value pass runs: where CTAs fall into no classes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from gpusim.launch.simt.walk import READS, Walk
from gpusim.lower.simt.code import Access
from gpusim.parts.merging import Merging

Array = Any  # np.ndarray

#: of an access that CTAs side by side repeat, so many times are counted, and later each of `EVERY`: loops share alike from step to step
FIRST, EVERY = 4, 16
#: of more sectors than these only those of one line in `EACH` are counted, which a hash picks
MANY, EACH, _MIX = 1 << 16, 8, 0x9E3779B97F4A7C15


class Meeting:
    """A walk, and for each Access that loads how many SMs of a GPC want a sector together. sm_of, gpc_of: of each CTA; slots: CTAs of a wave."""

    def __init__(self, walk: Walk, accesses: Sequence[Access], sm_of: Array, gpc_of: Array, slots: int) -> None:
        self.walk, self.slots = walk, slots
        self.loads = [a.space == "global" and a.kind in READS for a in accesses]
        self.sm_of, self.gpc_of = sm_of, gpc_of
        self.sms, self.gpcs = int(sm_of.max()) + 1, int(gpc_of.max()) + 1
        self.times: dict[tuple[int, int], int] = {}
        self.counts: dict[int, Array] = {}

    def atomics(self, access: int, sectors: Array, operations: Array) -> None:
        self.walk.atomics(access, sectors, operations)

    def touch(self, access: int, ctas: Array, sectors: Array) -> None:
        self.walk.touch(access, ctas, sectors)
        if not self.loads[access]:
            return
        side_by_side = access, int(ctas.flat[0])
        turn = self.times.get(side_by_side, 0)
        self.times[side_by_side] = turn + 1
        if turn < FIRST or turn % EVERY == 0:
            found = np.bincount(self._sharers(*np.broadcast_arrays(ctas, sectors)), minlength=self.sms + 1)
            self.counts[access] = self.counts.get(access, np.zeros(self.sms + 1, np.int64)) + found

    def _sharers(self, ctas: Array, sectors: Array) -> Array:
        """SMs that want it, for each sector, GPC and wave."""
        ctas, sectors = ctas.ravel(), sectors.ravel()
        if len(sectors) > MANY:
            picked = np.flatnonzero((sectors >> 2).astype(np.uint64) * np.uint64(_MIX) >> np.uint64(61) == 0)
            ctas, sectors = (ctas[picked], sectors[picked]) if len(picked) else (ctas, sectors)
        low, span = int(sectors.min()), int(np.ptp(sectors)) + 1
        place = (ctas // self.slots * self.gpcs + self.gpc_of[ctas]) * span + (sectors - low)
        return np.unique(np.unique(place * self.sms + self.sm_of[ctas]) // self.sms, return_counts=True)[1]

    def received(self, law: Merging, on_sm: int, cycles: float) -> dict[int, float]:
        """Number of an Access that loads -> share of its requests that L2 receives. on_sm: CTAs that share an SM; cycles: that a CTA takes at least."""
        out = {}
        for access, counts in self.counts.items():
            sharers = np.flatnonzero(counts)
            times = fmean(n for (number, _), n in self.times.items() if number == access)
            got = law.received(sharers, cycles / times, law.in_step(times, on_sm)) * counts[sharers]
            out[access] = float(got.sum() / (sharers * counts[sharers]).sum())
        return out
