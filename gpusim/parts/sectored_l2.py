"""The L2 line by line: two halves, each with its own LRU order; a line has its home in one half, and the other keeps a copy for its SMs.

State only, no time, and many lines at once. A line is a byte address // line; a mask has one bit for each of its sectors. Evidence:
reference/mechanisms-memory.md 1.1, 1.2, 3; mechanisms-decided.md 7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.parts.covered import WHOLE, add, put, short
from gpusim.parts.lru import Lru
from gpusim.parts.written import ATOMS, Written

Array = Any  # np.ndarray

#: lines that are looked up together at most; residency is exact to this grain
GRAIN = 4096
#: the same for lines written in part, of which few are held
PART_GRAIN = 256
#: the same for lines written in part, of which few are held
PART_GRAIN = 256
#: phases until they are counted from the beginning, and blocks whose dirty lines are booked together
_PHASES, _CHUNK = 30_000, 1 << 16
#: lines for which there is room beyond those that are asked for, at least
_SPARE = 1 << 16
#: a cheap mixing of bits, so that any pitch meets both halves alike
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Found:
    """Where the sectors of some lines were; shape of all: [lines]. A half that misses a sector asks for its whole DRAM atom, so far and dram
    may have sectors that nobody wanted. near, far: masks of what is in the reader's half, and in the other half; dram: in neither.
    missed: what was wanted and not near. flying: lines that came from DRAM in this phase. remote: lines whose home is the other half."""

    near: Array
    far: Array
    dram: Array
    missed: Array
    flying: Array
    remote: Array


class SectoredL2:
    """`span` lines of memory, of which the L2 holds some. Lines are numbered from 0."""

    def __init__(self, span: int, halves: int, lines: int, dirty: int, block: int, part: int | None = None) -> None:
        """lines: that a half holds; dirty: of them at most; part: of them at most written in part, None: any number; block: lines of a DRAM block, which
        all have one home. Lines that left L2 dirty count as dirty until those written before them have left as well."""
        self.halves, self.block = halves, block
        self.held = [Lru(0, lines) for _ in range(halves)]
        self.wrote = [Lru(0, dirty) for _ in range(halves)]
        self.part = [Lru(0, lines if part is None else part) for _ in range(halves)]
        self.entries = np.zeros((0, halves), np.int32)
        self.dirty, self.soiled = np.zeros(0, np.uint8), (span, 0)
        self.covered: Array | None = None
        self.phase = 0
        self.came = np.zeros(0, np.int16)
        self.sent = Written()
        self.grow(span)

    def grow(self, span: int) -> None:
        """Room for lines up to `span`, and some to spare: pages that nobody touches take no memory. What is looked up together lies side by side: the
        entries of a line in all halves. It is written at its home only, so one entry for that serves all halves."""
        span += max(span // 4, _SPARE)
        self.entries = _longer(self.entries, span)
        for half, table in enumerate(self.held):
            table.entries = self.entries[:, half]
        for tables in (self.wrote, self.part):
            entries = _longer(tables[0].entries, span)
            for table in tables:
                table.entries = entries
        self.dirty, self.came = _longer(self.dirty, span), _longer(self.came, span)
        if self.covered is not None:
            self.covered = _longer(self.covered, span)

    @property
    def capacity(self) -> int:
        """Lines of all halves."""
        return sum(table.capacity for table in self.held)

    @property
    def brought(self) -> list[int]:
        """Lines that each half has allocated so far."""
        return [table.brought for table in self.held]

    def home(self, lines: Array) -> Array:
        """The half of each line: a hash of its DRAM block."""
        if self.halves == 1:
            return np.zeros(len(lines), np.int8)
        mixed = (lines // self.block).astype(np.uint64)
        mixed *= _MIX
        mixed >>= np.uint64(41)
        return mixed.astype(np.int8) & np.int8(1)

    def begin(self) -> None:
        """Begin a phase: what comes from DRAM in it arrives at about the same time, whoever asks."""
        self.phase += 1
        if self.phase > _PHASES:
            self.phase, self.came = 1, np.zeros_like(self.came)

    def read(self, half: int, lines: Array, masks: Array) -> Found:
        """SMs of `half` read the sectors `masks` of distinct `lines`; they are in `half` afterwards."""
        parts = [self._read(half, lines[i : i + GRAIN], masks[i : i + GRAIN]) for i in range(0, len(lines), GRAIN)]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            none = np.zeros(0, np.uint8)
            return Found(none, none, none, none, none.astype(bool), none.astype(bool))
        return Found(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("near", "far", "dram", "missed", "flying", "remote")))

    def write(self, half: int, lines: Array, masks: Array, parts: tuple[Array, Array] | None = None) -> Array:
        """SMs of `half` write the sectors `masks` of distinct `lines`. Which lines have their home in the other half; bool, [lines].

        parts: (those sectors, distinct; how many bytes of each are written), where some are not written whole. A sector that leaves before all of it
        was written must be filled up from DRAM.
        """
        remote = self.home(lines) != half
        if parts is not None or self.covered is not None:
            self._cover(half, lines, masks, remote, parts)
        for i in range(0, len(lines), GRAIN):
            self._write(half, lines[i : i + GRAIN], masks[i : i + GRAIN], remote[i : i + GRAIN])
        return remote

    def atomic(self, lines: Array, masks: Array) -> Array:
        """Change the sectors where they are at home. Masks of those that came from DRAM; [lines]."""
        out = np.zeros(len(lines), np.uint8)
        home = self.home(lines)
        for half in range(self.halves):
            mine = home == half
            if mine.any():
                out[mine] = self.read(half, lines[mine], masks[mine]).dram
                self.write(half, lines[mine], masks[mine])
        return out

    def _save(self, lines: Array) -> None:
        """Lines that had left their home: what was dirty in them has gone to DRAM."""
        if len(lines):
            masks = self.dirty[lines]
            if masks.any():
                gone = masks > 0
                dirty, masks = lines[gone], masks[gone]
                self.sent.add(dirty, masks, self.block, self._partly(dirty, masks))
                self.dirty[dirty] = 0

    def _read(self, half: int, lines: Array, masks: Array) -> Found:
        remote, table = self.home(lines) != half, self.held[half]
        here, had, entries = table.look(lines)
        self._save(lines[~(here | remote)])
        missed = masks & ~had
        wanted = ATOMS[missed] & ~had
        table.put(lines, here, entries, had | wanted)
        dram = wanted.copy()
        asked = np.flatnonzero(remote & (wanted > 0))
        if len(asked):
            dram[asked] &= ~self._at_home(1 - half, lines[asked], wanted[asked])
        flying = self.came[lines] == self.phase if self.phase else np.zeros(len(lines), bool)
        self.came[lines[dram > 0]] = self.phase
        return Found(masks & had, wanted & ~dram, dram, missed, flying, remote)

    def _at_home(self, half: int, lines: Array, masks: Array) -> Array:
        """The home `half` of these lines gets the sectors `masks`. Masks of what it had."""
        here, had, entries = self.held[half].look(lines)
        self._save(lines[~here])
        self.held[half].put(lines, here, entries, had | masks)
        return had

    def _write(self, half: int, lines: Array, masks: Array, remote: Array) -> None:
        table = self.held[half]
        here, had, entries = table.look(lines)
        self._save(lines[~(here | remote)])
        table.put(lines, here, entries, had | masks)
        if self.halves == 1:
            self._soil(half, lines, masks)
            return
        local = ~remote
        far, near, stale = lines[remote], lines[local], masks[local]
        self._at_home(1 - half, far, masks[remote])
        self._soil(1 - half, far, masks[remote])
        _, copies, entries = self.held[1 - half].look(near)
        old = (copies & stale) > 0
        if old.any():
            self.held[1 - half].flag(near[old], entries[old], copies[old] & ~stale[old])
        self._soil(half, near, stale)

    def _soil(self, at: int, lines: Array, masks: Array) -> None:
        """Mark sectors dirty at their home; what had been cleaned before counts once more."""
        here, _, entries = self.wrote[at].look(lines)
        self._save(lines[~here])
        self.wrote[at].put(lines, here, entries, 0)
        self.dirty[lines] |= masks
        if len(lines):
            self.soiled = min(self.soiled[0], int(lines[0])), max(self.soiled[1], int(lines[-1]) + 1)

    def _cover(self, half: int, lines: Array, masks: Array, remote: Array, parts: tuple[Array, Array] | None) -> None:
        """Count the bytes written of each sector. One that was there whole before its first write is whole."""
        if self.covered is None:
            self.covered = np.zeros(len(self.dirty), np.uint32)
            soiled = np.flatnonzero(self.dirty)
            self.covered[soiled] = put(self.covered[soiled], self.dirty[soiled], WHOLE)
        homes = [(half, ~remote), (1 - half, remote)][: self.halves]
        here = np.zeros(len(lines), np.uint8)
        for at, mine in homes:
            there = lines[mine]
            held, here[mine], _ = self.held[at].look(there)
            self._save(there[~(held & self.wrote[at].holds(there))])
            self._fill(at, there)
        dirty = self.dirty[lines]
        clean = masks & ~dirty
        counts = put(self.covered[lines], clean, 0)
        counts = put(counts, clean & here, WHOLE) if parts is not None else put(counts, masks, WHOLE)
        if parts is not None:
            counts = add(counts, lines, *parts)
        self.covered[lines] = counts
        partly = short(counts) & (dirty | masks) > 0
        for at, mine in homes:
            new = lines[mine & partly]
            for i in range(0, len(new), PART_GRAIN):
                self.part[at].use(new[i : i + PART_GRAIN])
            self.part[at].drop(lines[mine & ~partly])

    def _fill(self, at: int, lines: Array) -> None:
        """Lines that were filled up because too many were written in part: they are whole and clean."""
        if self.covered is None:
            return
        gone = lines[~self.part[at].holds(lines)]
        partly = self._partly(gone, self.dirty[gone])
        some = partly > 0
        if some.any():
            gone, partly = gone[some], partly[some]
            self.sent.add(gone, partly, self.block, partly)
            self.dirty[gone] &= ~partly
            self.covered[gone] = put(self.covered[gone], partly, WHOLE)

    def _partly(self, lines: Array, dirty: Array) -> Array:
        """Masks of the dirty sectors of these lines of which not all bytes were written."""
        if self.covered is None or not len(lines):
            return np.zeros(len(lines), np.uint8)
        return short(self.covered[lines]) & dirty

    def settle(self) -> Written:
        """Book what has left L2 as sent to DRAM. What is still dirty."""
        left, (low, high) = Written(), self.soiled
        for first in range(low // self.block * self.block, high, _CHUNK * self.block):
            lines = np.flatnonzero(self.dirty[first : first + _CHUNK * self.block].view(bool)) + first
            if len(lines):
                self._settle(lines, left)
        return left

    def _settle(self, lines: Array, left: Written) -> None:
        """Of ascending dirty lines, whole blocks. left: what is still dirty is added to it."""
        home = self.home(lines)
        still, whole = np.zeros(len(lines), bool), np.zeros(len(lines), bool)
        for at in range(self.halves):
            mine = home == at
            there = lines[mine]
            still[mine] = self.wrote[at].holds(there) & self.held[at].holds(there)
            whole[mine] = ~self.part[at].holds(there)
        self._save(lines[~still])
        for at in range(self.halves):
            self._fill(at, lines[still & whole & (home == at)])
        lines = lines[still & (self.dirty[lines] > 0)]
        masks = self.dirty[lines]
        left.add(lines, masks, self.block, self._partly(lines, masks))

    def written(self) -> tuple[Written, Written]:
        """(what went back to DRAM so far, what is still dirty)."""
        left = self.settle()
        return self.sent.copy(), left


def _longer(table: Array, span: int) -> Array:
    """Zeros behind it; pages of them that nobody touches take no memory."""
    if span <= len(table):
        return table
    out = np.zeros((span, *table.shape[1:]), table.dtype)
    out[: len(table)] = table
    return out
