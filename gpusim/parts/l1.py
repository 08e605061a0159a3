"""The L1 data cache of an SM: sectored lines under one LRU order."""

from __future__ import annotations

from collections.abc import Sequence


class SectoredL1:
    """`lines` tags; a line holds four 32-byte sectors, each valid or not. Sector ids are byte addresses // 32.

    A write passes through: it does not bring a line in, and a sector that is there stays (it now holds what was written).
    """

    __slots__ = ("lines", "tags", "hits", "misses")

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.tags: dict[int, int] = {}
        self.hits = 0
        self.misses = 0

    def read(self, sectors: Sequence[int]) -> list[int]:
        """The sectors that have to be fetched; they count as present afterwards (a second request waits for the same fetch)."""
        tags = self.tags
        missing: list[int] = []
        for sector in sectors:
            line, bit = sector >> 2, 1 << (sector & 3)
            valid = tags.pop(line, 0)
            if not valid & bit:
                missing.append(sector)
            tags[line] = valid | bit
        if len(tags) > self.lines:
            self._evict()
        self.misses += len(missing)
        self.hits += len(sectors) - len(missing)
        return missing

    def drop(self, sectors: Sequence[int]) -> None:
        """Atomics act in L2: what L1 holds of these sectors is no longer valid."""
        for sector in sectors:
            line = sector >> 2
            valid = self.tags.get(line, 0) & ~(1 << (sector & 3))
            if valid:
                self.tags[line] = valid
            else:
                self.tags.pop(line, None)

    def clear(self) -> None:
        """A fence of the whole chip: other SMs may have written any of these lines."""
        self.tags.clear()

    def _evict(self) -> None:
        tags = self.tags
        for line in list(tags)[: len(tags) - self.lines]:
            del tags[line]
