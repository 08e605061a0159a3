"""The L2 line by line: two halves, each with its own LRU order; a line has its home in one half, and the other keeps a copy for its SMs.

State only, no time, and many lines at once. A line is a byte address // line; a mask has one bit for each of its sectors. Evidence:
reference/mechanisms-memory.md 1.1, 1.2, 3; mechanisms-decided.md 7.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gpusim.parts.lru import Lru

Array = Any  # np.ndarray

#: lines that are looked up together at most; residency is exact to this grain
GRAIN = 4096
#: sectors of a mask, and the mask of all sectors in DRAM atoms that a mask touches (two sectors an atom)
BITS = np.array([bin(m).count("1") for m in range(16)], np.int64)
ATOMS = np.array([(3 if m & 3 else 0) | (12 if m & 12 else 0) for m in range(16)], np.uint8)
#: bytes of a sector
WHOLE = 32
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
        """lines: that a half holds; dirty: of them at most; part: of them at most written in part, None: any number; block: lines of a DRAM block,
        which all have one home. Lines that left L2 dirty count as dirty until those written before them have left as well."""
        self.halves, self.block = halves, block
        self.held = [Lru(span, lines) for _ in range(halves)]
        self.valid = [np.zeros(span, np.uint8) for _ in range(halves)]
        self.wrote = [Lru(span, dirty) for _ in range(halves)]
        self.part = [Lru(span, lines if part is None else part) for _ in range(halves)]
        self.dirty = np.zeros(span, np.uint8)
        self.covered: Array | None = None
        self.phase = 0
        self.came = np.zeros(span, np.int32)
        self.sent = Written()

    def grow(self, span: int) -> None:
        """Room for lines up to `span`."""
        for table in (*self.held, *self.wrote, *self.part):
            table.stamp = _longer(table.stamp, span)
        self.valid = [_longer(v, span) for v in self.valid]
        self.dirty = _longer(self.dirty, span)
        self.came = _longer(self.came, span)
        if self.covered is not None:
            self.covered = _longer(self.covered, 4 * span)

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
            return np.zeros(len(lines), np.int64)
        return ((((lines // self.block).astype(np.uint64) * _MIX) >> np.uint64(41)) & np.uint64(1)).astype(np.int64)

    def begin(self) -> None:
        """Begin a phase: what comes from DRAM in it arrives at about the same time, whoever asks."""
        self.phase += 1

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
        if parts is not None or self.covered is not None:
            self._cover(lines, masks, parts)
        return np.concatenate([self._write(half, lines[i : i + GRAIN], masks[i : i + GRAIN]) for i in range(0, len(lines), GRAIN)] or [np.zeros(0, bool)])

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

    def _look(self, half: int, lines: Array, home: Array) -> Array:
        """Use the lines in `half`. Masks of the sectors that it has. home: which lines have their home here."""
        here = self.held[half].use(lines)
        lost = home & ~here
        if lost.any():
            self._save(lines[lost])
        had = np.where(here, self.valid[half][lines], 0).astype(np.uint8)
        self.valid[half][lines] = had
        return had

    def _save(self, lines: Array) -> None:
        """Lines that had left their home: what was dirty in them has gone to DRAM."""
        dirty = lines[self.dirty[lines] > 0]
        if len(dirty):
            self.sent.add(dirty, self.dirty[dirty], self.block, self._partly(dirty, self.dirty[dirty]))
            self.dirty[dirty] = 0

    def _read(self, half: int, lines: Array, masks: Array) -> Found:
        remote = self.home(lines) != half
        had = self._look(half, lines, ~remote)
        missed = masks & ~had
        wanted = ATOMS[missed] & ~had
        dram = wanted.copy()
        asked = np.flatnonzero(remote & (wanted > 0))
        if len(asked):
            there, atoms = lines[asked], wanted[asked]
            dram[asked] = atoms & ~self._look(1 - half, there, np.ones(len(asked), bool))
            self.valid[1 - half][there] |= atoms
        self.valid[half][lines] |= wanted
        flying = self.came[lines] == self.phase if self.phase else np.zeros(len(lines), bool)
        self.came[lines[dram > 0]] = self.phase
        return Found(masks & had, wanted & ~dram, dram, missed, flying, remote)

    def _write(self, half: int, lines: Array, masks: Array) -> Array:
        remote = self.home(lines) != half
        self._look(half, lines, ~remote)
        self.valid[half][lines] |= masks
        if self.halves > 1:
            far, near = lines[remote], lines[~remote]
            self._look(1 - half, far, np.ones(len(far), bool))
            self.valid[1 - half][far] |= masks[remote]
            self.valid[1 - half][near] &= ~masks[~remote]
            self._soil(1 - half, far, masks[remote])
            self._soil(half, near, masks[~remote])
        else:
            self._soil(half, lines, masks)
        return remote

    def _soil(self, at: int, lines: Array, masks: Array) -> None:
        """Mark sectors dirty at their home; what had been cleaned before counts once more."""
        if not len(lines):
            return
        self._save(lines[~self.wrote[at].holds(lines)])
        self.wrote[at].use(lines)
        self.dirty[lines] |= masks

    def _cover(self, lines: Array, masks: Array, parts: tuple[Array, Array] | None) -> None:
        """Count the bytes written of each sector. One that was there whole before its first write is whole."""
        if self.covered is None:
            self.covered = np.full(4 * len(self.dirty), WHOLE, np.uint8) if self.dirty.any() else np.zeros(4 * len(self.dirty), np.uint8)
        home = self.home(lines)
        here = np.zeros(len(lines), np.uint8)
        for at in range(self.halves):
            mine = home == at
            held = self.held[at].holds(lines[mine])
            self._save(lines[mine][~(held & self.wrote[at].holds(lines[mine]))])
            self._fill(at, lines[mine])
            here[mine] = np.where(held, self.valid[at][lines[mine]], 0)
        whole = here & ~self.dirty[lines]
        fresh = masks & ~self.dirty[lines]
        for bit in range(4):
            self.covered[4 * lines[fresh >> bit & 1 > 0] + bit] = 0
            self.covered[4 * lines[(masks & whole) >> bit & 1 > 0] + bit] = WHOLE
            if parts is None:
                self.covered[4 * lines[masks >> bit & 1 > 0] + bit] = WHOLE
        if parts is not None:
            sectors, nbytes = parts
            self.covered[sectors] = np.minimum(WHOLE, self.covered[sectors] + np.minimum(nbytes, WHOLE)).astype(np.uint8)
        partly = self._partly(lines, self.dirty[lines] | masks) > 0
        for at in range(self.halves):
            mine = home == at
            self.part[at].use(lines[mine & partly])
            self.part[at].drop(lines[mine & ~partly])

    def _fill(self, at: int, lines: Array) -> None:
        """Lines that were filled up because too many were written in part: they are whole and clean."""
        gone = lines[~self.part[at].holds(lines)]
        partly = self._partly(gone, self.dirty[gone])
        gone, partly = gone[partly > 0], partly[partly > 0]
        if len(gone) and self.covered is not None:
            self.sent.add(gone, partly, self.block, partly)
            self.dirty[gone] &= ~partly
            for bit in range(4):
                self.covered[4 * gone[partly >> bit & 1 > 0] + bit] = WHOLE

    def _partly(self, lines: Array, dirty: Array) -> Array:
        """Masks of the dirty sectors of these lines of which not all bytes were written."""
        out = np.zeros(len(lines), np.uint8)
        if self.covered is not None:
            for bit in range(4):
                out |= (self.covered[4 * lines + bit] < WHOLE).astype(np.uint8) << bit
        return out & dirty

    def written(self) -> tuple[Written, Written]:
        """(what went back to DRAM so far, what is still dirty)."""
        lines = np.flatnonzero(self.dirty)
        masks, home = self.dirty[lines], self.home(lines)
        partly = self._partly(lines, masks)
        still, filled = np.zeros(len(lines), bool), np.zeros(len(lines), bool)
        for at in range(self.halves):
            mine = home == at
            still[mine] = self.wrote[at].holds(lines[mine]) & self.held[at].holds(lines[mine])
            filled[mine] = (partly[mine] > 0) & ~self.part[at].holds(lines[mine])
        back, left = self.sent.copy(), Written()
        back.add(lines[~still], masks[~still], self.block, partly[~still])
        early = still & filled
        back.add(lines[early], partly[early], self.block, partly[early])
        masks = np.where(early, masks & ~partly, masks)
        left.add(lines[still], masks[still], self.block, np.where(early, 0, partly)[still].astype(np.uint8))
        return back, left


def _longer(table: Array, span: int) -> Array:
    """Zeros behind it; pages of them that nobody touches take no memory."""
    if span <= len(table):
        return table
    out = np.zeros(span, table.dtype)
    out[: len(table)] = table
    return out


@dataclass(slots=True)
class Written:
    """Dirty sectors, and the DRAM atoms and blocks they lie in; fills, fill_atoms, fill_blocks: sectors that were written in
    part and must be read first, and the atoms and blocks they lie in."""

    sectors: int = 0
    atoms: int = 0
    blocks: int = 0
    fills: int = 0
    fill_atoms: int = 0
    fill_blocks: int = 0

    def add(self, lines: Array, masks: Array, block: int, partly: Array) -> None:
        """lines: distinct, ascending; partly: masks of the sectors that were written in part."""
        self.sectors += int(BITS[masks].sum())
        self.atoms += int((BITS[ATOMS[masks]] // 2).sum())
        self.blocks += distinct_blocks(lines, block)
        if partly.any():
            self.fills += int(BITS[partly].sum())
            self.fill_atoms += int((BITS[ATOMS[partly]] // 2).sum())
            self.fill_blocks += distinct_blocks(lines[partly > 0], block)

    def more(self, other: Written, times: int) -> None:
        """Add `other` so many times."""
        for f in fields(self):
            setattr(self, f.name, getattr(self, f.name) + times * getattr(other, f.name))

    def copy(self) -> Written:
        return replace(self)

    def less(self, other: Written) -> Written:
        return Written(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))


def distinct_blocks(lines: Array, block: int) -> int:
    """DRAM blocks that ascending lines lie in."""
    if not len(lines):
        return 0
    at = lines // block
    return int(np.count_nonzero(at[1:] != at[:-1])) + 1
