"""`if` on a condition of the block: both arms are translated, and variables that they change are joined behind them."""

from __future__ import annotations

import ast
from typing import Any

from gpusim.frontend.tiles.arith import truth
from gpusim.frontend.tiles.carried import variable
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.leaves import is_formula, is_static, leaves, rebuilt, same_form
from gpusim.frontend.tiles.liveness import assigned
from gpusim.frontend.tiles.math_calls import where
from gpusim.frontend.tiles.tiles import broadcast, described, tile
from gpusim.frontend.tiles.values import Lattice, Scalar, Tile, Undefined, dtype_of, is_number, shape_of
from gpusim.ir.ops import If, Op, Update

Arm = tuple[list[Op], dict[str, Any]]
_NOTHING = Undefined("only one way through the branch before gives it a value")


def branch(ctx: Context, node: ast.If) -> None:
    cond = truth(ctx, ctx.evaluate(ctx, node.test), node.test)
    if isinstance(cond, bool):
        ctx.block(ctx, node.body if cond else node.orelse)
        return
    line = ctx.line
    arms = [_arm(ctx, body) for body in (node.body, node.orelse)]
    for name in [*assigned([node]), "return"]:
        both = [env.get(name, _NOTHING) for _, env in arms]
        if name in ctx.frame.env:
            ctx.lookup(name)
        if both[0] is not _NOTHING or both[1] is not _NOTHING:
            ctx.frame.env[name] = _joined(ctx, node, name, cond, arms, both)
    ctx.emit(If(cond.expr, tuple(arms[0][0]), tuple(arms[1][0]), line))


def _arm(ctx: Context, body: list[ast.stmt]) -> Arm:
    """The ops of an arm and what the variables are at its end; they stand as before afterwards."""
    before = dict(ctx.frame.env)
    with ctx.collect() as out:
        ctx.block(ctx, body)
    ends, ctx.frame.env = ctx.frame.env, before
    return out, ends


def _joined(ctx: Context, node: ast.If, name: str, cond: Scalar, arms: list[Arm], both: list[Any]) -> Any:
    a, b = both
    if a is b:
        return a
    if isinstance(a, Undefined) or isinstance(b, Undefined):
        if name == "return" and (a is None or b is None or isinstance(a, Undefined) or isinstance(b, Undefined)):
            return a if isinstance(b, Undefined) else b
        return _NOTHING
    if not same_form(a, b):
        if isinstance(a, tuple) or not hasattr(a, "shape") or not hasattr(b, "shape"):
            ctx.refuse(node, f"'{name}' is a {described(a)} on one way and a {described(b)} on the other.", "Use two variables, one for each.")
        return _leaf(ctx, node, name, cond, arms, (a, b), None)
    old = ctx.frame.env.get(name)
    olds = leaves(old) if old is not None and same_form(old, a) else []
    pairs = list(zip(leaves(a), leaves(b), strict=True))
    made = [_leaf(ctx, node, name, cond, arms, pair, olds[i] if len(olds) == len(pairs) else None) for i, pair in enumerate(pairs)]
    if isinstance(a, Lattice) and isinstance(made[0], Tile):
        return _leaf(ctx, node, name, cond, arms, (a, b), None)
    return rebuilt(a, iter(made))


def _leaf(ctx: Context, node: ast.If, name: str, cond: Scalar, arms: list[Arm], pair: tuple[Any, Any], old: Any) -> Any:
    a, b = pair
    if a is b or (type(a) is type(b) and a == b):
        return a
    if is_static(a) or is_static(b):
        ctx.refuse(node, f"'{name}' is a {described(a)} on one way and a {described(b)} on the other.", "Use two variables, one for each.")
    if is_formula(a) and is_formula(b):
        return where(ctx, node, cond, a, b)
    typed = b if is_number(a) else a
    shape = shape_of(a) if len(shape_of(a)) >= len(shape_of(b)) else shape_of(b)
    of = dtype_of(typed)
    usable = old is not None and not is_static(old) and not isinstance(old, Undefined) and (is_number(old) or (shape_of(old), dtype_of(old)) == (shape, of))
    var = variable(ctx, node, old if usable else 0, shape, of)
    for (out, _), value in zip(arms, pair, strict=True):
        outer, ctx.out = ctx.out, out
        end = broadcast(ctx, tile(ctx, value, node, of), shape)
        if end.name != var.name:
            ctx.emit(Update(var.name, end.name, ctx.line))
        ctx.out = outer
    return var
