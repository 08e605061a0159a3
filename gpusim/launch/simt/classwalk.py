"""A whole launch whose CTAs fall into classes, round by round through the L2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusim.launch.simt.affine import Coefs
from gpusim.launch.simt.classes import CtaClass
from gpusim.launch.simt.rounds import Grid, Round, groups
from gpusim.launch.simt.streams import walk_rounds
from gpusim.launch.simt.strips import Kind, Strip, class_of, positions, shift
from gpusim.launch.simt.walk import Walk


def walk_classes(
    walk: Walk,
    size: tuple[int, int, int],
    classes: Sequence[CtaClass],
    strips: Mapping[int, Strip],
    steps: Mapping[int, Coefs],
    slots: int,
    exact: bool = False,
) -> None:
    """The whole launch, in waves of `slots` CTAs. size: of the grid; strips: CTA of each class -> its strip; steps: see `affine.Regular`; exact: walk
    every round, also those that are known to be alike."""
    grid = Grid(size, positions(size), class_of(size, classes), steps)
    ctas = len(grid.kind_of)
    kinds = [Kind.of(c, strips[c.cta], min(slots, ctas)) for c in classes]
    _atomics(walk, grid, classes, strips)
    number = np.arange(ctas)
    waves = [groups(walk, grid, kinds, number[first : first + slots]) for first in range(0, ctas, slots)]
    walk_rounds(walk, kinds, [Round(wave, i) for wave in waves for i in range(max(len(kinds[g.kind].pieces) for g in wave))], exact)


def _atomics(walk: Walk, grid: Grid, classes: Sequence[CtaClass], strips: Mapping[int, Strip]) -> None:
    number = np.arange(len(grid.kind_of))
    for kind, found in enumerate(classes):
        for access, changed in strips[found.cta].changed.items():
            moved, times = np.unique(shift(grid.size, found.cta, grid.steps[access], grid.at, number[grid.kind_of == kind]), return_counts=True)
            for sectors, operations in changed:
                walk.atomics(access, (sectors + moved[:, None]).ravel(), (operations * times[:, None]).ravel())
