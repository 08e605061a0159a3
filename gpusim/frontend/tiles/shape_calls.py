"""Functions that make tiles and give them another shape. Formulas stay formulas where the new shape is one of axes of extent 1."""

from __future__ import annotations

import ast
import math
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.frontend.tiles.accesses import sizes
from gpusim.frontend.tiles.arith import binary
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.tiles import broadcast as broadcast_tile
from gpusim.frontend.tiles.tiles import mapped, tile
from gpusim.frontend.tiles.tiles import reshape as reshape_tile
from gpusim.frontend.tiles.values import Lattice, Mask, Pointer, Scalar, Shape, Tile, dtype_of, lattice, shape_of
from gpusim.ir.expr import Const
from gpusim.ir.ops import Histogram, Join, Part, Sort, Take, Transpose
from gpusim.triton.markers import dtype as Dtype


def ir_type(ctx: Context, node: ast.AST, given: Any) -> str:
    """The IR's name of a type of the language."""
    if isinstance(given, Dtype):
        return given.ir
    ctx.refuse(node, f"{given!r} is no element type.", "Give one such as tl.float32.")


def arange(ctx: Context, node: ast.AST, start: Any, end: Any) -> Lattice:
    low, high = (v.known if isinstance(v, Scalar) else v for v in (start, end))
    if not isinstance(low, int) or not isinstance(high, int) or high <= low:
        ctx.refuse(node, f"arange({start}, {end}) needs two known integers, the first one smaller.", "Give tl.constexpr values.")
    n = high - low
    if n & (n - 1) and not ctx.any_extent:
        ctx.refuse(node, f"arange({low}, {high}) has {n} elements, which is no power of two.", f"Take {1 << n.bit_length()} and a mask.")
    return Lattice((n,), Const(low), (Const(1) if n > 1 else Const(0),))


def full(ctx: Context, node: ast.AST, shape: Any, value: Any, dtype: Any) -> Tile:
    of, extents = ir_type(ctx, node, dtype), sizes(ctx, node, shape)
    known = value.known if isinstance(value, Scalar) else getattr(value, "value", value)
    if isinstance(known, bool | int | float):
        made: Any = int(known) if not isinstance(known, float) and of not in ("fp32", "fp16", "bf16", "fp64") else known
        return ctx.filled(float(made) if isinstance(made, int) and ir_is_float(of) else made, of, extents)
    return broadcast_tile(ctx, tile(ctx, value, node, of), extents)


def ir_is_float(of: str) -> bool:
    return of.startswith(("fp", "bf"))


def zeros(ctx: Context, node: ast.AST, shape: Any, dtype: Any) -> Tile:
    return full(ctx, node, shape, 0, dtype)


def zeros_like(ctx: Context, node: ast.AST, input: Any) -> Tile:
    of = dtype_of(input)
    return ctx.filled(0.0 if ir_is_float(of) else 0, of, shape_of(input))


def indexed(ctx: Context, node: ast.AST, value: Any, items: list[Any]) -> Any:
    """value[:, None] and its like: None is a new axis, a slice an old one."""
    shape, axes, at = [], [], 0
    rank = len(shape_of(value))
    for item in items:
        shape.append(1 if item is None else shape_of(value)[at] if at < rank else 0)
        axes.append(None if item is None else at)
        at += item is not None
    if at != rank:
        ctx.refuse(node, f"{at} axes are taken of a value with {rank}.", "Write ':' for each axis and None for a new one.")
    return _with_axes(ctx, node, value, tuple(shape), axes)


def _with_axes(ctx: Context, node: ast.AST, value: Any, shape: Shape, axes: list[int | None]) -> Any:
    """value with the axes in this order, None for a new one of extent 1."""
    if isinstance(value, Pointer):
        return Pointer(value.array, _with_axes(ctx, node, value.offset, shape, axes))
    if isinstance(value, Scalar):
        return lattice(value, shape)
    if isinstance(value, Lattice):
        edges = tuple(replace(e, axis=axes.index(e.axis)) for e in value.edges)
        return replace(value, shape=shape, steps=tuple(Const(0) if a is None else value.steps[a] for a in axes), edges=edges)
    if isinstance(value, Mask):
        bounds = tuple(replace(b, low=_moved(b.low, value.shape, shape, axes), high=_moved(b.high, value.shape, shape, axes)) for b in value.bounds)
        return Mask(shape, bounds)
    return reshape_tile(ctx, tile(ctx, value, node), shape)


def _moved(value: Lattice, old: Shape, shape: Shape, axes: list[int | None]) -> Lattice:
    whole = lattice(value, old)
    return replace(whole, shape=shape, steps=tuple(Const(0) if a is None else whole.steps[a] for a in axes))


def expand_dims(ctx: Context, node: ast.AST, input: Any, axis: Any) -> Any:
    rank = len(shape_of(input))
    wanted = [a % (rank + 1) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    items: list[Any] = [slice(None)] * rank
    for a in sorted(wanted):
        items.insert(a, None)
    return indexed(ctx, node, input, items)


def broadcast_to(ctx: Context, node: ast.AST, input: Any, *shape: Any) -> Any:
    to = sizes(ctx, node, shape[0] if len(shape) == 1 else shape)
    if isinstance(input, Lattice):
        return lattice(input, to)
    if isinstance(input, Pointer) and not isinstance(input.offset, Tile):
        return Pointer(input.array, lattice(input.offset, to))
    if isinstance(input, Pointer):
        return Pointer(input.array, broadcast_to(ctx, node, input.offset, to))
    return broadcast_tile(ctx, tile(ctx, input, node), to)


def broadcast(ctx: Context, node: ast.AST, input: Any, other: Any) -> tuple[Any, Any]:

    to = np.broadcast_shapes(shape_of(input), shape_of(other))
    return broadcast_to(ctx, node, input, to), broadcast_to(ctx, node, other, to)


def reshape(ctx: Context, node: ast.AST, input: Any, *shape: Any, can_reorder: Any = False) -> Any:
    to = sizes(ctx, node, shape[0] if len(shape) == 1 else shape)
    have = shape_of(input)
    if math.prod(have) != math.prod(to):
        ctx.refuse(node, f"a tile of shape {have} does not have the elements of {to}.")
    kept = [n for n in have if n > 1] == [n for n in to if n > 1]
    if kept and isinstance(input, Lattice | Pointer | Mask):
        source = iter([a for a, n in enumerate(have) if n > 1])
        return _with_axes(ctx, node, input, to, [next(source) if n > 1 else None for n in to])
    if isinstance(input, Pointer):
        return Pointer(input.array, reshape(ctx, node, input.offset, to))
    return reshape_tile(ctx, tile(ctx, input, node), to)


def ravel(ctx: Context, node: ast.AST, x: Any, can_reorder: Any = False) -> Any:
    return reshape(ctx, node, x, math.prod(shape_of(x)))


def permute(ctx: Context, node: ast.AST, input: Any, *dims: Any) -> Any:
    rank = len(shape_of(input))
    given = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple | list) else dims
    order = tuple(int(d) % rank for d in given) or tuple(reversed(range(rank)))
    shape = tuple(shape_of(input)[a] for a in order)
    if isinstance(input, Lattice | Mask) or (isinstance(input, Pointer) and not isinstance(input.offset, Tile)):
        return _with_axes(ctx, node, input, shape, list(order))
    if isinstance(input, Pointer):
        return Pointer(input.array, permute(ctx, node, input.offset, order))
    made = tile(ctx, input, node)
    return ctx.define(lambda dst: Transpose(dst, made.name, order), shape, made.dtype)


def trans(ctx: Context, node: ast.AST, input: Any, *dims: Any) -> Any:
    if dims:
        return permute(ctx, node, input, *dims)
    rank = len(shape_of(input))
    return permute(ctx, node, input, (*range(rank - 2), rank - 1, rank - 2))


def join(ctx: Context, node: ast.AST, a: Any, b: Any) -> Tile:
    one, other = tile(ctx, a, node), tile(ctx, b, node)
    return ctx.define(lambda dst: Join(dst, one.name, other.name), (*one.shape, 2), one.dtype)


def split(ctx: Context, node: ast.AST, a: Any) -> tuple[Tile, Tile]:
    made = tile(ctx, a, node)
    axis = len(made.shape) - 1
    if not made.shape or made.shape[-1] != 2:
        ctx.refuse(node, f"split takes a tile whose last axis has 2 elements, not {made.shape}.")

    def part(n: int) -> Tile:
        return ctx.define(lambda dst: Part(dst, made.name, axis, n), made.shape[:-1], made.dtype)

    return part(0), part(1)


def interleave(ctx: Context, node: ast.AST, a: Any, b: Any) -> Tile:
    made = join(ctx, node, a, b)
    return reshape_tile(ctx, made, (*made.shape[:-2], 2 * made.shape[-2]))


def cat(ctx: Context, node: ast.AST, input: Any, other: Any, can_reorder: Any = False) -> Tile:
    made = join(ctx, node, input, other)
    return reshape_tile(ctx, permute(ctx, node, made, (len(made.shape) - 1, *range(len(made.shape) - 1))), (2 * made.shape[0], *made.shape[1:-1]))


def gather(ctx: Context, node: ast.AST, src: Any, index: Any, axis: Any) -> Tile:
    made, at = tile(ctx, src, node), tile(ctx, index, node)
    return ctx.define(lambda dst: Take(dst, made.name, at.name, int(axis) % len(made.shape)), at.shape, made.dtype)


def sort(ctx: Context, node: ast.AST, x: Any, dim: Any = None, descending: Any = False) -> Tile:
    made = tile(ctx, x, node)
    axis = len(made.shape) - 1 if dim is None else int(dim) % len(made.shape)
    return ctx.define(lambda dst: Sort(dst, made.name, axis, bool(descending)), made.shape, made.dtype)


def histogram(ctx: Context, node: ast.AST, input: Any, num_bins: Any, mask: Any = None) -> Tile:
    made = tile(ctx, input, node)
    if mask is not None:
        made = mapped(ctx, "where", (tile(ctx, mask, node), made, ctx.constant(-1, made.dtype)), made.dtype)
    return ctx.define(lambda dst: Histogram(dst, made.name, int(num_bins)), (int(num_bins),), "int32")


def flip(ctx: Context, node: ast.AST, x: Any, dim: Any = None) -> Tile:
    """The elements along an axis in reverse."""
    made = tile(ctx, x, node)
    axis = len(made.shape) - 1 if dim is None else int(dim) % len(made.shape)
    last = made.shape[axis] - 1
    steps = tuple(Const(-1) if a == axis and last else Const(0) for a in range(len(made.shape)))
    places = tile(ctx, Lattice(made.shape, Const(last), steps), node)
    return ctx.define(lambda dst: Take(dst, made.name, places.name, axis), made.shape, made.dtype)


def swizzle2d(ctx: Context, node: ast.AST, i: Any, j: Any, size_i: Any, size_j: Any, size_g: Any) -> tuple[Any, Any]:
    """The place (i, j) of a grid of size_i rows in an order that goes through groups of size_g rows column by column."""

    def of(op: str, a: Any, b: Any) -> Any:
        return binary(ctx, op, a, b, node)

    number = of("+", of("*", i, size_j), j)
    in_group = of("*", size_g, size_j)
    first = of("*", of("//", number, in_group), size_g)
    height = of("min", of("-", size_i, first), size_g)
    place = of("%", number, in_group)
    return of("+", first, of("%", place, height)), of("//", place, height)
