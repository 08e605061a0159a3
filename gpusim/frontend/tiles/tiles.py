"""Values that become tiles of the IR: constants, formulas and masks when something needs their elements, casts and other shapes."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.promote import kind
from gpusim.frontend.tiles.values import Lattice, Mask, Number, Pointer, Scalar, Shape, Tile, dtype_of, is_number, is_value, lattice
from gpusim.ir.expr import Const, Name
from gpusim.ir.ops import Broadcast, Cast, Index, Map, Read, Reshape
from gpusim.ir.types import DTYPES


def tile(ctx: Context, value: Any, node: ast.AST, dtype: str = "") -> Tile:
    """`value` as a tile of the IR, of `dtype` if given."""
    to = dtype or dtype_of(_checked(ctx, value, node))
    if is_number(value):
        return ctx.constant(_as(value, to), to)
    if isinstance(value, Number):
        return ctx.constant(_as(value.value, to), to)
    if isinstance(value, Scalar) and value.known is not None:
        return ctx.constant(_as(value.known, to), to)
    made = value if isinstance(value, Tile) else _materialised(ctx, value, node, to)
    return _cast(ctx, made, to)


def _checked(ctx: Context, value: Any, node: ast.AST) -> Any:
    if not is_value(value) or isinstance(value, Pointer):
        ctx.refuse(node, f"This is a {described(value)}, but numbers are needed here.")
    return value


def described(value: Any) -> str:
    """What a value is, in words."""
    words = {"Pointer": "pointer", "BlockPointer": "block pointer", "NoneType": "None", "function": "function", "str": "text", "tuple": "tuple"}
    name = type(value).__name__
    return words.get(name, "tile" if isinstance(value, Tile | Lattice | Mask) else "number" if is_value(value) else name)


def _as(value: float, dtype: str) -> float:
    return int(value) if kind(dtype) == 1 and np.isfinite(value) else bool(value) if kind(dtype) == 0 else value


def _materialised(ctx: Context, value: Any, node: ast.AST, to: str) -> Tile:
    if isinstance(value, Mask):
        return ctx.keep(("mask", value), lambda: _mask(ctx, value, node))
    if value.dtype == "bool":
        number = _index(ctx, lattice(replace(value, dtype="int32")))
        return binary_map(ctx, "ne", number, ctx.constant(0, "int32"), "bool")
    of = to if kind(to) == 1 else value.dtype
    return _index(ctx, replace(lattice(value, value.shape), dtype=of))


def _index(ctx: Context, value: Lattice) -> Tile:
    """The elements of a formula; behind an edge the axis' step is taken back."""
    made = _plain_index(ctx, replace(value, edges=()))
    for edge in value.edges:
        rank, extent = len(value.shape), value.shape[edge.axis]
        shape = tuple(extent if a == edge.axis else 1 for a in range(rank))
        steps = tuple(Const(1) if a == edge.axis else Const(0) for a in range(rank))
        along = _plain_index(ctx, Lattice(shape, edge.first, steps, value.dtype))
        over = binary_map(ctx, "ge", along, ctx.constant(edge.limit, value.dtype), "bool")
        back = ctx.constant(edge.limit, value.dtype) if edge.kind == "wrap" else along
        step = _plain_index(ctx, Lattice((), value.steps[edge.axis], (), value.dtype))
        less = mapped(ctx, "where", (over, binary_map(ctx, "mul", back, step, value.dtype), ctx.constant(0, value.dtype)), value.dtype)
        made = binary_map(ctx, "sub", made, less, value.dtype)
    return made


def _plain_index(ctx: Context, value: Lattice) -> Tile:
    return ctx.keep(
        ("index", value), lambda: ctx.define(lambda dst: Index(dst, value.shape, DTYPES[value.dtype], value.start, value.steps), value.shape, value.dtype)
    )


def _mask(ctx: Context, value: Mask, node: ast.AST) -> Tile:
    made: Tile | None = None
    for bound in value.bounds:
        wide = "int64" if "int64" in (bound.low.dtype, bound.high.dtype) else "int32"
        low, high = tile(ctx, _narrow(bound.low), node, wide), tile(ctx, _narrow(bound.high), node, wide)
        one = binary_map(ctx, "le" if bound.or_equal else "lt", low, high, "bool")
        made = one if made is None else binary_map(ctx, "logical_and", made, one, "bool")
    assert made is not None
    return broadcast(ctx, made, value.shape)


def _narrow(value: Lattice) -> Lattice | Scalar:
    """A lattice that is the same everywhere as the scalar it is; extents of axes along which nothing changes are 1."""
    if all(s == Const(0) for s in value.steps):
        return Scalar(value.start, value.dtype)
    return replace(value, shape=tuple(1 if s == Const(0) else n for n, s in zip(value.shape, value.steps, strict=True)))


def binary_map(ctx: Context, fn: str, a: Tile, b: Tile, dtype: str) -> Tile:
    return mapped(ctx, fn, (a, b), dtype)


def mapped(ctx: Context, fn: str, args: tuple[Tile, ...], dtype: str) -> Tile:
    """fn of tiles whose types fit already."""
    shape = np.broadcast_shapes(*(a.shape for a in args))
    return ctx.define(lambda dst: Map(dst, fn, tuple(a.name for a in args)), shape, dtype)


def _cast(ctx: Context, value: Tile, to: str) -> Tile:
    if value.dtype == to:
        return value
    return ctx.define(lambda dst: Cast(dst, value.name, DTYPES[to]), value.shape, to)


def cast(ctx: Context, value: Any, to: str, node: ast.AST) -> Any:
    """`value` as `to`; formulas stay formulas among the integers that indices have."""
    if isinstance(value, Scalar | Lattice) and value.dtype != "bool" and to in ("int32", "int64", "uint32", "uint64"):
        return replace(value, dtype=to)
    if isinstance(value, Scalar) and value.known is not None and kind(to) == 2:
        return Number(float(value.known), to)
    if isinstance(value, Number) and kind(to) == 2:
        return Number(value.value, to) if to in ("fp32", "fp64") else tile(ctx, value, node, to)
    if is_number(value):
        return Scalar(Const(int(value)), to) if kind(to) == 1 else Number(float(value), to) if kind(to) == 2 else tile(ctx, value, node, to)
    return tile(ctx, value, node, to)


def copied(ctx: Context, value: Tile) -> Tile:
    """A tile of its own with the same values."""
    return ctx.define(lambda dst: Cast(dst, value.name, DTYPES[value.dtype]), value.shape, value.dtype)


def reshape(ctx: Context, value: Tile, shape: Shape) -> Tile:
    if value.shape == shape:
        return value
    return ctx.keep(("reshape", value, shape), lambda: ctx.define(lambda dst: Reshape(dst, value.name, shape), shape, value.dtype))


def broadcast(ctx: Context, value: Tile, shape: Shape) -> Tile:
    if value.shape == shape:
        return value
    return ctx.keep(("broadcast", value, shape), lambda: ctx.define(lambda dst: Broadcast(dst, value.name, shape), shape, value.dtype))


def scalar(ctx: Context, value: Any, node: ast.AST, role: str = "This") -> Scalar:
    """An integer or bool of the block as a formula. One that depends on data is read into a name."""
    if isinstance(value, bool):
        return Scalar(Const(int(value)), "bool")
    if isinstance(value, int):
        return Scalar(Const(value), dtype_of(value))
    if isinstance(value, Scalar):
        return value
    if isinstance(value, Tile) and value.shape == () and kind(value.dtype) < 2:
        name = ctx.unique("n_" + value.name)
        ctx.emit(Read(name, value.name, ctx.line))

        return Scalar(Name(name), value.dtype)
    ctx.refuse(node, f"{role} is a {described(value)}, but an integer of the block is needed here.")
