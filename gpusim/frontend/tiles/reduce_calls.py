"""Reductions and running reductions: the common ones by name, any other by the function that the user gives."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gpusim.frontend.tiles.arith import binary
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.inline import Function, inlined
from gpusim.frontend.tiles.math_calls import floating
from gpusim.frontend.tiles.promote import kind
from gpusim.frontend.tiles.shape_calls import ir_type
from gpusim.frontend.tiles.tiles import mapped, reshape, tile
from gpusim.frontend.tiles.values import Shape, Tile
from gpusim.ir.infer import without
from gpusim.ir.ops import Fold, Op, Reduce, Scan
from gpusim.ir.types import DTYPES


def _widened(ctx: Context, node: ast.AST, x: Any, fn: str, of: str = "") -> Tile:
    """Small types are reduced in 32 bits, as the language does; fp16 keeps its own in sums."""
    made = tile(ctx, x, node)
    if of:
        return tile(ctx, made, node, of)
    small = DTYPES[made.dtype].bits < 32
    if made.dtype == "bf16" or (small and (kind(made.dtype) < 2 or fn in ("max", "min", "argmax", "argmin"))):
        return tile(ctx, made, node, "fp32" if kind(made.dtype) == 2 else "int32")
    return made


def _reduce(ctx: Context, fn: str, src: Tile, axis: int | None, keep: bool) -> Tile:
    if axis is None and len(src.shape) > 1:
        one = _reduce(ctx, fn, reshape(ctx, src, (_size(src.shape),)), 0, False)
        return reshape(ctx, one, (1,) * len(src.shape)) if keep else one
    at = (axis or 0) % max(1, len(src.shape))
    of = "int32" if fn.startswith("arg") else src.dtype
    return ctx.define(lambda dst: Reduce(dst, fn, src.name, at, keep=keep), without(src.shape, at, keep), of)


def _size(shape: Shape) -> int:
    made = 1
    for n in shape:
        made *= n
    return made


def reduced(fn: str) -> Callable[..., Any]:
    """tl.max, tl.sum and their like."""

    def handler(
        ctx: Context, node: ast.AST, input: Any, axis: Any = None, keep_dims: Any = False, return_indices: Any = False,
        return_indices_tie_break_left: Any = True, dtype: Any = None, tie_break_left: Any = True,
    ) -> Any:  # fmt: skip
        src = _widened(ctx, node, input, fn, ir_type(ctx, node, dtype) if dtype is not None else "")
        if not src.shape:
            return src
        made = _reduce(ctx, fn, src, axis, bool(keep_dims))
        return (made, _reduce(ctx, f"arg{fn}", src, axis, bool(keep_dims))) if return_indices else made

    return handler


def scanned(fn: str) -> Callable[..., Tile]:
    """tl.cumsum and tl.cumprod."""

    def handler(ctx: Context, node: ast.AST, input: Any, axis: Any = 0, reverse: Any = False, dtype: Any = None) -> Tile:
        src = _widened(ctx, node, input, fn, ir_type(ctx, node, dtype) if dtype is not None else "")
        at = int(axis) % len(src.shape)
        return ctx.define(lambda dst: Scan(dst, fn, src.name, at, bool(reverse)), src.shape, src.dtype)

    return handler


def reduce(ctx: Context, node: ast.AST, input: Any, axis: Any, combine_fn: Any, keep_dims: Any = False) -> Any:
    """`input` (a tile or a tuple of them) combined along an axis by a function under @triton.jit."""
    made = _fold(ctx, node, input, axis, combine_fn, scan=False, reverse=False)
    if keep_dims and axis is not None:
        made = tuple(reshape(ctx, m, (*m.shape[: int(axis)], 1, *m.shape[int(axis) :])) for m in made)
    return made if isinstance(input, tuple) else made[0]


def associative_scan(ctx: Context, node: ast.AST, input: Any, axis: Any, combine_fn: Any, reverse: Any = False) -> Any:
    made = _fold(ctx, node, input, axis, combine_fn, scan=True, reverse=bool(reverse))
    return made if isinstance(input, tuple) else made[0]


def _fold(ctx: Context, node: ast.AST, input: Any, axis: Any, function: Any, scan: bool, reverse: bool) -> tuple[Tile, ...]:
    srcs = [tile(ctx, one, node) for one in (input if isinstance(input, tuple) else (input,))]
    if axis is None:
        srcs, axis = [reshape(ctx, s, (_size(s.shape),)) for s in srcs], 0
    if not isinstance(function, Function):
        ctx.refuse(node, "the function that combines is none of yours.", "Give one under @triton.jit.")
    at = int(axis) % len(srcs[0].shape)
    left, right = ([Tile(ctx.unique(f"{side}_{n}"), (), s.dtype) for n, s in enumerate(srcs)] for side in ("left", "right"))
    with ctx.collect() as body:
        # constants from outside are no elements
        ctx.state.kept = {}
        found = inlined(ctx, node, function, [*left, *right], {})
        items = found if isinstance(found, tuple) else (found,)
        results = [tile(ctx, r, node, s.dtype) for r, s in zip(items, srcs, strict=True)]
    return _folded(ctx, srcs, at, (left, right), tuple(body), results, scan, reverse)


def _folded(
    ctx: Context, srcs: list[Tile], axis: int, sides: tuple[list[Tile], list[Tile]], body: tuple[Op, ...], results: list[Tile], scan: bool, reverse: bool
) -> tuple[Tile, ...]:
    shape = srcs[0].shape if scan else without(srcs[0].shape, axis)
    dsts = tuple(Tile(ctx.unique(f"fold_{ctx.state.count}_{n}"), shape, s.dtype) for n, s in enumerate(srcs))
    left, right = (tuple(t.name for t in side) for side in sides)
    names = (tuple(t.name for t in dsts), tuple(s.name for s in srcs))
    ctx.emit(Fold(*names, axis, left, right, body, tuple(r.name for r in results), scan, reverse, ctx.line))
    return dsts


def xor_sum(ctx: Context, node: ast.AST, input: Any, axis: Any = None, keep_dims: Any = False) -> Tile:
    return _reduce(ctx, "xor", _widened(ctx, node, input, "xor"), axis, bool(keep_dims))


def reduce_or(ctx: Context, node: ast.AST, input: Any, axis: Any = None, keep_dims: Any = False) -> Tile:
    """Whether any element is not 0: the largest of them as 0 or 1."""
    made = tile(ctx, input, node)
    true = made if made.dtype == "bool" else mapped(ctx, "ne", (made, ctx.constant(0, made.dtype)), "bool")
    return tile(ctx, _reduce(ctx, "max", tile(ctx, true, node, "int32"), axis, bool(keep_dims)), node, "bool")


def softmax(ctx: Context, node: ast.AST, x: Any, dim: Any = None, keep_dims: Any = False, ieee_rounding: Any = False) -> Any:
    axis = 0 if dim is None else int(dim)
    high = reduced("max")(ctx, node, x, axis, keep_dims=True)
    e = floating("exp")(ctx, node, binary(ctx, "-", x, high, node))
    return binary(ctx, "/", e, reduced("sum")(ctx, node, e, axis, keep_dims=True), node)
