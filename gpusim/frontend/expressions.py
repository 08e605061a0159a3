"""Expressions of a kernel: from syntax to operands."""

from __future__ import annotations

import ast
import enum
from collections.abc import Callable
from typing import Any

from gpusim.frontend import arithmetic, arrays, attributes, calls, complexes, logic, slices
from gpusim.frontend.choices import each
from gpusim.frontend.context import Context
from gpusim.frontend.names import lookup, wrap
from gpusim.frontend.operands import Array, Conflict, Group, Operand, Scalar, Static, is_complex
from gpusim.frontend.picking import pick
from gpusim.frontend.refusals import UNSUPPORTED


def evaluate(ctx: Context, node: ast.expr) -> Operand:
    """What the expression stands for; emits the statements that compute it."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        name, hint = UNSUPPORTED.get(type(node), (f"'{type(node).__name__}'", "Write it with numbers, tuples and arrays."))
        ctx.refuse(node, f"Kernels cannot have {name} here.", hint)
    ctx.at(node)
    result = handler(ctx, node)
    if isinstance(result, Conflict):
        ctx.conflict(result, node)
    ctx.at(node)
    return result


def number(ctx: Context, node: ast.expr) -> Scalar:
    return ctx.scalar(evaluate(ctx, node), node)


def _constant(ctx: Context, node: ast.Constant) -> Operand:
    if isinstance(node.value, bytes) or node.value is Ellipsis:
        ctx.refuse(node, f"Kernels cannot have {node.value!r}.")
    return wrap(ctx, node.value, node)


def _name(ctx: Context, node: ast.Name) -> Operand:
    return lookup(ctx, node)


def _tuple(ctx: Context, node: ast.Tuple) -> Operand:
    return Group(tuple(evaluate(ctx, e) for e in node.elts))


def _binop(ctx: Context, node: ast.BinOp) -> Operand:
    left = evaluate(ctx, node.left)
    right = evaluate(ctx, node.right)
    ctx.at(node)
    return combined(ctx, node, left, right)


def combined(ctx: Context, node: ast.BinOp, left: Operand, right: Operand) -> Operand:
    """left op right"""
    if is_complex(left) or is_complex(right):
        return complexes.binary(ctx, node, left, right)
    if isinstance(left, Group) and isinstance(right, Group) and isinstance(node.op, ast.Add):
        return Group(left.items + right.items)
    if isinstance(left, Static) and isinstance(left.obj, str):
        ctx.refuse(node, "Kernels cannot compute with strings.", "Give print several arguments.")
    if isinstance(left, Array) or isinstance(right, Array):
        ctx.refuse(node, "A thread cannot compute with a whole array.", "Index it: a[i].")
    return arithmetic.binary(ctx, node, node.op, ctx.scalar(left, node), ctx.scalar(right, node))


def _unary(ctx: Context, node: ast.UnaryOp) -> Operand:
    if isinstance(node.op, ast.Not):
        return logic.negate(ctx, node)
    value = evaluate(ctx, node.operand)
    if isinstance(value, Group) and is_complex(value):
        return complexes.unary(ctx, node, value)
    return arithmetic.unary(ctx, node, node.op, ctx.scalar(value, node.operand))


def _subscript(ctx: Context, node: ast.Subscript) -> Operand:
    base = evaluate(ctx, node.value)
    if isinstance(base, Group):
        return _item(ctx, node, base)
    if isinstance(base, Static) and isinstance(base.obj, enum.EnumMeta) and isinstance(node.slice, ast.Constant):
        return attributes.attribute(ctx, ast.copy_location(ast.Attribute(node.value, str(node.slice.value), ast.Load()), node), base)
    if slices.is_whole(node):
        return base
    if slices.has_slice(node) and not isinstance(base, Scalar):
        parts = slices.parts_of(ctx, node)
        return each(ctx, node, base, lambda one: slices.view(ctx, node, arrays.as_array(ctx, one, node), parts))
    index = None if isinstance(base, Scalar) or (isinstance(base, Static) and isinstance(base.obj, dict | list)) else arrays.indices(ctx, node)
    return each(ctx, node, base, lambda one: arrays.read(ctx, node, arrays.as_array(ctx, one, node), index or ()))


def _item(ctx: Context, node: ast.Subscript, base: Group) -> Operand:
    """A tuple's item. The index is a constant, or the items are numbers to select from."""
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else arrays.static_int(ctx, part, "A bound of a tuple's slice")
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        return Group(base.items[slice(*bounds)])
    index = number(ctx, node.slice)
    known = arrays.known_int(index)
    if known is not None:
        if not -len(base.items) <= known < len(base.items):
            ctx.refuse(node, f"Index {known} of a tuple of {len(base.items)}.")
        return base.items[known]
    return pick(ctx, node, base.items, index)


def _attribute(ctx: Context, node: ast.Attribute) -> Operand:
    return each(ctx, node, evaluate(ctx, node.value), lambda base: attributes.attribute(ctx, node, base))


def _call(ctx: Context, node: ast.Call) -> Operand:
    return calls.call(ctx, node)


def _compare(ctx: Context, node: ast.Compare) -> Operand:
    return logic.comparison(ctx, node)


def _boolean(ctx: Context, node: ast.BoolOp) -> Operand:
    return logic.boolean(ctx, node)


def _conditional(ctx: Context, node: ast.IfExp) -> Operand:
    return logic.conditional(ctx, node)


_HANDLERS: dict[type[ast.expr], Callable[[Context, Any], Operand]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.BinOp: _binop,
    ast.UnaryOp: _unary,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
}
