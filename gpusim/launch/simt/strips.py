"""What the CTAs of a class touch: one of them was executed, the others touch the same sectors, shifted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.launch.simt.affine import Coefs
from gpusim.launch.simt.classes import CtaClass
from gpusim.launch.simt.walk import grouped, merged, parts_of
from gpusim.lower.simt.code import Access
from gpusim.parts.covered import WHOLE

Array = Any  # np.ndarray

#: lines that the CTAs of a half touch together in one step, at least where their program has as many
TOGETHER = 4096
SECTOR, SECTORS = 32, 4


Parts = tuple[Array, Array] | None
#: ascending sectors, and how many bytes of each are written where some are not written whole
Touched = tuple[Array, Parts]


class Strip:
    """What one CTA touches, in order. accesses: of its code."""

    def __init__(self, accesses: Sequence[Access]) -> None:
        self.accesses = accesses
        self.touches: list[tuple[int, Array, Parts]] = []
        self.changed: dict[int, list[tuple[Array, Array]]] = {}

    def atomics(self, access: int, sectors: Array, operations: Array) -> None:
        self.changed.setdefault(access, []).append((sectors, operations))

    def touch(self, access: int, _ctas: Array, sectors: Array) -> None:
        found = self.accesses[access]
        parts = parts_of(sectors.ravel(), found.bytes) if found.kind == "store" else None
        self.touches.append((access, np.unique(sectors), parts))

    def cut(self, lines: int) -> list[Piece]:
        """Pieces of at least `lines` lines (the last may have fewer). A new phase begins where the code goes on to another block, or back; what comes
        back to memory of an earlier phase is another piece."""
        out: list[_Open] = []
        turns: dict[int, int] = {}
        phase, before = 0, -1
        for access, sectors, parts in self.touches:
            if access <= before or before >= 0 and self.accesses[access].block != self.accesses[before].block:
                phase += 1
            before = access
            turns[access] = turn = turns.get(access, -1) + 1
            atoms = set((sectors >> 1).tolist())
            if not out or out[-1].lines >= lines or out[-1].comes_back(phase, atoms):
                out.append(_Open(phase, turn))
            out[-1].add(phase, access, sectors, parts, atoms)
        return [Piece(o.phase, o.turn, {a: _joined(found) for a, found in o.touched.items()}) for o in out]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a strip: Access -> what it touches. phase: pieces of one phase are touched at about the same time; turn: how often the first Access of the
    piece had been made before."""

    phase: int
    turn: int
    touched: dict[int, Touched]


@dataclass(slots=True)
class _Open:
    """A piece that grows. earlier: DRAM atoms of the phases before the last one."""

    phase: int
    turn: int
    touched: dict[int, list[tuple[Array, Parts]]] = field(default_factory=dict)
    lines: int = 0
    last: int = -1
    earlier: set[int] = field(default_factory=set)
    latest: set[int] = field(default_factory=set)

    def comes_back(self, phase: int, atoms: set[int]) -> bool:
        return not self.earlier.isdisjoint(atoms) or phase != self.last and not self.latest.isdisjoint(atoms)

    def add(self, phase: int, access: int, sectors: Array, parts: Parts, atoms: set[int]) -> None:
        if phase != self.last:
            self.earlier |= self.latest
            self.latest, self.last = set(), phase
        self.latest |= atoms
        self.touched.setdefault(access, []).append((sectors, parts))
        self.lines += -(-len(sectors) // SECTORS)


def _joined(found: Sequence[tuple[Array, Parts]]) -> Touched:
    """Several touches as one; the bytes written of a sector add up."""
    if len(found) == 1:
        return found[0]
    sectors = np.unique(np.concatenate([s for s, _ in found]))
    if all(parts is None for _, parts in found):
        return sectors, None
    nbytes = np.zeros(len(sectors), np.int64)
    for mine, parts in found:
        nbytes[np.searchsorted(sectors, mine)] += WHOLE if parts is None else parts[1]
    return sectors, None if (nbytes >= WHOLE).all() else (sectors, nbytes)


@dataclass(slots=True)
class Kind:
    """A class of CTAs, of which `cta` was executed, with the pieces of its strip."""

    cta: int
    pieces: list[Piece]
    variants: dict[tuple[int, int, int], tuple[Array, Array]] = field(default_factory=dict)

    @staticmethod
    def of(found: CtaClass, strip: Strip, together: int) -> Kind:
        """together: CTAs of a wave."""
        share = max(1, min(found.size, together) // 2)
        return Kind(found.cta, strip.cut(max(1, TOGETHER // share)))

    def moved(self, piece: int, access: int, shifts: Array) -> tuple[Array, Array]:
        """Lines and masks of the piece for these shifts (in sectors, ascending and distinct)."""
        base = self.pieces[piece].touched[access][0]
        parts = []
        for rest in range(SECTORS):
            mine = shifts[shifts % SECTORS == rest] // SECTORS
            if len(mine):
                key = (piece, access, rest)
                if key not in self.variants:
                    self.variants[key] = grouped(base + rest)
                lines, masks = self.variants[key]
                parts.append(((mine[:, None] + lines).ravel(), np.tile(masks, len(mine))))
        lines, masks = parts[0] if len(parts) == 1 else (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))
        if len(lines) > 1 and not (lines[1:] > lines[:-1]).all():
            order = np.argsort(lines, kind="stable")
            lines, masks = merged(lines[order], masks[order])
        return lines, masks

    def parts(self, piece: int, access: int, shifts: Array) -> Parts:
        """What is written of each sector, for these shifts."""
        found = self.pieces[piece].touched[access][1]
        if found is None:
            return None
        sectors, nbytes = (found[0] + shifts[:, None]).ravel(), np.tile(found[1], len(shifts))
        distinct, where = np.unique(sectors, return_inverse=True)
        return distinct, np.bincount(where, nbytes).astype(np.int64)


def positions(grid: tuple[int, int, int]) -> tuple[Array, Array, Array]:
    """ctaid of every CTA, by axis."""
    number = np.arange(grid[0] * grid[1] * grid[2])
    return number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])


def class_of(grid: tuple[int, int, int], classes: Sequence[CtaClass]) -> Array:
    """Place in `classes` of each CTA's class."""
    out = np.zeros((grid[2], grid[1], grid[0]), np.int32)
    for number, found in enumerate(classes):
        for x, y, z in found.boxes:
            out[z.start : z.stop : z.step, y.start : y.stop : y.step, x.start : x.stop : x.step] = number
    return out.ravel()


def shift(grid: tuple[int, int, int], origin: int, step: Coefs, at: Sequence[Array], members: Array) -> Array:
    """In sectors, from the CTA `origin` to each of `members`. at: `positions` of the grid."""
    start = (origin % grid[0], origin // grid[0] % grid[1], origin // (grid[0] * grid[1]))
    moved = sum(c * (axis[members] - o) for c, axis, o in zip(step, at, start, strict=True))
    return np.asarray(moved, np.int64) // SECTOR
