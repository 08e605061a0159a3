"""An item of a tuple by a number that only the running kernel knows: one after the other is compared."""

from __future__ import annotations

import ast
from dataclasses import replace

from gpusim.frontend.arithmetic import compare
from gpusim.frontend.context import Context
from gpusim.frontend.operands import Array, Choice, Group, Operand, Scalar, Walk, alike, described
from gpusim.frontend.typing import unify
from gpusim.ir.simt.nodes import Imm, Value


def items(ctx: Context, node: ast.AST, group: Group) -> Walk:
    """A tuple as what a loop goes along."""
    return Walk(Scalar(Imm(len(group.items), "int64")), lambda k: pick(ctx, node, group.items, k))


def pick(ctx: Context, node: ast.AST, options: tuple[Operand, ...], index: Scalar) -> Operand:
    """options[index], where all options are numbers, arrays of one type, or tuples of the same shape."""
    if not options:
        ctx.refuse(node, "An item of an empty tuple.")
    arrays = tuple(o for o in options if isinstance(o, Array))
    if len(arrays) == len(options) and alike(arrays):
        return Choice(ctx.cast(index.value, "int32"), arrays)
    hits = [compare(ctx, "eq", index, Scalar(Imm(k, "int64"))) for k in range(len(options) - 1)]
    return _chosen(ctx, node, options, hits)


def _chosen(ctx: Context, node: ast.AST, options: tuple[Operand, ...], hits: list[Value]) -> Operand:
    first = options[0]
    groups = [o for o in options if isinstance(o, Group)]
    if isinstance(first, Group) and len(groups) == len(options) and len({len(g.items) for g in groups}) == 1:
        columns = zip(*(g.items for g in groups), strict=True)
        return replace(first, items=tuple(_chosen(ctx, node, column, hits) for column in columns))
    for option in options:
        if not isinstance(option, Scalar):
            ctx.refuse(node, f"A tuple with a {described(option)} needs a constant index.", "Use an if for each case.")
    numbers = [ctx.scalar(o, node) for o in options]
    dtype = numbers[0].dtype
    for number in numbers[1:]:
        dtype = unify(dtype, number.dtype)
    value = ctx.cast(numbers[-1].value, dtype)
    for hit, number in zip(reversed(hits), reversed(numbers[:-1]), strict=True):
        value = ctx.op("select", (hit, ctx.cast(number.value, dtype), value), dtype)
    return Scalar(value)
