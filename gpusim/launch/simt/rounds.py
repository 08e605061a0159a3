"""The traffic pass where CTAs fall into classes. CTAs of a wave run side by side: step by step, what they touch goes to L2 together; CTAs whose
shift is the same touch the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.launch.simt.affine import Coefs
from gpusim.launch.simt.strips import Kind, shift
from gpusim.launch.simt.walk import Walk

Array = Any  # np.ndarray


@dataclass(frozen=True, slots=True)
class Group:
    """CTAs of one class and L2 half in a wave. members: how many. shifts: Access -> sectors by which what they touch is shifted, ascending and distinct;
    own: Access -> (CTA, its shift) of those whose levels are kept."""

    kind: int
    half: int
    members: int
    shifts: dict[int, Array]
    own: dict[int, list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class Round:
    """One piece of the strips of a wave."""

    groups: tuple[Group, ...]
    piece: int

    def steps(self, kinds: Sequence[Kind]) -> list[tuple[Group, int]]:
        """(group, Access) in the order in which they are walked."""
        i = self.piece
        return [(g, access) for g in self.groups if i < len(kinds[g.kind].pieces) for access in kinds[g.kind].pieces[i].touched]


@dataclass(frozen=True, slots=True)
class Grid:
    """size: CTAs by axis; at: `strips.positions`; kind_of: class of each CTA; steps: see `affine.Regular`."""

    size: tuple[int, int, int]
    at: tuple[Array, Array, Array]
    kind_of: Array
    steps: Mapping[int, Coefs]


def groups(walk: Walk, grid: Grid, kinds: Sequence[Kind], wave: Array) -> tuple[Group, ...]:
    """wave: its CTAs."""
    half, kind_of = walk.half_of[wave], grid.kind_of[wave]
    wanted = wave[walk.is_wanted[wave]]
    out = []
    for number in np.unique(kind_of).tolist():
        for h in range(walk.cache.halves):
            members = wave[(kind_of == number) & (half == h)]
            if len(members):
                out.append(_group(grid, kinds[number], number, h, members, wanted))
    return tuple(out)


def _group(grid: Grid, kind: Kind, number: int, half: int, members: Array, wanted: Array) -> Group:
    mine = np.flatnonzero(np.isin(members, wanted)).tolist() if len(wanted) else []
    shifts, own = {}, {}
    for access in {a for piece in kind.pieces for a in piece.touched}:
        moved = shift(grid.size, kind.cta, grid.steps[access], grid.at, members)
        shifts[access] = np.unique(moved)
        own[access] = [(int(members[i]), int(moved[i])) for i in mine]
    return Group(number, half, len(members), shifts, own)


def walk_round(walk: Walk, kinds: Sequence[Kind], this: Round) -> None:
    """What the groups touch in this piece."""
    i, steps = this.piece, this.steps(kinds)
    if i == 0 or any(_new_phase(kinds[group.kind], i) for group, _ in steps):
        walk.cache.begin()
    for group, access in steps:
        kind, shifts = kinds[group.kind], group.shifts[access]
        lines, masks = kind.moved(i, access, shifts)
        found = walk.step(access, group.half, lines, masks, kind.parts(i, access, shifts))
        if found is not None:
            for cta, moved in group.own[access]:
                first = walk.leads(cta, access, kind.pieces[i].turn, group.members / len(shifts))
                walk.note(cta, kind.pieces[i].touched[access][0] + moved, lines, found, first)


def _new_phase(kind: Kind, piece: int) -> bool:
    return kind.pieces[piece].phase != kind.pieces[piece - 1].phase
