"""Nodes that make tiles out of numbers and other tiles: indices, other shapes, parts, running sums, and folds by a function of the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.ir.expr import Expr
from gpusim.ir.types import DType

if TYPE_CHECKING:
    from gpusim.ir.ops import Op


@dataclass(frozen=True, slots=True)
class Index:
    """dst[i0, i1, ...] = start + steps[0] * i0 + steps[1] * i1 + ...: integers that are a formula. Shape () makes a scalar a tile."""

    dst: str
    shape: tuple[int, ...]
    dtype: DType
    start: Expr
    steps: tuple[Expr, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Reshape:
    """dst = the elements of src, in row-major order, with another shape. Where only extents of 1 come or go, nothing moves."""

    dst: str
    src: str
    shape: tuple[int, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Broadcast:
    """dst = src repeated along its axes of extent 1, and along new leading ones, to `shape`."""

    dst: str
    src: str
    shape: tuple[int, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Transpose:
    """dst = src with its axes in `order`: axis n of dst is axis order[n] of src."""

    dst: str
    src: str
    order: tuple[int, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Join:
    """dst = a and b side by side in a new last axis of extent 2."""

    dst: str
    a: str
    b: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """dst = src at `index` of `axis`, which is dropped."""

    dst: str
    src: str
    axis: int
    index: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Take:
    """dst = src at the places that the integer tile `index` gives along `axis`."""

    dst: str
    src: str
    index: str
    axis: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Sort:
    """dst = src in ascending order along `axis`, or in descending order."""

    dst: str
    src: str
    axis: int
    descending: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Histogram:
    """dst[b] = how many elements of the integer tile src are b, for `bins` bins (int32). Others are not counted."""

    dst: str
    src: str
    bins: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scan:
    """dst = src accumulated along `axis` by fn ("sum", "prod", "max", "min"), each element included; reverse: from the end."""

    dst: str
    fn: str
    src: str
    axis: int
    reverse: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Fold:
    """dsts = srcs (tiles of one shape) combined along `axis` by ops of the user: with `left` and `right` standing for two sets of
    elements, `body` computes `results`. The function is associative. The axis is dropped; with scan it stays and holds every
    partial result, in reverse from its end."""

    dsts: tuple[str, ...]
    srcs: tuple[str, ...]
    axis: int
    left: tuple[str, ...]
    right: tuple[str, ...]
    body: tuple[Op, ...]
    results: tuple[str, ...]
    scan: bool = False
    reverse: bool = False
    line: int = 0
