"""Where a block stands in the grid, hints to the compiler, assertions and prints."""

from __future__ import annotations

import ast
from typing import Any

from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.tiles import tile
from gpusim.frontend.tiles.values import Scalar, is_value
from gpusim.ir.expr import Const, Name
from gpusim.ir.ops import Check, Print


def program_id(ctx: Context, node: ast.AST, axis: Any) -> Scalar:
    return Scalar(Name(f"pid{int(axis)}") if int(axis) < len(ctx.grid) else Const(0))


def num_programs(ctx: Context, node: ast.AST, axis: Any) -> Scalar:
    return Scalar(Const(ctx.grid[int(axis)] if int(axis) < len(ctx.grid) else 1))


def same(ctx: Context, node: ast.AST, input: Any, *hints: Any, **more: Any) -> Any:
    """multiple_of and its like: what they promise is known here anyway."""
    return input


def nothing(ctx: Context, node: ast.AST, *args: Any, **kwargs: Any) -> None:
    return None


def static_assert(ctx: Context, node: ast.AST, cond: Any, msg: Any = "") -> None:
    known = cond.known if isinstance(cond, Scalar) else cond
    if is_value(known) and not isinstance(known, bool | int | float):
        ctx.refuse(node, "static_assert takes a condition that is known when the kernel is compiled.", "Use tl.device_assert.")
    if not known:
        ctx.refuse(node, f"static_assert: {msg}" if msg else "static_assert failed.")


def device_assert(ctx: Context, node: ast.AST, cond: Any, msg: Any = "", mask: Any = None) -> None:
    if isinstance(cond, bool):
        if not cond:
            ctx.refuse(node, f"assertion: {msg}")
        return
    made = tile(ctx, cond, node)
    ctx.emit(Check(made.name, str(msg), ctx.line))


def device_print(ctx: Context, node: ast.AST, prefix: Any, *args: Any, hex: Any = False) -> None:
    names = tuple(tile(ctx, a, node).name for a in args if is_value(a))
    ctx.emit(Print(str(prefix), names, ctx.line))


def static_print(ctx: Context, node: ast.AST, *values: Any, sep: Any = " ", end: Any = "\n", file: Any = None, flush: Any = False) -> None:
    return None


def unsupported(what: str, hint: str) -> Any:
    def handler(ctx: Context, node: ast.AST, *args: Any, **kwargs: Any) -> None:
        ctx.refuse(node, f"{what} is not supported.", hint)

    return handler
