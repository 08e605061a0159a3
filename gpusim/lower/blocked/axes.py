"""Which axes of which tiles are one axis of the threads.

Tiles that meet in an operation lie in registers alike, so their axes are tied together; a tied set has one extent. Sets that occur in one tile make a
group, which gets one layout with an axis for each set. An axis of extent 1 belongs to no set: it lies nowhere, or everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import Atomic, Broadcast, Cast, Gather, Map, Op, Reduce, Reshape, Scan, Scatter, Update
from gpusim.ir.program import Program, walk

#: (tile, axis)
Axis = tuple[str, int]
Types = dict[str, TileType]


@dataclass(frozen=True, slots=True)
class Group:
    """Tiles that share a layout. extents: of its axes, the fastest last."""

    number: int
    extents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Axes:
    """groups; of each tile its group, and for each of its axes the axis of the group (None: of extent 1)."""

    groups: tuple[Group, ...]
    group: dict[str, int]
    along: dict[str, tuple[int | None, ...]]

    def shape(self, tile: str) -> tuple[int, ...]:
        """The extents of a tile along the axes of its group."""
        group = self.groups[self.group[tile]]
        return tuple(extent if axis in self.along[tile] else 1 for axis, extent in enumerate(group.extents))


def axes(program: Program) -> Axes:
    """GpusimError where tiles cannot stay in registers: where axes change places, or elements move to other ones."""
    types = tile_types(program)
    sets = _Sets(types)
    for op in walk(program.body):
        for a, b in _tied(op, types, program):
            sets.tie(a, b)
    rows = {name: tuple(sets.of((name, axis)) if extent > 1 else None for axis, extent in enumerate(t.shape)) for name, t in types.items()}
    members = _groups(rows)
    orders = [_order(program, [rows[name] for name in names]) for names in members]
    groups = tuple(Group(n, tuple(sets.extent[axis] for axis in order) or (1,)) for n, order in enumerate(orders))
    group = {name: n for n, names in enumerate(members) for name in names}
    along = {name: tuple(None if a is None else orders[group[name]].index(a) for a in row) for name, row in rows.items()}
    return Axes(groups, group, along)


class _Sets:
    """Union of axes, each set by one of its members."""

    def __init__(self, types: Types) -> None:
        self.parent: dict[Axis, Axis] = {}
        self.extent = {(name, axis): extent for name, t in types.items() for axis, extent in enumerate(t.shape)}

    def of(self, axis: Axis) -> Axis:
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def tie(self, a: Axis, b: Axis) -> None:
        if self.extent[a] > 1 and self.extent[b] > 1 and self.of(a) != self.of(b):
            self.parent[self.of(b)] = self.of(a)


def _same(types: Types, *names: str) -> Iterator[tuple[Axis, Axis]]:
    """Axes counted from the last one, as broadcasting counts them."""
    for a, b in zip(names, names[1:], strict=False):
        ranks = len(types[a].shape), len(types[b].shape)
        yield from (((a, ranks[0] - n), (b, ranks[1] - n)) for n in range(1, min(ranks) + 1))


def _map(op: Map, types: Types) -> Iterator[tuple[Axis, Axis]]:
    for arg in op.args:
        yield from _same(types, op.dst, arg)


def _reduce(op: Reduce, types: Types) -> Iterator[tuple[Axis, Axis]]:
    for axis in range(len(types[op.src].shape)):
        if axis != op.axis:
            yield (op.src, axis), (op.dst, axis - (axis > op.axis and not op.keep))


def _reshape(op: Reshape, types: Types) -> Iterator[tuple[Axis, Axis]]:
    old, new = ([(axis, n) for axis, n in enumerate(shape) if n > 1] for shape in (types[op.src].shape, op.shape))
    if [n for _, n in old] != [n for _, n in new]:
        raise GpusimError("no timing for a reshape that moves elements yet.", where=f"line {op.line}", hint="Axes of extent 1 may come and go.")
    yield from (((op.src, a), (op.dst, b)) for (a, _), (b, _) in zip(old, new, strict=True))


_TIES: dict[type, Callable[[Any, Types], Iterable[tuple[Axis, Axis]]]] = {
    Map: _map,
    Reduce: _reduce,
    Reshape: _reshape,
    Broadcast: lambda op, types: _same(types, op.src, op.dst),
    Update: lambda op, types: _same(types, op.src, op.dst),
    Cast: lambda op, types: _same(types, op.src, op.dst),
    Scan: lambda op, types: _same(types, op.src, op.dst),
    Gather: lambda op, types: _same(types, op.dst, op.index, *((op.mask,) if op.mask else ())),
    Scatter: lambda op, types: _same(types, op.index, op.src, *((op.mask,) if op.mask else ())),
    Atomic: lambda op, types: _same(types, op.dst, op.index, op.src, *((op.mask,) if op.mask else ())),
}


def _tied(op: Op, types: Types, program: Program) -> Iterable[tuple[Axis, Axis]]:
    return _TIES[type(op)](op, types) if type(op) in _TIES else ()


def _groups(rows: dict[str, tuple[Axis | None, ...]]) -> list[list[str]]:
    """Tiles that have an axis in common, directly or through others. Tiles without any stand alone."""
    groups: list[tuple[set[Axis], list[str]]] = []
    for name, row in rows.items():
        mine = {a for a in row if a is not None}
        near = [g for g in groups if g[0] & mine]
        merged = (mine.union(*(g[0] for g in near)), [n for g in near for n in g[1]] + [name])
        groups = [g for g in groups if g not in near] + [merged]
    return [names for _, names in groups]


def _order(program: Program, rows: list[tuple[Axis | None, ...]]) -> list[Axis]:
    """The axes of a group in an order that every tile of it has."""
    after: dict[Axis, set[Axis]] = {}
    for row in rows:
        some = [a for a in row if a is not None]
        for n, axis in enumerate(some):
            after.setdefault(axis, set()).update(some[n + 1 :])
    order: list[Axis] = []
    while after:
        free = [a for a in after if not any(a in behind for other, behind in after.items() if other != a)]
        if not free or any(a in after[a] for a in free):
            raise GpusimError("no timing for tiles whose axes change places yet.", where=program.name, hint="Load the tile in the other order instead.")
        order.append(free[0])
        del after[free[0]]
    return order
