"""Shapes and dtypes of the values of a program: each op says what its result is, given what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.ir.functions import ARGS, FIXED, MAPS
from gpusim.ir.ops import (
    Atomic,
    Broadcast,
    Cast,
    Fold,
    Full,
    Gather,
    Histogram,
    Index,
    Join,
    Load,
    Map,
    Op,
    Part,
    Reduce,
    Reshape,
    Scan,
    Sort,
    Take,
    Transpose,
    written,
)  # fmt: skip
from gpusim.ir.program import Program, Tensor, walk
from gpusim.ir.types import DTYPES, DType


@dataclass(frozen=True, slots=True)
class TileType:
    """The extent of a tile in elements, and what its elements are."""

    shape: tuple[int, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


Tiles = Mapping[str, TileType]
Tensors = Mapping[str, Tensor]


def _load(op: Load, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(op.box.tile, tensors[op.box.tensor].dtype)


def _gather(op: Gather | Atomic, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(tiles[op.index].shape, tensors[op.tensor].dtype)


def _map(op: Map, tiles: Tiles, tensors: Tensors) -> TileType:
    shape = np.broadcast_shapes(*(tiles[a].shape for a in op.args))
    gives = FIXED.get(MAPS[op.fn].gives)
    return TileType(shape, DTYPES[gives] if gives else tiles[op.args[-1]].dtype)


def _reduce(op: Reduce, tiles: Tiles, tensors: Tensors) -> TileType:
    of = DTYPES["int32"] if op.fn in ARGS else tiles[op.src].dtype
    return TileType(without(tiles[op.src].shape, op.axis, op.keep), of)


def without(shape: tuple[int, ...], axis: int, keep: bool = False) -> tuple[int, ...]:
    """`shape` with one axis dropped, or kept with extent 1."""
    return (*shape[:axis], *((1,) if keep else ()), *shape[axis + 1 :])


def _made(op: Full | Index, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(op.shape, op.dtype)


def _cast(op: Cast, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(tiles[op.src].shape, op.dtype)


def _shaped(op: Reshape | Broadcast, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(op.shape, tiles[op.src].dtype)


def _transpose(op: Transpose, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(tuple(tiles[op.src].shape[axis] for axis in op.order), tiles[op.src].dtype)


def _join(op: Join, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType((*tiles[op.a].shape, 2), tiles[op.a].dtype)


def _part(op: Part, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(without(tiles[op.src].shape, op.axis), tiles[op.src].dtype)


def _take(op: Take, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(tiles[op.index].shape, tiles[op.src].dtype)


def _same(op: Sort | Scan, tiles: Tiles, tensors: Tensors) -> TileType:
    return tiles[op.src]


def _histogram(op: Histogram, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType((op.bins,), DTYPES["int32"])


_RESULTS: dict[type, Callable[[Any, Tiles, Tensors], TileType]] = {
    Load: _load, Gather: _gather, Atomic: _gather, Full: _made, Index: _made, Map: _map, Reduce: _reduce, Cast: _cast, Reshape: _shaped, Broadcast: _shaped,
    Transpose: _transpose, Join: _join, Part: _part, Take: _take, Sort: _same, Scan: _same, Histogram: _histogram,
}  # fmt: skip


def result(op: Op, tiles: Tiles, tensors: Tensors) -> TileType:
    """The type of the tile that `op` defines. `op` has passed the checker's rules for what it reads."""
    return _RESULTS[type(op)](op, tiles, tensors)


def results(op: Op, tiles: Tiles, tensors: Tensors) -> dict[str, TileType]:
    """The types of all tiles that `op` defines, and of the elements that stand in the body of a Fold."""
    if isinstance(op, Fold):
        types = [tiles[src] for src in op.srcs]
        made = {dst: TileType(t.shape if op.scan else without(t.shape, op.axis), t.dtype) for dst, t in zip(op.dsts, types, strict=True)}
        elements = {name: TileType((), t.dtype) for side in (op.left, op.right) for name, t in zip(side, types, strict=True)}
        return made | elements
    return {dst: result(op, tiles, tensors) for dst in written(op)}


def tile_types(program: Program) -> dict[str, TileType]:
    """name -> type of every tile of a checked program."""
    tensors = {t.name: t for t in program.tensors}
    tiles: dict[str, TileType] = {}
    for op in walk(program.body):
        tiles |= results(op, tiles, tensors)
    return tiles
