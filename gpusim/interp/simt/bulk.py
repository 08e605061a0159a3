"""Bulk copies: the engine reads global memory when it is told, and the data may be used when their mbarrier's phase has been waited for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt import noting
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import GlobalArray
from gpusim.interp.simt.mbarriers import Mbarriers
from gpusim.trace.asynchronous import BarrierTouch

Array = Any
#: sizes and addresses are multiples of so many bytes (PTX ISA, cp.async.bulk)
GRAIN = 16
SECTOR = 32


@dataclass(frozen=True, slots=True)
class Flight:
    """A copy of lane `lane` that nobody has waited for. phase: of its mbarrier, at its issue."""

    site: Site
    lane: int
    element: int
    values: Array
    phase: int


class BulkCopies(Mbarriers):
    def bulk_copy(self, site: Site, g: Group, target: Array, source: Array, count: Array, barrier: Array) -> None:
        stmt = site.stmt
        array = self.launch.arrays[stmt.source.id]
        element, spot = self.barrier_place(site, g, stmt.barrier, barrier)
        self.made(site, g, spot, stmt.barrier)
        to, start, n = (g.whole(v.astype(np.int64)) for v in (target, source, count))
        self._check(site, g, array, to, start, n)
        touched = []
        for lane, row, one, first, elements, number in zip(
            g.flat.tolist(), spot[0].tolist(), to.ravel().tolist(), start.ravel().tolist(), n.ravel().tolist(), spot[1].tolist(), strict=True
        ):
            begin = one + stmt.target.offset // array.itemsize
            self._leave(site, lane, row, begin, array.data[first : first + elements].copy(), number)
            low = (array.address + first * array.itemsize) // SECTOR
            touched.append(range(low, (array.address + (first + elements) * array.itemsize - 1) // SECTOR + 1))
        self._count(site, g, array, touched)
        self._record(site, g, element, touched, n * array.itemsize)
        self.landed(spot, n.ravel() * array.itemsize)
        self.changes += 1

    def _check(self, site: Site, g: Group, array: GlobalArray, to: Array, start: Array, n: Array) -> None:
        """Bounds and alignment of both ends."""
        stmt, item = site.stmt, array.itemsize
        bad = (n <= 0) | (n * item % GRAIN != 0)
        if bad.any():
            cta, tid, pos = self.where(g, bad)
            what = f"bulk copy of {int(n[pos])} elements, {int(n[pos]) * item} bytes,"
            self.fail(site.line, what, self.lane_name(cta, tid), f"Its size is a positive multiple of {GRAIN} bytes.")
        low = (start < 0) | (start + n > array.data.size)
        if low.any():
            self.out_of_bounds(site, g, np.where(start < 0, start, start + n - 1), low, array.data.size)
        room = int(np.prod(stmt.target.shape)) if stmt.target.shape is not None else (self.launch.shared_bytes - stmt.target.offset) // item
        over = (to < 0) | (to + n > room)
        if over.any():
            cta, tid, pos = self.where(g, over)
            what = f"bulk copy to elements {int(to[pos])} to {int(to[pos] + n[pos]) - 1} of {stmt.target.name}, which has {room},"
            self.fail(site.line, what, self.lane_name(cta, tid), "Make the array larger or the copy smaller.")
        for where, name in ((array.address + start * item, stmt.source.name), (stmt.target.offset + to * item, stmt.target.name)):
            odd = where % GRAIN != 0
            if odd.any():
                cta, tid, pos = self.where(g, odd)
                what = f"bulk copy at byte address {int(where[pos])} of {name} (remainder {int(where[pos]) % GRAIN})"
                self.fail(site.line, what, self.lane_name(cta, tid), f"Both ends lie at multiples of {GRAIN} bytes.")

    def _leave(self, site: Site, lane: int, row: int, element: int, values: Array, number: int) -> None:
        flight = Flight(site, lane, element, values, int(self.barrier_table("phase")[row, number]))
        self.flying.setdefault((row, number), []).append(flight)
        if self.launch.sanitize:
            one = Group(self.space, lanes=np.array([lane]))
            found = self.shadow.launch_copy(one, self._cells(flight), site.number)
            if found is not None:
                other = self.launch.compiled.sites[int(np.broadcast_to(found.other, found.flags.shape)[found.flags][0])]
                what = f"bulk copy overwrites shared memory {site.stmt.target.name} that line {other.line} uses, with no barrier in between,"
                self.fail(site.line, what, self.lane_name(row, lane % self.space.threads), "Wait for its users first: a barrier, or an mbarrier.")

    def _cells(self, flight: Flight) -> Array:
        per = flight.values.itemsize // self.grain
        return np.arange(flight.element * per, (flight.element + len(flight.values)) * per)[None]

    def _count(self, site: Site, g: Group, array: GlobalArray, touched: list[range]) -> None:
        starts, lengths = np.array([part.start for part in touched]), np.array([len(part) for part in touched])
        ctas = self.ctas[g.flat // self.space.threads]
        for length in np.unique(lengths).tolist():
            same = lengths == length
            sectors = starts[same][:, None] + np.arange(length)
            array.mark(array.read, sectors.ravel() - array.address // SECTOR)
            if site.access >= 0 and self.launch.watch is not None:
                self.launch.watch.touch(site.access, ctas[same][:, None], sectors)
        if array.known is not None and self.launch.sanitize:
            self._known(site, g, array, touched)
        counts, a = self.launch.counts, site.access
        if a < 0:
            return
        counts.requests[a] += g.size
        counts.sectors[a] += sum(len(part) for part in touched)
        counts.lines[a] += sum((part.stop - 1) // 4 - part.start // 4 + 1 for part in touched)

    def _known(self, site: Site, g: Group, array: GlobalArray, touched: list[range]) -> None:
        item = array.itemsize
        for lane, part in zip(g.flat.tolist(), touched, strict=True):
            low, high = max(0, part.start * SECTOR - array.address) // item, (part.stop * SECTOR - array.address) // item
            if array.known is not None and not array.known[low:high].all():
                row, tid = divmod(lane, self.space.threads)
                what = f"bulk copy of {array.buffer.name}, which nothing has written in elements {low} to {min(high, array.data.size) - 1},"
                self.fail(site.line, what, self.lane_name(row, tid), "Fill the device array or copy data to it first.")

    def _record(self, site: Site, g: Group, element: Array, touched: list[range], nbytes: Array) -> None:
        if site.access < 0 or not len(self.record_rows):
            return
        of_lane = dict(zip(g.flat.tolist(), touched, strict=True))
        size = dict(zip(g.flat.tolist(), nbytes.ravel().tolist(), strict=True))
        for (row, warp), lanes, number in self._per_warp(site, g, element):
            base = row * self.space.threads + warp * 32
            mine = [lane for lane in range(base, base + 32) if lane in of_lane]
            parts = [of_lane[lane] for lane in mine]
            sectors: Any = parts[0] if len(parts) == 1 else tuple(s for part in parts for s in part)
            touch = BarrierTouch(site.access, lanes, sectors, 1, 1, barrier=number, amount=sum(size[lane] for lane in mine))
            noting.put(self, site, row, warp, touch)

    def land(self, places: set[tuple[int, int]]) -> None:
        for place in places & self.flying.keys():
            phase = int(self.barrier_table("phase")[place])
            for flight in self.flying[place]:
                if flight.phase < phase:
                    self._arrived(place[0], flight)
            left = [flight for flight in self.flying[place] if flight.phase >= phase]
            if left:
                self.flying[place] = left
            else:
                del self.flying[place]
        self.shadow.in_flight = bool(self.flying or self.open or any(b.copies for b in self.batches))

    def _arrived(self, row: int, flight: Flight) -> None:
        self.view(flight.site.stmt.target.dtype)[row, flight.element : flight.element + len(flight.values)] = flight.values
        if self.launch.sanitize:
            self.shadow.land_copy(Group(self.space, lanes=np.array([flight.lane])), self._cells(flight), flight.site.number)

    def check_landed(self) -> None:
        """Error if the CTAs ended while copies were under way that nobody had waited for."""
        if self.flying and self.launch.sanitize:
            (row, _), flights = next(iter(self.flying.items()))
            flight = flights[0]
            what = "the block ends while this bulk copy may still be under way, issued"
            self.fail(flight.site.line, what, self.lane_name(row, flight.lane % self.space.threads), "Wait for its mbarrier before the block ends.")
