"""Closed forms for a tiled matrix product, from its sizes alone. Written beside the simulator, not with it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

SECTOR, LANES = 32, 32
SIZE = {"bf16": 2, "fp16": 2, "tf32": 4, "fp32": 4}


@dataclass(frozen=True)
class Matrix:
    """`rows` x `columns` elements of `size` bytes, stored `pitch` elements apart, touched up to `bound` elements of a row."""

    rows: int
    columns: int
    size: int
    pitch: int
    bound: int

    @property
    def lane_bytes(self) -> int:
        """What a lane moves at once: 16 bytes where every row starts and ends on a multiple of 16 elements, else one element."""
        return 16 if self.pitch % 16 == 0 and self.bound % 16 == 0 else self.size

    def tile_sectors(self, width: int) -> int:
        """Sectors that warps request when they read the matrix once in tiles `width` wide: every instruction counts its own."""
        chunk = min(width, LANES * self.lane_bytes // self.size)
        first = np.arange(0, self.bound, chunk)
        last = np.minimum(first + chunk, np.minimum((first // width + 1) * width, self.bound))
        row = np.arange(self.rows)[:, None] * self.pitch
        begin, end = (row + first) * self.size, (row + last) * self.size
        return int(((end - 1) // SECTOR - begin // SECTOR + 1).sum())

    def bytes(self) -> int:
        """The whole sectors that hold any of it."""
        begin = np.arange(self.rows) * self.pitch * self.size
        end = begin + self.bound * self.size
        if self.pitch == self.bound:
            return ceil(end[-1] / SECTOR) * SECTOR
        return int(((end - 1) // SECTOR - begin // SECTOR + 1).sum()) * SECTOR


@dataclass(frozen=True)
class Gemm:
    """C[m, n] = A[m, k] B[k, n] in tiles. Padded matrices have rows of a multiple of 16 elements, all of which may be touched."""

    m: int
    n: int
    k: int
    tile: tuple[int, int, int]
    dtype: str
    ld: str

    def matrix(self, rows: int, columns: int) -> Matrix:
        pitch = ceil(columns / 16) * 16 if self.ld == "padded" else columns
        return Matrix(rows, columns, SIZE[self.dtype], pitch, pitch)

    @property
    def a(self) -> Matrix:
        return self.matrix(self.m, self.k)

    @property
    def b(self) -> Matrix:
        return self.matrix(self.k, self.n)

    @property
    def c(self) -> Matrix:
        return self.matrix(self.m, self.n)

    @property
    def grid(self) -> tuple[int, int, int]:
        """Tiles down, across, and steps of the loop."""
        return ceil(self.m / self.tile[0]), ceil(self.n / self.tile[1]), ceil(self.k / self.tile[2])

    @property
    def ctas(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def fma(self) -> int:
        """Multiply-adds with the padding of the edge tiles."""
        (down, across, steps), (bm, bn, bk) = self.grid, self.tile
        return down * bm * across * bn * steps * bk

    @property
    def load_sectors(self) -> int:
        """A is read by every column of tiles, B by every row of tiles."""
        return self.grid[1] * self.a.tile_sectors(self.tile[2]) + self.grid[0] * self.b.tile_sectors(self.tile[1])

    @property
    def store_sectors(self) -> int:
        return self.c.tile_sectors(self.tile[1])

    @property
    def compulsory_bytes(self) -> int:
        """A and B once."""
        return self.a.bytes() + self.b.bytes()
