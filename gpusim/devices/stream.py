"""A lowered body made ready to run: boxes numbered, addresses reduced to an affine key, steps chosen.

One `Stream` serves every CTA of the launch; a CTA adds only its block id.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

from gpusim.ir.expr import evaluate
from gpusim.ir.ops import Box, Let
from gpusim.ir.pipeline import Pipeline
from gpusim.ir.program import Tensor
from gpusim.parts.coalesce import Touched, touch
from gpusim.spec.resolve import Machine

#: bits of the row and column origin in a tile's key
ROW_BITS, COLUMN_BITS = 26, 26


@dataclass(frozen=True, slots=True)
class Site:
    """One access of the program: a box of `tensor`, `piece` bytes a lane; `number` tells tensors apart in keys."""

    box: Box
    tensor: Tensor
    piece: int
    number: int


class Placed:
    """A site for one CTA: its tile's key and extent at every loop step.

    Origins are affine in the loop variable, so that key and extent need two evaluations, not one a step.
    """

    __slots__ = ("site", "machine", "key", "stride", "row", "column", "row_stride", "column_stride", "whole", "steps")

    def __init__(self, site: Site, env: dict[str, int], var: str, machine: Machine) -> None:
        self.site, self.machine = site, machine
        at = [[int(evaluate(o, env | {var: k})) for o in site.box.origin] for k in (0, 1)]
        (self.row, self.column), (row1, column1) = _two(at[0]), _two(at[1])
        self.row_stride, self.column_stride = row1 - self.row, column1 - self.column
        self.key = (site.number << (ROW_BITS + COLUMN_BITS)) + (self.row << COLUMN_BITS) + self.column
        self.stride = (self.row_stride << COLUMN_BITS) + self.column_stride
        self.whole: Touched | None = None
        self.steps = self._whole_steps()

    def _whole_steps(self) -> float:
        """Steps whose tile is not cut by an edge that the loop moves towards, if its alignment does not change either."""
        t, (rows, columns) = self.site.tensor, _two(self.site.box.shape)
        line = self.machine.line
        if (self.row_stride * t.pitch_bytes + self.column_stride * t.dtype.bytes) % line:
            return 0
        limit = float("inf")
        height = t.shape[0] if len(t.shape) > 1 else 1
        for start, stride, extent, bound in ((self.row, self.row_stride, rows, height), (self.column, self.column_stride, columns, t.row_bound)):
            if stride:
                limit = min(limit, max(0, (bound - extent - start) // stride + 1))
        return limit

    def touched(self, k: int) -> Touched:
        """What the tile of step k touches."""
        if k < self.steps:
            if self.whole is None:
                self.whole = self._touch(k)
            return self.whole
        return self._touch(k)

    def _touch(self, k: int) -> Touched:
        t, whole = self.site.tensor, _two(self.site.box.shape)
        rows, columns = whole
        row, column = self.row + k * self.row_stride, self.column + k * self.column_stride
        if self.site.box.masked:
            rows = min(rows, (t.shape[0] if len(t.shape) > 1 else 1) - row)
            columns = min(columns, t.row_bound - column)
        size, m = t.dtype.bytes, self.machine
        offset = (row * t.pitch_bytes + column * size) % m.line
        tile = (whole[0], whole[1] * size)
        return touch(offset, max(rows, 0), max(columns, 0) * size, t.pitch_bytes, self.site.piece, m.sector, m.line, tile)


def _two(pair: Iterable[int]) -> tuple[int, int]:
    """(row, column); a vector is one row."""
    values = tuple(pair)
    return (values[0], values[1]) if len(values) > 1 else (0, values[0])


@dataclass(frozen=True, slots=True)
class Stream:
    """prologue, body and epilogue as (effect, site number or -1) pairs; `steps` the loop steps that are run, in order, out of
    `trips`; `grid`, `warps` and `shared_bytes` of the CTAs that run it."""

    grid: tuple[int, ...]
    warps: int
    shared_bytes: int
    sites: tuple[Site, ...]
    lets: tuple[Let, ...]
    var: str
    prologue: tuple[tuple[Any, int], ...]
    body: tuple[tuple[Any, int], ...]
    epilogue: tuple[tuple[Any, int], ...]
    trips: int
    steps: tuple[int, ...]
    pipeline: Pipeline | None = None

    @property
    def ctas(self) -> int:
        return prod(self.grid)

    @property
    def window(self) -> tuple[int, int]:
        """The steady middle of the steps that are run: what one more step costs is measured between these two."""
        n = len(self.steps)
        return n // 4, n - 1 - n // 4

    def env(self, cta: int) -> dict[str, int]:
        """Program ids and lets of block `cta` (x fastest)."""
        env, rest = {}, cta
        for axis, extent in enumerate(self.grid):
            env[f"pid{axis}"], rest = rest % extent, rest // extent
        for let in self.lets:
            env[let.name] = int(evaluate(let.value, env))
        return env
