"""The traffic pass of a launch: every access to global memory, in the order of CTAs and time, walked through the L2. No time in it.

An L2 half sees each sector of a step once: what several CTAs of the half ask for together is one look. What the SMs' L1 or the merging in
the GPCs keeps from L2 would have hit there, so it changes no miss.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Any

import numpy as np

from gpusim.engine.noise import noise
from gpusim.lower.simt.code import Access
from gpusim.parts.covered import WHOLE
from gpusim.parts.sectored_l2 import Found, SectoredL2
from gpusim.parts.written import ATOMS, BITS, Written, distinct_blocks

Array = Any  # np.ndarray
#: where a sector was: near half, far half, DRAM behind the near half or behind the far half, on its way from there
NEAR, FAR, DRAM, FAR_DRAM, FLYING, FAR_FLYING = range(6)
READS = ("load", "copy", "bulk")
#: CTA -> sector -> where its requests found it, one after the other
Asked = dict[int, dict[int, list[int]]]


@dataclass(slots=True)
class Moved:
    """Sectors unless the name says otherwise.

    missed: reads that the near half did not have; near_misses: what it asked for then, whole DRAM atoms; fabric_read: of that, from the other half.
    changed: stored or changed by atomics, each step's once; remote: of them those at home in the other half.
    atoms: of DRAM, read; blocks: pieces of rows they lie in, each time. back, dirty: written to DRAM, and left in L2. allocated: lines.
    atomics: steps of atomics; hottest: those of the block of memory that has most.
    received: number of an Access -> share of its requests that L2 receives, where those of SMs of a GPC merge.
    """

    missed: int = 0
    near_misses: int = 0
    fabric_read: int = 0
    changed: int = 0
    remote: int = 0
    atoms: int = 0
    blocks: int = 0
    allocated: int = 0
    received: dict[int, float] = field(default_factory=dict)
    atomics: int = 0
    hottest: int = 0
    back: Written = field(default_factory=Written)
    dirty: Written = field(default_factory=Written)


class Walk:
    """One launch on its way through `cache`. accesses: of the code; half_of: L2 half of each CTA; wanted: CTAs whose levels are kept; drift: steps
    of a loop after which CTAs are no longer in step, if they do not stay so."""

    def __init__(self, cache: SectoredL2, accesses: Sequence[Access], half_of: Array, wanted: Iterable[int], drift: float | None = None) -> None:
        self.cache, self.half_of = cache, half_of
        self.kinds = [a.kind if a.space == "global" else "" for a in accesses]
        self.widths, self.blocks = [a.bytes for a in accesses], [a.block for a in accesses]
        self.phase, self.last = (-1, -1, -1), -1
        self.drift = drift
        self.asked: Asked = {cta: {} for cta in wanted}
        self.is_wanted = np.zeros(len(half_of), bool)
        self.is_wanted[list(self.asked)] = True
        self.moved = Moved()
        self.steps: dict[int, int] = {}
        self.before: Written | None = None
        self.brought: list[int] = []

    def open(self) -> None:
        """Open the books of the launch: what L2 did before counts no more. The first step does it, for a walk that warms L2 may come in between."""
        self.before, self.brought = self.cache.written()[0], list(self.cache.brought)

    def finish(self) -> Moved:
        """Close the books of the launch."""
        if self.before is None:
            self.open()
        assert self.before is not None
        self.moved.atomics, self.moved.hottest = sum(self.steps.values()), max(self.steps.values(), default=0)
        back, self.moved.dirty = self.cache.written()
        self.moved.back = back.less(self.before)
        self.moved.allocated = sum(self.cache.brought) - sum(self.brought)
        return self.moved

    def enter(self, access: int, ctas: Array) -> None:
        """A phase lasts as long as CTAs side by side go through one block of the code, in order."""
        key = self.blocks[access], int(ctas.flat[0]), ctas.shape[0]
        if key != self.phase or access <= self.last:
            self.cache.begin()
            self.phase = key
        self.last = access

    def atomics(self, _access: int, sectors: Array, operations: Array) -> None:
        """Steps of atomics, added to those of the blocks of memory that they change."""
        low = int(sectors.min()) // self.cache.block // 4
        steps = np.bincount(sectors // self.cache.block // 4 - low, operations)
        for block in np.flatnonzero(steps).tolist():
            self.steps[block + low] = self.steps.get(block + low, 0) + int(steps[block])

    def touch(self, access: int, ctas: Array, sectors: Array) -> None:
        """What the value pass tells (`interp.simt.launch.Watch`): one access of CTAs that run side by side."""
        self.enter(access, ctas)
        rectangle = ctas.shape[1] == 1
        half = self.half_of[ctas]
        for h in range(self.cache.halves):
            at = half == h
            if not at.any():
                continue
            mine = _of(sectors, at, rectangle)
            parts = parts_of(mine, self.widths[access]) if self.kinds[access] == "store" else None
            lines, masks = grouped(mine)
            found = self.step(access, h, lines, masks, parts)
            if found is None or not self.asked:
                continue
            keep = at & self.is_wanted[ctas]
            for cta in np.unique(ctas[keep]).tolist():
                self.note(cta, np.unique(_of(sectors, keep & (ctas == cta), rectangle)), lines, found)

    def step(self, access: int, half: int, lines: Array, masks: Array, parts: tuple[Array, Array] | None = None) -> Found | None:
        """SMs of one half touch distinct ascending lines. Where they were, if somebody waits for them: atomics find a
        line at its home. parts: see `SectoredL2.write`."""
        if self.before is None:
            self.open()
        kind, moved = self.kinds[access], self.moved
        if kind in READS:
            found = self.cache.read(half, lines, masks)
            self._book(found.dram, lines)
            asked = BITS[found.far] + BITS[found.dram]
            moved.missed += int(BITS[found.missed].sum())
            moved.near_misses += int(asked.sum())
            moved.fabric_read += int(asked[found.remote].sum())
            return found
        old: Found | None = None
        if kind == "store":
            remote = self.cache.write(half, lines, masks, parts)
        else:
            dram, remote = self.cache.atomic(lines, masks), self.cache.home(lines) != half
            self._book(dram, lines)
            there, none = masks & ~dram, np.zeros(len(lines), np.uint8)
            old = Found(np.where(remote, none, there), np.where(remote, there, none), dram, dram, none.astype(bool), remote)
        moved.changed += int(BITS[masks].sum())
        moved.remote += int(BITS[masks[remote]].sum())
        return old

    def _book(self, dram: Array, lines: Array) -> None:
        self.moved.atoms += int(BITS[ATOMS[dram]].sum()) // 2
        self.moved.blocks += distinct_blocks(lines[dram > 0], self.cache.block)

    def leads(self, cta: int, access: int, turn: int, sharers: float) -> bool:
        """Whether a CTA waits for DRAM with the others that read the same, when it makes `access` for the turn-th time: all do while they are in step,
        later one of `sharers` does, and the others come when its data are there."""
        if self.drift is None or noise(cta) < exp(-turn / self.drift):
            return True
        return noise((turn << 40) + (access << 32) + cta) * sharers < 1.0

    def note(self, cta: int, sectors: Array, lines: Array, found: Found, leads: bool = True) -> None:
        """Keep where the sectors of a CTA were. Of near hits behind each other one is kept: L1 mostly has the later ones. So nobody waits for what it
        asked for itself."""
        at = np.searchsorted(lines, sectors >> 2)
        bit = np.uint8(1) << (sectors & 3).astype(np.uint8)
        flying = np.where(found.flying[at], FLYING + found.remote[at], NEAR)
        level = np.where(found.far[at] & bit, FAR, np.where(found.dram[at] & bit, DRAM + found.remote[at], flying))
        kept = self.asked[cta]
        for sector, where in zip(sectors.tolist(), level.tolist(), strict=True):
            if not leads or where >= FLYING and (sector in kept or sector ^ 1 in kept):
                where = NEAR
            known = kept.setdefault(sector, [])
            if where or not known or known[-1]:
                known.append(where)


def _of(sectors: Array, at: Array, rectangle: bool) -> Array:
    """The sectors of the CTAs `at` (shape of the CTAs), flat."""
    if not rectangle:
        return sectors[0, at[0]] if sectors.shape[1] > 1 else sectors[0]
    return (sectors[at[:, 0]] if sectors.shape[0] > 1 else sectors).ravel()


def parts_of(sectors: Array, width: int) -> tuple[Array, Array] | None:
    """Sectors, once for each lane that writes `width` bytes of them -> (distinct, bytes written); None where all are written whole."""
    if width >= WHOLE:
        return None
    distinct, lanes = np.unique(sectors, return_counts=True)
    return None if (lanes * width >= WHOLE).all() else (distinct, lanes * width)


def grouped(sectors: Array) -> tuple[Array, Array]:
    """Sectors in any order -> (distinct lines, ascending; mask of each)."""
    if len(sectors) > 1:
        fresh = np.empty(len(sectors), bool)
        fresh[0] = True
        np.not_equal(sectors[1:], sectors[:-1], out=fresh[1:])
        sectors = sectors[fresh]
        if not (sectors[1:] > sectors[:-1]).all():
            sectors = np.sort(sectors)
    lines = sectors >> 2
    bits = np.uint8(1) << (sectors & 3).astype(np.uint8)
    return merged(lines, bits)


def merged(lines: Array, masks: Array) -> tuple[Array, Array]:
    """Ascending lines with repetitions -> distinct lines, their masks joined."""
    first = np.ones(len(lines), bool)
    np.not_equal(lines[1:], lines[:-1], out=first[1:])
    if first.all():
        return lines, masks
    starts = np.flatnonzero(first)
    return lines[starts], np.bitwise_or.reduceat(masks, starts)
