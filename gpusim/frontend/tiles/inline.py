"""Functions under @triton.jit that a kernel calls: translated where they are called."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import Any

from gpusim.frontend.source import Source, read
from gpusim.frontend.tiles.context import Context, Frame
from gpusim.frontend.tiles.returns import with_one_end
from gpusim.triton.markers import constexpr

#: functions that call each other deeper than this do so for ever
MOST_FRAMES = 32


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the user, as kernels see it."""

    function: FunctionType


def plain(value: Any) -> Any:
    """A Python object as kernels see it: constants without their wrapper, lists as tuples."""
    if isinstance(value, constexpr):
        return plain(value.value)
    if isinstance(value, list):
        return tuple(value)
    kernel = getattr(value, "kernel_function", None)
    return Function(kernel) if isinstance(kernel, FunctionType) else value


def constants(source: Source) -> frozenset[str]:
    """The parameters that are annotated as tl.constexpr."""
    given = [*source.tree.args.args, *source.tree.args.kwonlyargs]
    return frozenset(a.arg for a in given if a.annotation is not None and "constexpr" in ast.unparse(a.annotation))


@lru_cache(maxsize=512)
def source_of(function: FunctionType) -> Source:
    """The source of a function, read once."""
    return read(function)


def inlined(ctx: Context, node: ast.AST, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """What the function returns for these values."""
    source = source_of(function.function)
    if len(ctx.frames) >= MOST_FRAMES:
        ctx.refuse(node, f"{source.tree.name} calls itself.", "Write a loop.")
    try:
        bound = inspect.signature(function.function).bind(*args, **kwargs)
    except TypeError as error:
        ctx.refuse(node, f"{source.tree.name}: {error}.")
    bound.apply_defaults()
    env = {name: plain(_unwrapped(value)) if name in constants(source) else plain(value) for name, value in bound.arguments.items()}
    ctx.frames.append(ctx.frame)
    ctx.frame, outside, ctx.enclosing = Frame(source, env), ctx.enclosing, []
    try:
        ctx.block(ctx, with_one_end(source.tree.body))
        returned = ctx.frame.env.get("return")
    finally:
        ctx.frame, ctx.enclosing = ctx.frames.pop(), outside
    return returned


def _unwrapped(value: Any) -> Any:
    """A formula that is a constant, as the constant."""
    known = getattr(value, "known", None)
    return known if known is not None else value
