"""Arrays as tensors: through which shape and pitch the accesses of a kernel see the memory of an array."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from gpusim.frontend.tiles.values import Array, Shape, far_array
from gpusim.ir.expr import Const, Expr
from gpusim.ir.memory_ops import Box
from gpusim.ir.ops import Atomic, Gather, Load, Op, Scatter, Store
from gpusim.ir.program import FAR, Tensor, walk
from gpusim.ir.rewrite import rewritten
from gpusim.ir.types import DTYPES

#: extent of a dimension that nothing bounds
Limit = Expr | None


@dataclass(slots=True)
class View:
    """An array cut along `strides` (elements, the last is 1). natural: the extents that memory has; limits: for each dimension what masks said; reach: how far
    accesses without a mask go there."""

    name: str
    array: Array
    strides: Shape
    natural: Shape
    limits: list[set[Limit]] = field(default_factory=list)
    reach: list[int] = field(default_factory=list)
    loaded: bool = False
    stored: bool = False

    def copy(self) -> View:
        return replace(self, limits=[set(s) for s in self.limits], reach=list(self.reach))

    @property
    def shape(self) -> Shape:
        """Where the masks end, if all agree; else what memory has."""
        return tuple(self._extent(d) for d in range(len(self.natural)))

    def _extent(self, d: int) -> int:
        natural, limits, reach = self.natural[d], self.limits[d], self.reach[d]
        only = next(iter(limits)) if len(limits) == 1 else None
        # the extents between the first and the last dimension say how far apart planes are
        free = d in (0, len(self.natural) - 1)
        return only.value if free and isinstance(only, Const) and max(reach, 1) <= only.value <= natural else natural

    def tensor(self) -> Tensor:
        role = "inout" if self.loaded and self.stored else "out" if self.stored else "in"
        pitch = self.strides[-2] if len(self.strides) > 1 else self.natural[0]
        if self.array == far_array(self.array.dtype):
            return Tensor(self.name, DTYPES[self.array.dtype], self.shape, pitch, role, 0, FAR)
        return Tensor(self.name, DTYPES[self.array.dtype], self.shape, pitch, role, 0, self.array.name if self.name != self.array.name else "")


def natural(array: Array, strides: Shape) -> Shape:
    """The extents of an array's memory when it is cut along `strides`: its own shape where the strides are its own."""
    rank = len(strides)
    if rank == 1:
        return (array.size,)
    own = _collapsed(array, rank)
    if own is not None and own[1] == strides:
        return own[0]
    inner = tuple(a // b for a, b in zip(strides, strides[1:], strict=False))
    rows = array.size // strides[0]
    return (rows, *inner) if rows else (1, *(min(n, math.ceil(array.size / s)) for n, s in zip(inner, strides[1:], strict=True)))


def _collapsed(array: Array, rank: int) -> tuple[Shape, Shape] | None:
    """Shape and strides with the leading dimensions made one, so that `rank` are left; None if they do not lie behind one another."""
    shape, strides = list(array.shape), list(array.strides)
    while len(shape) > rank:
        if strides[0] != strides[1] * shape[1]:
            return None
        shape[:2], strides[:2] = [shape[0] * shape[1]], [strides[1]]
    return (tuple(shape), tuple(strides)) if len(shape) == rank else None


def view_of(accesses: dict[str, Any], array: Array, strides: Shape) -> View:
    """The view of `array` along `strides`, made if it is new."""
    mine = [v for v in accesses.values() if v.array == array]
    found = next((v for v in mine if v.strides == strides), None)
    if found is None:
        name = array.name if not mine else f"{array.name}_{len(mine) + 1}"
        extents = natural(array, strides)
        found = accesses[name] = View(name, array, strides, extents, [set() for _ in extents], [0] * len(extents))
    return found


def settled(accesses: dict[str, View], body: tuple[Op, ...], arrays: tuple[Array, ...]) -> tuple[tuple[Tensor, ...], tuple[Op, ...]]:
    """The tensors in the order of the arrays, and the body with its boxes bounded by them."""
    names = {op.tensor for op in _addressed(body)}
    arrays = (*arrays, *(far for far in (far_array(of) for of in DTYPES) if far.name in names))
    by_array = {a.name: next((v for v in accesses.values() if v.array == a), None) for a in arrays}
    for op in _addressed(body):
        array = next(a for a in arrays if a.name == op.tensor)
        view = by_array[array.name] or view_of(accesses, array, (1,))
        by_array[array.name] = view
        view.loaded |= not isinstance(op, Scatter)
        view.stored |= not isinstance(op, Gather)
    shapes = {v.name: v.shape for v in accesses.values()}

    def bounded(op: Op) -> Op:
        if isinstance(op, Load | Store):
            return replace(op, box=_bounded(op.box, shapes[op.box.tensor]))
        if isinstance(op, Gather | Scatter | Atomic):
            view = by_array[op.tensor]
            assert view is not None
            return replace(op, tensor=view.name)
        return op

    order = {a.name: n for n, a in enumerate(arrays)}
    views = sorted(accesses.values(), key=lambda v: order[v.array.name])
    return tuple(v.tensor() for v in views), rewritten(body, bounded)


def _addressed(body: tuple[Op, ...]) -> list[Any]:
    return [op for op in walk(body) if isinstance(op, Gather | Scatter | Atomic)]


def _bounded(box: Box, shape: Shape) -> Box:
    limits = tuple(None if limit == Const(n) else limit for limit, n in zip(box.limits, shape, strict=True)) if box.limits else ()
    return replace(box, limits=limits if any(limit is not None for limit in limits) else ())
