"""Statements of a tile kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gpusim.frontend.refusals import UNSUPPORTED
from gpusim.frontend.tiles.arith import BINARY, binary
from gpusim.frontend.tiles.branches import branch
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.expressions import fused, static
from gpusim.frontend.tiles.loops import bind_target, for_loop, while_loop
from gpusim.frontend.tiles.misc_calls import device_assert
from gpusim.frontend.tiles.values import Scalar
from gpusim.ir.expr import Const, Name
from gpusim.ir.linear import linear


def block(ctx: Context, body: list[ast.stmt]) -> None:
    for statement in body:
        ctx.at(statement)
        if type(statement) not in _STATEMENTS:
            what, hint = UNSUPPORTED.get(type(statement), (f"'{type(statement).__name__.lower()}'", ""))
            ctx.refuse(statement, f"{what} is not supported in kernels.", _HINTS.get(type(statement), hint))
        _STATEMENTS[type(statement)](ctx, statement)


def _assign(ctx: Context, node: ast.Assign) -> None:
    single = node.targets[0]
    value = _value(ctx, node.value, single.id if isinstance(single, ast.Name) else "")
    for target in node.targets:
        _give(ctx, target, value)


def _value(ctx: Context, node: ast.expr, target: str) -> Any:
    ctx.target = target if isinstance(node, ast.Call) else ""
    try:
        return ctx.evaluate(ctx, node)
    finally:
        ctx.target = ""


def _give(ctx: Context, target: ast.expr, value: Any) -> None:
    """Bind names; a formula that is no sum is named in the program too."""
    if isinstance(target, ast.Name) and isinstance(value, Scalar) and not _is_sum(value):
        value = ctx.let(target.id, value.expr, value.dtype)
    if isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple) and len(value) == len(target.elts):
        for one, item in zip(target.elts, value, strict=True):
            _give(ctx, one, item)
        return
    bind_target(ctx, target, value)


def _is_sum(value: Scalar) -> bool:
    return isinstance(value.expr, Const | Name) or all(isinstance(a, Name) for a in linear(value.expr).atoms)


def _annotated(ctx: Context, node: ast.AnnAssign) -> None:
    if node.value is None:
        ctx.refuse(node, "a name is declared without a value.", "Give it one.")
    value = ctx.evaluate(ctx, node.value)
    if "constexpr" in ast.unparse(node.annotation):
        value = static(ctx, value, node)
    _give(ctx, node.target, value)


def _augmented(ctx: Context, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        ctx.refuse(node, "only names are given values.", "Write to memory with tl.store.")
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    made = fused(ctx, node.op, load, node.value, node, node.target.id)
    if made is None:
        made = binary(ctx, BINARY[type(node.op)], ctx.evaluate(ctx, load), ctx.evaluate(ctx, node.value), node)
    _give(ctx, node.target, made)


def _expression(ctx: Context, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        ctx.evaluate(ctx, node.value)


def _return(ctx: Context, node: ast.Return) -> None:
    ctx.frame.env["return"] = None if node.value is None else ctx.evaluate(ctx, node.value)


def _assert(ctx: Context, node: ast.Assert) -> None:
    device_assert(ctx, node, ctx.evaluate(ctx, node.test), ctx.evaluate(ctx, node.msg) if node.msg is not None else "")


_STATEMENTS: dict[type[ast.AST], Callable[[Context, Any], None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Assert: _assert,
    ast.If: branch,
    ast.For: for_loop,
    ast.While: while_loop,
    ast.Pass: lambda ctx, node: None,
}
_HINTS: dict[type[ast.AST], str] = {
    ast.Break: "Put the condition into the loop's own: while condition.",
    ast.Continue: "Put the rest of the body under an if.",
    ast.FunctionDef: "Put it outside, under @triton.jit.",
}
