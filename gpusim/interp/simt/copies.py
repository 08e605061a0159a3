"""cp.async: bytes go from global to shared memory and are there when the thread has waited for their group."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import Launch
from gpusim.interp.simt.warpgroup import Warpgroups

Array = Any


@dataclass(eq=False)
class Copy:
    """One statement's copies: what will stand in shared memory. `lanes`: whose copies have not landed, shape (C * T,), or None: all of g."""

    site: Site
    group: Group
    element: Array
    values: list[Array]


@dataclass(eq=False)
class Batch:
    """A committed group of the threads in `group`."""

    group: Group
    copies: list[Copy] = field(default_factory=list)


class Copies(Warpgroups):
    def __init__(self, launch: Launch, ctas: Array) -> None:
        super().__init__(launch, ctas)
        self.open: list[Copy] = []
        self.batches: list[Batch] = []
        self.flying: dict[tuple[int, int], Any] = {}  # bulk copies by the mbarrier (row, number) they count at

    def async_copy(self, site: Site, g: Group, target: Array, source: Array, valid: Array | None = None) -> None:
        stmt = site.stmt
        n, item = stmt.count, DTYPES[stmt.target.dtype].itemsize
        array = self.launch.arrays[stmt.source.id]
        element = self.shared_place(site, g, stmt.target, target, n)
        kept = np.full((1, 1), n) if valid is None else np.clip(valid.astype(np.int64), 0, n)
        reads = g.split(kept > 0)[0]
        index = source.astype(np.int64)
        if reads is not None:
            self._source(site, reads, array, index if reads is g else reads.pick(index), kept if reads is g else reads.pick(kept), n)
        self.count_shared(site, g, element * item, n * item)
        if site.access >= 0:  # what reads no byte makes no request to global memory
            self.launch.counts.requests[site.access] -= g.warps
        values = [np.where(kept > j, array.data.take(np.clip(index + j, 0, array.data.size - 1)), array.data.dtype.type(0)) for j in range(n)]
        if self.launch.sanitize:
            for cell in self.cells(element, item, n):
                self.report(site, g, self.shadow.launch_copy(g, cell, site.number), "writes", element, stmt.target)
        self.open.append(Copy(site, g, element, values))

    def _source(self, site: Site, g: Group, array: Any, index: Array, kept: Array, n: int) -> None:
        low = (index < 0) | (index + kept > array.data.size)
        if low.any():
            self.out_of_bounds(site, g, index, low, array.data.size)
        self.aligned(site, g, array.address + index * array.itemsize, n * array.itemsize)
        self.count_global(site, g, array, index, array.read)
        if array.known is not None:
            self.known(site, g, array, index, n, kept)

    def async_commit(self, site: Site, g: Group) -> None:
        batch, rest = Batch(g), []
        for copy in self.open:
            mine, others = self._divide(copy, g)
            batch.copies += mine
            rest += others
        self.open = rest
        self.batches.append(batch)

    def async_wait(self, site: Site, g: Group) -> None:
        pending = site.stmt.pending
        if all(b.group is g or b.group.size == g.size and (b.group.mask == g.mask).all() for b in self.batches):
            cut = max(0, len(self.batches) - pending)
            for batch in self.batches[:cut]:
                for copy in batch.copies:
                    self._land(copy)
            self.batches = self.batches[cut:]
        else:
            self._wait_by_lane(g, pending)
        self.changes += 1
        self.shadow.in_flight = bool(self.open or self.flying or any(b.copies for b in self.batches))

    def _wait_by_lane(self, g: Group, pending: int) -> None:
        younger = np.zeros(self.space.ctas * self.space.threads, np.int64)
        landing: list[Copy] = []
        left: list[Batch] = []
        for batch in reversed(self.batches):
            due = batch.group.mask & g.mask & (younger >= pending)
            younger += batch.group.mask & g.mask
            if due.any():
                parts = [self._divide(copy, Group(self.space, lanes=np.flatnonzero(due))) for copy in batch.copies]
                landing = [c for mine, _ in parts for c in mine] + landing
                remains = np.flatnonzero(batch.group.mask & ~due)
                batch = Batch(Group(self.space, lanes=remains), [c for _, others in parts for c in others])
            if batch.group.size:
                left.append(batch)
        for copy in landing:
            self._land(copy)
        self.batches = left[::-1]

    def _divide(self, copy: Copy, g: Group) -> tuple[list[Copy], list[Copy]]:
        """(the part of the lanes in g, the rest)."""
        if copy.group is g:
            return [copy], []
        inside = g.mask[copy.group.flat].reshape(copy.group.shape)
        out: list[list[Copy]] = []
        for part in copy.group.split(inside):
            if part is None:
                out.append([])
            elif part is copy.group:
                out.append([copy])
            else:
                out.append([Copy(copy.site, part, part.pick(copy.element), [part.pick(v) for v in copy.values])])
        return out[0], out[1]

    def _land(self, copy: Copy) -> None:
        dtype = copy.site.stmt.target.dtype
        view, item = self.view(dtype), DTYPES[dtype].itemsize
        for j, value in enumerate(copy.values):
            self.scatter(view, copy.group, copy.element + j, value)
        if self.launch.sanitize:
            for cell in self.cells(copy.element, item, len(copy.values)):
                self.shadow.land_copy(copy.group, cell, copy.site.number)
