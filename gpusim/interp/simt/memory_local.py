"""Arrays of one lane. Words of 4 bytes are interleaved: word w of the 32 lanes of a warp fills one line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpusim.interp.simt import counting, recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.launch import Launch
from gpusim.interp.simt.memory_global import last_lane
from gpusim.interp.simt.memory_shared import SharedMemory
from gpusim.interp.simt.state import at

Array = Any
LOCAL_SECTORS = 1 << 40  # sector ids of local memory begin here, above all global ones


class LocalMemory(SharedMemory):
    def __init__(self, launch: Launch, ctas: Array) -> None:
        super().__init__(launch, ctas)
        lanes = self.space.ctas * self.space.threads
        self.locals: dict[int, tuple[Array, Array]] = {}
        self.local_words = 1
        for buffer in launch.program.buffers:
            if buffer.space == "local":
                size = math.prod(buffer.shape or (0,))
                self.locals[buffer.id] = (np.zeros(lanes * size, DTYPES[buffer.dtype]), np.zeros(lanes * size, bool))
                self.local_words = max(self.local_words, -(-(buffer.offset + size * DTYPES[buffer.dtype].itemsize) // 4))

    def load_local(self, site: Site, g: Group, index: Array) -> list[Array]:
        n = len(site.stmt.dst)
        spot, index = self.local_place(site, g, index, n)
        data, written = self.locals[site.stmt.buffer.id]
        for j in range(n if self.launch.sanitize else 0):
            fine = written.take(spot + j)
            if not fine.all():
                cta, tid, pos = self.where(g, ~fine)
                what = f"read of local array element {site.stmt.buffer.name}[{at(index, pos) + j}], which nothing has written,"
                self.fail(site.line, what, self.lane_name(cta, tid), "Write it first; local memory is not zeroed.")
        return [data.take(spot if j == 0 else spot + j) for j in range(n)]

    def store_local(self, site: Site, g: Group, index: Array, *values: Array) -> None:
        spot, _ = self.local_place(site, g, index, len(values))
        data, written = self.locals[site.stmt.buffer.id]
        for j, value in enumerate(values):
            data[spot + j] = np.broadcast_to(last_lane(value, spot), spot.shape)
            written[spot + j] = True

    atomic_local = None

    def local_place(self, site: Site, g: Group, index: Array, n: int) -> tuple[Array, Array]:
        """(position in the chunk's array, index), shapes of the group and of the index."""
        buffer = site.stmt.buffer
        size = math.prod(buffer.shape or (0,))
        item = DTYPES[buffer.dtype].itemsize
        index = self.place(site, g, index, size, n)
        if n > 1:
            self.aligned(site, g, index * item, n * item)
        self.count_local(site, g, index * item + buffer.offset, n * item)
        return (g.cta * self.space.threads + g.tid) * size + index, index

    def count_local(self, site: Site, g: Group, byte: Array, width: int) -> None:
        if site.access < 0:
            return
        counts, a, words = self.launch.counts, site.access, max(1, width // 4)
        word = byte >> 2
        sector = word * 4 + ((g.tid & 31) >> 3)
        counts.requests[a] += g.warps
        sectors, lines = counting.distinct(g, sector, 2)
        counts.sectors[a] += sectors * words
        counts.lines[a] += lines * words
        if len(self.record_rows):
            warp = self.ctas[g.cta] * self.space.warps + (g.tid >> 5)
            base = LOCAL_SECTORS + (warp * self.local_words) * 4
            recording.sectors(self, site, g, base + sector, spread=words)
