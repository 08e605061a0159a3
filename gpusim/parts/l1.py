"""The L1 data cache of an SM: sectored lines in sets, segmented LRU. Tags and no time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.spec.resolve import Machine

#: a cheap mixing of bits
_MIX, _MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Geometry:
    """`sets` x `ways` lines. No set: nothing is ever kept."""

    sets: int
    ways: int

    @property
    def lines(self) -> int:
        return self.sets * self.ways


def carved(shared: int, carveouts: Sequence[int]) -> int:
    """Bytes of SRAM that are set aside where the CTAs of an SM want `shared` bytes of shared memory: the smallest split that holds more, or the largest
    if it holds just them. Evidence: eight CTAs that want only the 1 KiB that the system takes of each get 32 KiB, not 8 (chases on a second H200;
    micro.json bandwidth/l1_read: 224 KiB of 256 threads do not fit, of 512 threads they do)."""
    return next((size for size in sorted(carveouts) if size > shared), max((*carveouts, shared)))


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
    """Tags of lines under segmented LRU; a line holds four 32-byte sectors, each valid or not. Sector ids are byte addresses // 32.

    A line that is touched a second time, by a load or a store, is protected from lines that are touched once; of too many protected ones the least
    recently used loses its protection. The victim is the oldest line that is not protected. A line may lie in two sets, so blocks at any
    address hardly meet. A write passes through, but it takes a line as a read does. Evidence: tests/hardware/data/l1-replacement.md.
    """

    __slots__ = ("count", "ways", "protected", "open", "shut", "valid", "place", "used", "kept", "tick", "hits", "misses", "write_hits", "write_misses")

    def __init__(self, lines: int, ways: int = 0, protected: int = 0) -> None:
        """`lines` in sets of `ways` each; 0: one set with all of them. protected: lines at most."""
        self.ways = ways or max(1, lines)
        self.count = max(1, lines // self.ways) if lines else 0
        self.protected, self.tick = protected, 0
        self.clear()
        self.hits = self.misses = self.write_hits = self.write_misses = 0

    @classmethod
    def of(cls, machine: Machine, nbytes: int) -> SectoredL1:
        """The L1 of `nbytes` that this machine has."""
        shape = geometry(machine, nbytes)
        return cls(shape.lines, shape.ways, max(0, min(machine.l1_protected, nbytes - machine.l1_open)) // machine.line)

    def read(self, sectors: Sequence[int]) -> list[int]:
        """The sectors that have to be fetched; they count as present afterwards (a second request waits for the same fetch)."""
        if not self.count:
            self.misses += len(sectors)
            return list(sectors)
        missing: list[int] = []
        valid, last = self.valid, -1
        for sector in sectors:
            line, bit = sector >> 2, 1 << (sector & 3)
            if line != last:
                self._touch(line)
                last = line
            if not valid[line] & bit:
                missing.append(sector)
                valid[line] |= bit
        self.misses += len(missing)
        self.hits += len(sectors) - len(missing)
        return missing

    def write(self, sectors: Sequence[int], whole: bool = True) -> int:
        """How many of the sectors hit: their line was there. Afterwards it is. whole: every byte of them is written, so that a read of them hits.

        Evidence: of stores that fill a line in eight instructions, seven hit (l1tex lookups of stores, GEMMs that write C 16 bytes a lane).
        """
        found, last, was = 0, -1, False
        for sector in sectors if self.count else ():
            line = sector >> 2
            if line != last:
                was, last = self._touch(line), line
            found += was
            if whole:
                self.valid[line] |= 1 << (sector & 3)
        self.write_hits += found
        self.write_misses += len(sectors) - found
        return found

    def _touch(self, line: int) -> bool:
        """Whether the line was there; afterwards it is."""
        self.tick += 1
        at = self.place.get(line)
        if at is None:
            self._bring(line)
            return False
        kept = self.kept
        self.used[line] = self.tick
        if line in kept:
            del kept[line], self.shut[at][line]
        else:
            del self.open[at][line]
        kept[line] = self.shut[at][line] = None
        if len(kept) > self.protected:
            self._demote(next(iter(kept)))
        return True

    def _demote(self, line: int) -> None:
        """It keeps its age, so it is mostly the next to go."""
        at = self.place[line]
        del self.kept[line], self.shut[at][line]
        self.open[at][line] = None

    def _bring(self, line: int) -> None:
        group, first = divmod(line, self.count)
        second = (first + ((group * _MIX & _MASK) >> 33)) % self.count
        at = next((k for k in (first, second) if len(self.open[k]) + len(self.shut[k]) < self.ways), None)
        if at is None:
            at = self._evict(first, second)
        self.open[at][line] = None
        self.place[line], self.valid[line], self.used[line] = at, 0, self.tick

    def _evict(self, first: int, second: int) -> int:
        """Make room in one of two sets; which it is. The oldest line that is not protected goes; if all are, the oldest."""
        used = self.used
        lines = (*self.open[first], *self.open[second]) or (*self.shut[first], *self.shut[second])
        victim = min(lines, key=used.__getitem__)
        at = self.place.pop(victim)
        if victim in self.kept:
            del self.kept[victim], self.shut[at][victim]
        else:
            del self.open[at][victim]
        del self.valid[victim], used[victim]
        return at

    def drop(self, sectors: Sequence[int]) -> None:
        """Atomics act in L2: what L1 holds of these sectors is no longer valid."""
        for sector in sectors:
            line = sector >> 2
            if line in self.valid:
                self.valid[line] &= ~(1 << (sector & 3))

    def clear(self) -> None:
        """A fence of the whole chip: other SMs may have written any of these lines."""
        self.open: list[dict[int, None]] = [{} for _ in range(self.count)]
        self.shut: list[dict[int, None]] = [{} for _ in range(self.count)]
        self.valid: dict[int, int] = {}
        self.place: dict[int, int] = {}
        self.used: dict[int, int] = {}
        self.kept: dict[int, None] = {}
