"""Shapes and dtypes of the values of a program: each op says what its result is, given what it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.ir.functions import MAPS
from gpusim.ir.ops import Cast, Full, Load, Map, Op, Reduce, writes
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
    return TileType(op.box.shape, tensors[op.box.tensor].dtype)


def _full(op: Full, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(op.shape, op.dtype)


def _map(op: Map, tiles: Tiles, tensors: Tensors) -> TileType:
    shape = np.broadcast_shapes(*(tiles[a].shape for a in op.args))
    of = DTYPES["bool"] if MAPS[op.fn].gives == "B" else tiles[op.args[-1]].dtype
    return TileType(shape, of)


def _reduce(op: Reduce, tiles: Tiles, tensors: Tensors) -> TileType:
    shape = tiles[op.src].shape
    return TileType((*shape[: op.axis], 1, *shape[op.axis + 1 :]), tiles[op.src].dtype)


def _cast(op: Cast, tiles: Tiles, tensors: Tensors) -> TileType:
    return TileType(tiles[op.src].shape, op.dtype)


_RESULTS: dict[type, Callable[[Any, Tiles, Tensors], TileType]] = {Load: _load, Full: _full, Map: _map, Reduce: _reduce, Cast: _cast}


def result(op: Op, tiles: Tiles, tensors: Tensors) -> TileType:
    """The type of the tile that `op` defines. `op` has passed the checker's rules for what it reads."""
    return _RESULTS[type(op)](op, tiles, tensors)


def tile_types(program: Program) -> dict[str, TileType]:
    """name -> type of every tile of a checked program."""
    tensors = {t.name: t for t in program.tensors}
    tiles: dict[str, TileType] = {}
    for op in walk(program.body):
        if dst := writes(op):
            tiles[dst] = result(op, tiles, tensors)
    return tiles
