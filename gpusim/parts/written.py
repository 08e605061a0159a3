"""Sectors as bits of a mask, and what of them goes to DRAM."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

Array = Any  # np.ndarray

#: sectors of a mask, and the mask of all sectors in DRAM atoms that a mask touches (two sectors an atom)
BITS = np.array([bin(m).count("1") for m in range(16)], np.int64)
ATOMS = np.array([(3 if m & 3 else 0) | (12 if m & 12 else 0) for m in range(16)], np.uint8)


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
