"""Loads, stores and atomics on global memory and constant arrays: bounds, alignment, values, sectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim.interp.simt import atomics, counting, recording
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import GlobalArray
from gpusim.interp.simt.state import State, at

Array = Any
_OUTSIDE = {
    ("global", True): "Guard the access (if i < x.size) or launch fewer threads.",
    ("shared", True): "Give the launch more dynamic shared memory (bytes) or make the index smaller.",
}


#: constant arrays lie this far apart, in sectors
CONSTANT_SECTORS = 1 << 16


class GlobalMemory(State):
    def load_global(self, site: Site, g: Group, index: Array) -> list[Array]:
        array = self.launch.arrays[site.stmt.buffer.id]
        n = len(site.stmt.dst)
        index = self.place(site, g, index, array.data.size, n)
        self.aligned(site, g, array.address + index * array.itemsize if n > 1 else None, n * array.itemsize)
        self.count_global(site, g, array, index, array.read, loaded=n * array.itemsize)
        if array.known is not None:
            self.known(site, g, array, index, n)
        return [array.data.take(index if j == 0 else index + j) for j in range(n)]

    def store_global(self, site: Site, g: Group, index: Array, *values: Array) -> None:
        array = self.launch.arrays[site.stmt.buffer.id]
        n = len(values)
        index = self.place(site, g, index, array.data.size, n)
        if not array.data.flags.writeable:
            self.fail(site.line, f"store to {array.buffer.name}, which is read-only", "", "Pass a writeable array.")
        self.aligned(site, g, array.address + index * array.itemsize if n > 1 else None, n * array.itemsize)
        self.count_global(site, g, array, index, array.written, stored=n * array.itemsize)
        for j, value in enumerate(values):
            spot = index if j == 0 else index + j
            array.data[spot] = np.broadcast_to(last_lane(value, spot), spot.shape)
            if array.known is not None:
                array.known[spot] = True
        self.changes += 1

    def atomic_global(self, site: Site, g: Group, index: Array, *args: Array) -> tuple[Array] | None:
        array = self.launch.arrays[site.stmt.buffer.id]
        index = self.place(site, g, index, array.data.size, 1)
        self.count_global(site, g, array, index, array.written, atomic=True)
        if array.known is not None:
            self.known(site, g, array, index, 1)
        flat = np.ascontiguousarray(g.whole(index)).ravel()
        values = [np.ascontiguousarray(g.whole(a)).ravel() for a in args]
        old, changed = atomics.apply(site.stmt.op, array.data, flat, values, site.stmt.dst is not None)
        self.changes += changed
        return None if old is None else (old.reshape(g.shape),)

    def load_const(self, site: Site, g: Group, index: Array) -> list[Array]:
        data = self.launch.constants[site.stmt.buffer.id]
        n = len(site.stmt.dst)
        index = self.place(site, g, index, data.size, n)
        if site.access >= 0:
            times = g.shape[0] if index.shape[0] == 1 else 1
            words = g.to_warps(index.astype(np.int64)).reshape(-1, 32)
            active = np.broadcast_to(g.active, (index.shape[0], g.row_warps, 32)).reshape(-1, 32)
            waves = counting.distinct_per_warp(words, active)
            self.launch.counts.requests[site.access] += g.warps
            self.launch.counts.wavefronts[site.access] += int(waves.sum()) * times
            if len(self.record_rows):
                recording.shared(self, site, g, waves.reshape(index.shape[0], -1))
                recording.sectors(self, site, g, (index * data.itemsize >> 5) + site.stmt.buffer.id * CONSTANT_SECTORS)
        return [data.take(index if j == 0 else index + j) for j in range(n)]

    store_const = atomic_const = None

    def place(self, site: Site, g: Group, index: Array, size: int, n: int) -> Array:
        """Indices with negative ones wrapped, all of them inside of the buffer."""
        if index.dtype != np.int64:
            index = index.astype(np.int64)
        low, high = int(index.min()), int(index.max())
        if low < -size or high > size - n:
            bad = (index < -size) | (index > size - n)
            self.out_of_bounds(site, g, index, bad, size)
        if low >= 0:
            return index
        cta, tid, pos = self.where(g, index < 0)
        name = site.stmt.buffer.name if hasattr(site.stmt, "buffer") else ""
        self.launch.note("wrap", site.line, f"index {at(index, pos)} of {name} is negative and wrapped (first by {self.lane_name(cta, tid)})")
        return np.where(index < 0, index + size, index)

    def out_of_bounds(self, site: Site, g: Group, index: Array, bad: Array, size: int) -> None:
        cta, tid, pos = self.where(g, bad)
        buffer = site.buffer or site.stmt.source
        self.fail(
            site.line,
            f"index {at(index, pos)} is out of bounds of {buffer.space} array {buffer.name} of {size} elements, accessed",
            self.lane_name(cta, tid),
            _OUTSIDE.get((buffer.space, buffer.shape is None), "Make the array larger or the index smaller."),
        )

    def aligned(self, site: Site, g: Group, address: Array | None, width: int) -> None:
        if address is None:
            return
        bad = address % width != 0
        if bad.any():
            cta, tid, pos = self.where(g, bad)
            buffer = site.buffer or site.stmt.source
            self.fail(
                site.line,
                f"misaligned access of {width} bytes to {buffer.name} at byte address {at(address, pos)} (remainder {at(address, pos) % width})",
                self.lane_name(cta, tid),
                f"The first element of a vector access must lie at a multiple of {width} bytes.",
            )

    def known(self, site: Site, g: Group, array: GlobalArray, index: Array, n: int, kept: Array | None = None) -> None:
        """Error for a read of what nothing has written: elements index to index + n - 1, or only the first `kept` of them."""
        assert array.known is not None
        if not self.launch.sanitize:
            return
        for j in range(n):
            fine = array.known.take(index + j, mode="clip")
            if kept is not None:
                fine = fine | (kept <= j)
            if not fine.all():
                cta, tid, pos = self.where(g, ~fine)
                what = f"read of {array.buffer.name}[{at(index, pos) + j}], which nothing has written,"
                self.fail(site.line, what, self.lane_name(cta, tid), "Fill the device array or copy data to it first.")

    def count_global(self, site: Site, g: Group, array: GlobalArray, index: Array, mark: Array, atomic: bool = False, stored: int = 0, loaded: int = 0) -> None:
        """stored, loaded: bytes of each lane, if it does that."""
        byte = index * array.itemsize + array.address
        sector = byte >> 5
        counts, a = self.launch.counts, site.access
        if a >= 0:
            n, lines = counting.distinct(g, sector, 2)
            counts.requests[a] += g.warps
            counts.sectors[a] += self._atomics(a, g, byte) if atomic else n
            counts.lines[a] += lines
            if stored:
                counts.partial[a] += counting.partial_sectors(g, sector, stored)
            if self.launch.watch is not None:
                self.launch.watch.touch(a, self.ctas[g.cta], sector)
            if len(self.record_rows):
                recording.sectors(self, site, g, sector, index if atomic else None, stored=stored, loaded=(byte, loaded) if loaded else None)
            if atomic:
                counts.wavefronts[a] += g.warps
        flat = sector.ravel()
        if len(flat) > 64:
            fresh = np.empty(len(flat), bool)
            fresh[0] = True
            np.not_equal(flat[1:], flat[:-1], out=fresh[1:])
            flat = flat[fresh]
        array.mark(mark, flat - (array.address >> 5))

    def _atomics(self, access: int, g: Group, byte: Array) -> int:
        """Sectors that an atomic at these addresses counts."""
        sectors, operations = counting.atomic_sectors(g, byte)
        rows = g.shape[0] if len(byte) == 1 and byte.shape[1] > 1 else 1
        if self.launch.watch is not None:
            self.launch.watch.atomics(access, sectors, operations * rows)
        return int(operations.sum()) * rows


def last_lane(value: Array, spot: Array) -> Array:
    """Of lanes that store to one place, the last one wins: drop the others where `spot` has them once."""
    if value.shape[0] > spot.shape[0]:
        value = value[-1:]
    return value[:, -1:] if value.shape[1] > spot.shape[1] else value
