"""Vectors that lie along one axis of matrices become matrices with one column or one row: [M] beside [M, N] is [M, 1].

A kernel writes `m[:, None]` where it needs that; so every vector says by its uses which axis it lies along. Where all uses of a vector and of
those it is computed with agree, no reshaping is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpusim.ir.expr import Const
from gpusim.ir.infer import TileType
from gpusim.ir.ops import Cast, Full, Index, Load, Map, Op, Reduce, Reshape, Store, Update, reads, written
from gpusim.ir.program import walk
from gpusim.ir.rewrite import rewritten

#: ops through which a vector may change its shape
_FREE = (Full, Index, Map, Cast, Update, Reshape, Load, Store, Reduce)


class _Groups:
    """Vectors that are computed with each other, and the axes that their uses ask for: 0 for a column, 1 for a row, -1 for neither."""

    def __init__(self) -> None:
        self.leader: dict[str, str] = {}
        self.wanted: dict[str, set[int]] = {}

    def find(self, name: str) -> str:
        while self.leader.setdefault(name, name) != name:
            name = self.leader[name]
        return name

    def join(self, names: list[str]) -> None:
        for other in names[1:]:
            a, b = self.find(names[0]), self.find(other)
            if a != b:
                self.leader[b] = a
                self.wanted.setdefault(a, set()).update(self.wanted.pop(b, set()))

    def want(self, name: str, axis: int) -> None:
        self.wanted.setdefault(self.find(name), set()).add(axis)

    def axis(self, name: str) -> int | None:
        """Along which axis of matrices a vector lies, None if that is not agreed on."""
        wanted = self.wanted.get(self.find(name), set())
        return next(iter(wanted)) if len(wanted) == 1 and wanted != {-1} else None


def as_columns(body: tuple[Op, ...], types: dict[str, TileType]) -> tuple[Op, ...]:
    """`body` with its vectors as columns and rows. types: of all tiles of `body`."""
    groups = _Groups()
    for op in walk(body):
        _uses(op, types, groups)
    axis = {name: groups.axis(name) for name, t in types.items() if len(t.shape) == 1}
    made = rewritten(body, lambda op: _changed(op, axis, types))
    return _without_reshapes(made, axis)


def _uses(op: Op, types: dict[str, TileType], groups: _Groups) -> None:
    """What `op` says about the vectors that it reads and makes."""
    vectors = [n for n in (*written(op), *reads(op)) if len(types[n].shape) == 1]
    if not isinstance(op, _FREE):
        for name in vectors:
            groups.want(name, -1)
    elif isinstance(op, Reshape):
        _reshaped(op, types, groups)
    elif isinstance(op, Reduce):
        if vectors:
            groups.want(vectors[0], 1 - op.axis if op.dst in vectors and not op.keep and len(types[op.src].shape) == 2 else -1)
    elif isinstance(op, Map | Cast | Update) and vectors:
        groups.join(vectors)
        if any(len(types[n].shape) == 2 for n in (*written(op), *reads(op))):
            groups.want(vectors[0], 1)


def _reshaped(op: Reshape, types: dict[str, TileType], groups: _Groups) -> None:
    before, after = types[op.src].shape, op.shape
    for vector, matrix, name in ((before, after, op.src), (after, before, op.dst)):
        if len(vector) == 1:
            axis = 0 if matrix == (vector[0], 1) else 1 if matrix == (1, vector[0]) else -1
            groups.want(name, axis if vector[0] > 1 else -1)


def _changed(op: Op, axis: dict[str, int | None], types: dict[str, TileType]) -> Op:
    """The op with vectors that lie along an axis as matrices."""
    mine = axis.get(op.src if isinstance(op, Store) else getattr(op, "dst", ""))
    if mine is None:
        return op
    if isinstance(op, Full):
        return replace(op, shape=_matrix(op.shape[0], mine))
    if isinstance(op, Index):
        steps = (op.steps[0], Const(0)) if mine == 0 else (Const(0), op.steps[0])
        return replace(op, shape=_matrix(op.shape[0], mine), steps=steps)
    if isinstance(op, Reduce):
        return replace(op, keep=True)
    if isinstance(op, Load | Store):
        along = op.box.axes[0] if op.box.axes is not None else 0
        return replace(op, box=replace(op.box, axes=(along, -1) if mine == 0 else (-1, along)))
    if isinstance(op, Reshape):
        return replace(op, shape=_matrix(types[op.dst].shape[0], mine))
    return op


def _matrix(extent: int, axis: int) -> tuple[int, int]:
    return (extent, 1) if axis == 0 else (1, extent)


def _without_reshapes(body: tuple[Op, ...], axis: dict[str, int | None]) -> tuple[Op, ...]:
    """Reshapes that change nothing any more give way to what they are of, unless that is a variable, which may change before they are read."""
    variables = {op.dst for op in walk(body) if isinstance(op, Update)}
    late = _settled(body, variables)
    same: dict[str, str] = {}
    for op in walk(body):
        if isinstance(op, Reshape) and (axis.get(op.src) is not None or axis.get(op.dst) is not None) and (op.src not in variables or id(op) in late):
            same[op.dst] = same.get(op.src, op.src)
    return tuple(_renamed(body, same))


def _settled(body: tuple[Op, ...], variables: set[str]) -> set[int]:
    """Reshapes of variables that nothing updates behind them."""
    made: set[int] = set()
    pending: dict[str, list[int]] = {}
    for op in body:
        for inner in walk((op,)):
            if isinstance(inner, Update):
                pending.pop(inner.dst, None)
        if isinstance(op, Reshape) and op.src in variables:
            pending.setdefault(op.src, []).append(id(op))
    for ids in pending.values():
        made.update(ids)
    return made


def _renamed(body: tuple[Op, ...], same: dict[str, str]) -> Iterator[Op]:
    def change(op: Op) -> Op:
        fields: dict[str, Any] = {}
        for field in ("src", "a", "b", "acc", "index", "mask", "compare"):
            value = getattr(op, field, None)
            if isinstance(value, str) and value in same:
                fields[field] = same[value]
        for field in ("args", "srcs"):
            value = getattr(op, field, None)
            if isinstance(value, tuple) and any(v in same for v in value):
                fields[field] = tuple(same.get(v, v) for v in value)
        return replace(op, **fields) if fields else op

    yield from without(rewritten(body, change), same)


def without(body: tuple[Op, ...], names: dict[str, str]) -> Iterator[Op]:
    """`body` without the reshapes that define `names`."""
    for op in body:
        if isinstance(op, Reshape) and op.dst in names:
            continue
        yield _inner(op, names)


def _inner(op: Op, names: dict[str, str]) -> Op:
    fields: dict[str, Any] = {f: tuple(without(getattr(op, f), names)) for f in ("body", "then", "orelse", "before") if isinstance(getattr(op, f, None), tuple)}
    return replace(op, **fields) if fields else op
