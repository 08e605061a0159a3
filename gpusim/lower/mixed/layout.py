"""How tiles lie over warps and lanes when a product's result is worked on and multiplied again.

The result of a warpgroup instruction lies in blocks of 64 rows: 16 rows a warp, a row over four lanes, two rows a lane. Where it becomes the A operand of
the next product, a warp needs whole rows; so warpgroups divide rows and never columns. With more warpgroups than blocks of 64 rows, several hold the
same rows and do the same work. (KER 2.1; recompilations: 171 of 171 configurations.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpusim.lower.matrix import MMA_M, WARPGROUP, WGMMA_M

LANES = 32
#: lanes of a quad, which share a row
QUAD = 4


@dataclass(frozen=True, slots=True)
class Layout:
    """`warps` work on tiles of `rows` rows; kind "wgmma" or "mma.sync"."""

    rows: int
    warps: int
    kind: str

    @property
    def unit(self) -> int:
        """Rows that a warpgroup, or without them a warp, takes at once."""
        return WGMMA_M if self.kind == "wgmma" else MMA_M

    @property
    def groups(self) -> int:
        """Warpgroups, or warps where each multiplies alone."""
        return self.warps // WARPGROUP if self.kind == "wgmma" else self.warps

    @property
    def copies(self) -> int:
        """How many groups hold the same rows."""
        return max(1, self.groups * self.unit // self.rows)

    @property
    def blocks(self) -> int:
        """Blocks of rows that each group holds one after the other."""
        return max(1, self.rows // (self.unit * self.groups))

    @property
    def row_values(self) -> int:
        """Values per lane of a tile with one value a row."""
        return 2 * self.blocks

    def elements(self, shape: tuple[int, ...], divided: bool) -> float:
        """Values per lane of a tile. divided: its columns are divided among the groups that hold the same rows; otherwise each has all of them."""
        if prod(shape) == 1 or shape[0] == 1:
            return 0.0
        if shape[-1] == 1:
            return float(self.row_values)
        return prod(shape) / (LANES * self.warps) * (1 if divided else self.copies)
