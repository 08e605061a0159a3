"""The L1 data cache of an SM: sectored lines in sets, LRU in each set. Tags and no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.spec.resolve import Machine


@dataclass(frozen=True, slots=True)
class Geometry:
    """`sets` x `ways` lines. No set: nothing is ever kept."""

    sets: int
    ways: int

    @property
    def lines(self) -> int:
        return self.sets * self.ways


def carved(shared: int, carveouts: Sequence[int]) -> int:
    """Bytes of SRAM that are set aside where the CTAs of an SM want `shared` bytes of shared memory: the smallest split that holds them."""
    return next((size for size in sorted(carveouts) if size >= shared), shared)


def capacity(machine: Machine, shared: int) -> int:
    """Bytes of L1 that are left where the CTAs of an SM hold `shared` bytes of shared memory, with what the system takes of each."""
    return max(0, machine.l1_bytes - machine.l1_reserved - carved(shared, machine.carveouts))


def geometry(machine: Machine, nbytes: int) -> Geometry:
    """The sets and ways of an L1 of `nbytes`.

    A way takes an equal part of the SRAM. Shared memory takes whole ways; of the last one it leaves fewer sets. Evidence: a chase over F bytes in
    a row misses (ways + 1) (F - C) / F times just above the capacity C; ways are 3 from 184 KiB of L1 on, 2 at 116 and 148 KiB, 1 below.
    """
    lines, most = nbytes // machine.line, machine.l1_bytes // machine.line
    ways = machine.l1_ways and min(machine.l1_ways, max(1, -(-lines * machine.l1_ways // most)))
    return Geometry(lines // ways, ways) if ways else Geometry(min(lines, 1), lines)


class SectoredL1:
    """Tags of lines; a line holds four 32-byte sectors, each valid or not. Sector ids are byte addresses // 32. A line lies in set line mod sets.

    A write passes through, but it takes a line as a read does.
    """

    __slots__ = ("count", "ways", "sets", "hits", "misses", "write_hits", "write_misses")

    def __init__(self, lines: int, ways: int = 0) -> None:
        """`lines` in sets of `ways` each; 0: one set with all of them."""
        self.ways = ways or max(1, lines)
        self.count = max(1, lines // self.ways) if lines else 0
        self.sets: list[dict[int, int]] = [{} for _ in range(self.count)]
        self.hits = self.misses = self.write_hits = self.write_misses = 0

    @classmethod
    def of(cls, machine: Machine, nbytes: int) -> SectoredL1:
        """The L1 of `nbytes` that this machine has."""
        shape = geometry(machine, nbytes)
        return cls(shape.lines, shape.ways)

    def read(self, sectors: Sequence[int]) -> list[int]:
        """The sectors that have to be fetched; they count as present afterwards (a second request waits for the same fetch)."""
        if not self.count:
            self.misses += len(sectors)
            return list(sectors)
        sets, count, ways = self.sets, self.count, self.ways
        missing: list[int] = []
        for sector in sectors:
            line, bit = sector >> 2, 1 << (sector & 3)
            tags = sets[line % count]
            valid = tags.pop(line, 0)
            if not valid & bit:
                missing.append(sector)
                if not valid and len(tags) >= ways:
                    del tags[next(iter(tags))]
            tags[line] = valid | bit
        self.misses += len(missing)
        self.hits += len(sectors) - len(missing)
        return missing

    def write(self, sectors: Sequence[int], whole: bool = True) -> int:
        """How many of the sectors hit: their line was there. Afterwards it is. whole: every byte of them is written, so that a read of them hits.

        Evidence: of stores that fill a line in eight instructions, seven hit (l1tex lookups of stores, GEMMs that write C 16 bytes a lane).
        """
        found = 0
        for sector in sectors if self.count else ():
            line = sector >> 2
            tags = self.sets[line % self.count]
            valid = tags.pop(line, None)
            if valid is not None:
                found += 1
            elif len(tags) >= self.ways:
                del tags[next(iter(tags))]
            tags[line] = (valid or 0) | (1 << (sector & 3) if whole else 0)
        self.write_hits += found
        self.write_misses += len(sectors) - found
        return found

    def drop(self, sectors: Sequence[int]) -> None:
        """Atomics act in L2: what L1 holds of these sectors is no longer valid."""
        for sector in sectors if self.count else ():
            line = sector >> 2
            tags = self.sets[line % self.count]
            if line in tags:
                tags[line] &= ~(1 << (sector & 3))

    def clear(self) -> None:
        """A fence of the whole chip: other SMs may have written any of these lines."""
        for tags in self.sets:
            tags.clear()
