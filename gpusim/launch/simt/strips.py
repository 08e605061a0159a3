"""The traffic pass where CTAs fall into classes: one CTA of a class was executed, the others touch the same sectors, shifted.

CTAs of a wave run side by side. Step by step, what they touch goes to L2 together; CTAs whose shift is the same touch the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.launch.simt.affine import Coefs
from gpusim.launch.simt.classes import CtaClass
from gpusim.launch.simt.walk import Walk, grouped, merged, parts_of
from gpusim.lower.simt.code import Access
from gpusim.parts.sectored_l2 import WHOLE

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
        """Pieces of at least `lines` lines (the last may have fewer). A new phase begins where the code goes on to another block, or back."""
        out: list[dict[int, list[tuple[Array, Parts]]]] = [{}]
        phases, phase, before = [0], 0, -1
        room = lines
        for access, sectors, parts in self.touches:
            if access <= before or before >= 0 and self.accesses[access].block != self.accesses[before].block:
                phase += 1
            before = access
            if room <= 0:
                out.append({})
                phases.append(phase)
                room = lines
            out[-1].setdefault(access, []).append((sectors, parts))
            room -= -(-len(sectors) // SECTORS)
        return [Piece(number, {a: _joined(found) for a, found in piece.items()}) for number, piece in zip(phases, out, strict=True)]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a strip: Access -> what it touches. phase: pieces of one phase are touched at about the same time."""

    phase: int
    touched: dict[int, Touched]


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
class _Kind:
    """A class of CTAs with the pieces of its strip."""

    cta: int
    pieces: list[Piece]
    variants: dict[tuple[int, int, int], tuple[Array, Array]] = field(default_factory=dict)

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


def walk_classes(
    walk: Walk,
    grid: tuple[int, int, int],
    classes: Sequence[CtaClass],
    strips: Mapping[int, Strip],
    steps: Mapping[int, Coefs],
    slots: int,
) -> None:
    """The whole launch, in waves of `slots` CTAs. strips: CTA of each class -> its strip; steps: see `affine.Regular`."""
    at, kind_of = positions(grid), class_of(grid, classes)
    ctas = len(kind_of)
    number = np.arange(ctas)
    kinds = [_kind(c, strips[c.cta], min(slots, ctas)) for c in classes]
    for kind, found in enumerate(classes):
        for access, changed in strips[found.cta].changed.items():
            moved, times = np.unique(shift(grid, found.cta, steps[access], at, number[kind_of == kind]), return_counts=True)
            for sectors, operations in changed:
                walk.atomics(access, (sectors + moved[:, None]).ravel(), (operations * times[:, None]).ravel())
    for first in range(0, ctas, slots):
        wave = number[first : first + slots]
        _wave(walk, grid, kinds, kind_of[wave], wave, at, steps)


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


def _kind(found: CtaClass, strip: Strip, together: int) -> _Kind:
    share = max(1, min(found.size, together) // 2)
    return _Kind(found.cta, strip.cut(max(1, TOGETHER // share)))


def _wave(walk: Walk, grid: tuple[int, int, int], kinds: Sequence[_Kind], kind_of: Array, wave: Array, at: Sequence[Array], steps: Mapping[int, Coefs]) -> None:
    half = walk.half_of[wave]
    wanted = [int(cta) for cta in wave[walk.is_wanted[wave]]]
    groups = [(number, h, wave[(kind_of == number) & (half == h)]) for number in np.unique(kind_of).tolist() for h in range(walk.cache.halves)]
    groups = [group for group in groups if len(group[2])]
    shifts: dict[tuple[int, int, int], Array] = {}
    own: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for number, h, members in groups:
        for access in {a for piece in kinds[number].pieces for a in piece.touched}:
            moved = shift(grid, kinds[number].cta, steps[access], at, members)
            shifts[number, h, access] = np.unique(moved)
            own[number, h, access] = [(cta, int(moved[members == cta][0])) for cta in wanted if cta in members]
    for i in range(max(len(kinds[number].pieces) for number, _, _ in groups)):
        present = [(number, h) for number, h, _ in groups if i < len(kinds[number].pieces)]
        if i == 0 or any(kinds[number].pieces[i].phase != kinds[number].pieces[i - 1].phase for number, _ in present):
            walk.cache.begin()
        for number, h in present:
            for access in kinds[number].pieces[i].touched:
                mine = shifts[number, h, access]
                lines, masks = kinds[number].moved(i, access, mine)
                found = walk.step(access, h, lines, masks, kinds[number].parts(i, access, mine))
                if found is not None:
                    for cta, moved in own[number, h, access]:
                        walk.note(cta, kinds[number].pieces[i].touched[access][0] + moved, lines, found)


def shift(grid: tuple[int, int, int], origin: int, step: Coefs, at: Sequence[Array], members: Array) -> Array:
    """In sectors, from the CTA `origin` to each of `members`. at: `positions` of the grid."""
    start = (origin % grid[0], origin // grid[0] % grid[1], origin // (grid[0] * grid[1]))
    moved = sum(c * (axis[members] - o) for c, axis, o in zip(step, at, start, strict=True))
    return np.asarray(moved, np.int64) // SECTOR
