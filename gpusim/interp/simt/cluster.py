"""Clusters of CTAs: ranks, the barrier of the cluster, and shared memory of other CTAs of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt import atomics, noting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.bulk import BulkCopies
from gpusim.interp.simt.compile import Piece, Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import Launch
from gpusim.interp.simt.state import at
from gpusim.ir.simt.nodes import Geometry
from gpusim.ir.simt.values import rank_step
from gpusim.trace.asynchronous import ClusterTouch

Array = Any


@dataclass(frozen=True)
class Membership:
    """Of CTAs: number of the cluster and rank in it, shape [CTAs]."""

    cluster: Array
    rank: Array


def membership(geometry: Geometry, ctas: Array) -> Membership:
    """ctas: linear numbers."""
    (gx, gy, _), (cx, cy, cz) = geometry.grid, geometry.cluster
    x, y, z = ctas % gx, ctas // gx % gy, ctas // (gx * gy)
    rank = x % cx + cx * (y % cy + cy * (z % cz))
    return Membership(x // cx + (gx // cx) * (y // cy + (gy // cy) * (z // cz)), rank)


def by_clusters(geometry: Geometry, ctas: Array, most: int) -> Iterator[Array]:
    """Every CTA of the clusters that `ctas` belong to, whole clusters together, about `most` CTAs at once, rank by rank."""
    every = np.arange(geometry.ctas)
    all_of = membership(geometry, every)
    order = np.lexsort((all_of.rank, all_of.cluster))
    wanted = np.isin(all_of.cluster[order], np.unique(membership(geometry, ctas).cluster))
    chosen, step = every[order][wanted], max(1, most // geometry.cluster_ctas) * geometry.cluster_ctas
    for start in range(0, len(chosen), step):
        yield chosen[start : start + step]


class Clusters(BulkCopies):
    """arrived, passed: how often each lane came to the barrier of its cluster, and went on from it; alive: lanes that have not ended."""

    def __init__(self, launch: Launch, ctas: Array) -> None:
        super().__init__(launch, ctas)
        self.member = membership(launch.geometry, ctas)
        names, self.cluster = np.unique(self.member.cluster, return_inverse=True)
        self.row_of = np.full((len(names), launch.geometry.cluster_ctas), -1, np.int64)
        self.row_of[self.cluster, self.member.rank] = np.arange(len(ctas))
        self.arrived = np.zeros((self.space.ctas, self.space.threads), np.int64)
        self.passed = np.zeros_like(self.arrived)
        self.alive = np.ones(self.arrived.shape, bool)

    def _coordinate(self, name: str) -> Array:
        if name == "clusterrank":
            return self.member.rank[:, None]
        if name == "clustersize":
            return np.array([[self.geometry.cluster_ctas]])
        return super()._coordinate(name)

    def ended(self, g: Group) -> None:
        """Lanes that end count as arrived at whatever others wait for."""
        self.alive.reshape(-1)[g.flat] = False
        self.signals += 1

    # the barrier

    def cluster_arrive(self, site: Site, g: Group) -> None:
        arrived, passed = self.arrived.reshape(-1), self.passed.reshape(-1)
        twice = arrived[g.flat] > passed[g.flat]
        if twice.any():
            cta, tid, _ = self.where(g, twice.reshape(g.shape))
            self.fail(site.line, "second arrival at the barrier of the cluster", self.lane_name(cta, tid), "Call cluster.wait() between two arrivals.")
        arrived[g.flat] += 1
        self.signals += 1

    def past_cluster(self, piece: Piece, g: Group) -> tuple[Group | None, Group | None]:
        """(lanes of clusters that have all arrived, those that must wait)."""
        site = piece.site
        assert site is not None
        mine = self.arrived.reshape(-1)[g.flat].reshape(g.shape)
        early = mine == self.passed.reshape(-1)[g.flat].reshape(g.shape)
        if early.any():
            cta, tid, _ = self.where(g, early)
            self.fail(site.line, "wait at the barrier of the cluster without an arrival", self.lane_name(cta, tid), "Call cluster.arrive() first.")
        ready, rest = g.split(self._slowest()[self.cluster[g.cta]] >= mine)
        if ready is not None:
            self.passed.reshape(-1)[ready.flat] += 1
            self.shadow.next_epoch(ready)
            self.changes += 1
        return ready, rest

    def _slowest(self) -> Array:
        """Arrivals of the lane of each cluster that came least often."""
        never = np.iinfo(np.int64).max
        least = np.full(len(self.row_of), never)
        np.minimum.at(least, self.cluster, np.where(self.alive, self.arrived, never).min(axis=1))
        return least

    # shared memory of a rank

    def load_cluster(self, site: Site, g: Group, index: Array) -> list[Array]:
        n = len(site.stmt.dst)
        rows, element = self._target(site, g, index, n)
        view = self.view(site.stmt.buffer.dtype)
        for j in range(n):
            self._ask(site, g, rows, element + j, "read")
        return [view.reshape(-1).take(rows * view.shape[1] + element + j) for j in range(n)]

    def store_cluster(self, site: Site, g: Group, index: Array, *values: Array) -> None:
        rows, element = self._target(site, g, index, len(values))
        view = self.view(site.stmt.buffer.dtype)
        for j, value in enumerate(values):
            self._ask(site, g, rows, element + j, "write")
            spot = rows * view.shape[1] + element + j
            view.reshape(-1)[spot] = np.broadcast_to(value, spot.shape)
        self.changes += 1

    def atomic_cluster(self, site: Site, g: Group, index: Array, *args: Array) -> tuple[Array] | None:
        rows, element = self._target(site, g, index, 1, atomic=True)
        view = self.view(site.stmt.buffer.dtype)
        self._ask(site, g, rows, element, "atomic")
        flat = (rows * view.shape[1] + element).ravel()
        values = [np.ascontiguousarray(g.whole(a)).ravel() for a in args]
        old, changed = atomics.apply(site.stmt.op, view.reshape(-1), flat, values, site.stmt.dst is not None)
        self.changes += changed
        return None if old is None else (old.reshape(g.shape),)

    def _target(self, site: Site, g: Group, index: Array, n: int, atomic: bool = False) -> tuple[Array, Array]:
        """(row of the chunk, checked element of its shared memory) of each lane, both in the whole layout of g."""
        buffer = site.stmt.buffer
        item = DTYPES[buffer.dtype].itemsize
        step = rank_step(item)
        index = g.whole(index.astype(np.int64))
        rank = index // step
        bad = (rank < 0) | (rank >= self.geometry.cluster_ctas)
        if bad.any():
            cta, tid, pos = self.where(g, bad)
            what = f"shared memory of rank {int(rank[pos])} in a cluster of {self.geometry.cluster_ctas}, accessed"
            self.fail(site.line, what, self.lane_name(cta, tid), "Ranks go from 0 to cluster.num_blocks() - 1; launch with a larger cluster.")
        rows = self.row_of[self.cluster[g.cta], rank]
        gone = np.asarray(~self.alive.any(axis=1))[rows]
        if gone.any():
            cta, tid, pos = self.where(g, gone)
            what = f"shared memory of rank {int(rank[pos])} is used after that block has ended,"
            self.fail(site.line, what, self.lane_name(cta, tid), "Put cluster.sync() at the end of the kernel.")
        element = self.shared_place(site, g, buffer, index - rank * step, n)
        self.count_shared(site, g, element * item + (rank << 24), n * item, atomic)
        self._note(site, g, rows != g.cta)
        return rows, element

    def _note(self, site: Site, g: Group, remote: Array) -> None:
        """Say in what was recorded how many lanes went to another CTA."""
        if site.access < 0 or not len(self.record_rows):
            return
        found = recording.recorded(self, g)
        if not found.places:
            return
        far = np.logical_and(noting.of_warps(g, found, remote), found.active).sum(axis=1).tolist()
        for (row, warp), lanes in zip(found.places, far, strict=True):
            touch = recording.path_of(self, row, warp).touches[-1][site.place]
            noting.put(self, site, row, warp, ClusterTouch(site.access, touch.lanes, (), touch.wavefronts, touch.same, remote=int(lanes)))

    def _ask(self, site: Site, g: Group, rows: Array, element: Array, how: str) -> None:
        """What another CTA does counts as done by several warps of the one whose memory it is, since that one's last barrier."""
        if not self.launch.sanitize:
            return
        found = self.shadow.remote(rows, self.cells(element, DTYPES[site.stmt.buffer.dtype].itemsize, 1), how, site.number)
        if found is None:
            return
        cta, tid, pos = self.where(g, found.flags)
        buffer = site.stmt.buffer
        number = int(at(element, pos)) - buffer.offset // DTYPES[buffer.dtype].itemsize
        what = f"shared memory {buffer.name}[{number}] of another block"
        if found.kind == "uninitialised":
            self.fail(site.line, f"read of {what}, which nothing has written,", self.lane_name(cta, tid), "Write it there, then call cluster.sync().")
        other = self.launch.compiled.sites[int(np.broadcast_to(found.other, g.shape)[pos])]
        text = f"{what} is used while line {other.line} may still touch it,"
        self.fail(site.line, text, self.lane_name(cta, tid), "Put cluster.sync() between the two lines.")
