"""Expressions of a tile kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gpusim.frontend.refusals import UNSUPPORTED
from gpusim.frontend.source import Missing, outer
from gpusim.frontend.tiles import calls
from gpusim.frontend.tiles.arith import BINARY, binary, inverted, negated, negative, truth
from gpusim.frontend.tiles.carried import holders
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.inline import plain
from gpusim.frontend.tiles.math_calls import product, where
from gpusim.frontend.tiles.shape_calls import indexed, trans
from gpusim.frontend.tiles.tiles import described
from gpusim.frontend.tiles.values import (
    BlockPointer,
    Mask,
    Number,
    Pointer,
    Scalar,
    Tile,
    Undefined,
    dtype_of,
    is_value,
    shape_of,
    type_of,
)
from gpusim.ir.expr import bin_
from gpusim.triton.markers import BY_IR


def evaluate(ctx: Context, node: ast.expr) -> Any:
    """What an expression stands for."""
    if type(node) not in _EXPRESSIONS:
        what, hint = UNSUPPORTED.get(type(node), (f"'{ast.unparse(node)}'", ""))
        ctx.refuse(node, f"{what} is not supported in kernels.", hint)
    return _EXPRESSIONS[type(node)](ctx, node)


def static(ctx: Context, value: Any, node: ast.AST) -> Any:
    """A value that the translation knows, as a plain number."""
    known = value.known if isinstance(value, Scalar) else value.value if isinstance(value, Number) else value
    if known is None and value is not None:
        ctx.refuse(node, "this is not known when the kernel is compiled.", "Make it of tl.constexpr values.")
    return known


def _name(ctx: Context, node: ast.Name) -> Any:
    if node.id in ctx.frame.env:
        value = ctx.lookup(node.id)
        if isinstance(value, Undefined):
            ctx.refuse(node, f"'{node.id}' has no value here: {value.why}.", "Give it one before, of the same type.")
        return value
    found = outer(ctx.frame.source.function, node.id)
    if found is Missing:
        ctx.refuse(node, f"The name '{node.id}' is not defined.", "Define it before the kernel is launched, or pass it as an argument.")
    return plain(found)


def _constant(ctx: Context, node: ast.Constant) -> Any:
    return node.value


def _tuple(ctx: Context, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
    made: list[Any] = []
    for item in node.elts:
        made += evaluate(ctx, item.value) if isinstance(item, ast.Starred) else [evaluate(ctx, item)]
    return tuple(made)


def _binary(ctx: Context, node: ast.BinOp) -> Any:
    if type(node.op) not in BINARY:
        ctx.refuse(node, f"'{ast.unparse(node)}' is not supported in kernels.", "Use tl.dot for products of matrices.")
    made = fused(ctx, node.op, node.left, node.right, node)
    return binary(ctx, BINARY[type(node.op)], evaluate(ctx, node.left), evaluate(ctx, node.right), node) if made is None else made


def fused(ctx: Context, op: ast.operator, left: ast.expr, right: ast.expr, node: ast.AST, target: str = "") -> Any:
    """acc + tl.dot(a, b) as one product that accumulates, None if it is none."""
    if not isinstance(op, ast.Add) or not isinstance(right, ast.Call) or not _is_dot(ctx, right):
        return None
    acc = evaluate(ctx, left)
    if not isinstance(acc, Tile) or acc.dtype not in ("fp32", "int32", "fp64") or any(k.arg == "out_dtype" for k in right.keywords):
        return binary(ctx, "+", acc, evaluate(ctx, right), node)
    found = calls.bound(ctx, right, "dot", *calls.arguments_of(ctx, right))
    own = bool(target) and ctx.frame.env.get(target) == acc and holders(ctx, acc.name) <= 1
    precision = str(found.get("input_precision") or ("ieee" if found.get("allow_tf32") is False else "tf32"))
    return product(ctx, node, found["input"], found["other"], acc, precision, own=own)


def _is_dot(ctx: Context, node: ast.Call) -> bool:
    if not isinstance(node.func, ast.Attribute | ast.Name) or "dot" not in ast.unparse(node.func):
        return False
    function = evaluate(ctx, node.func)
    return calls.intrinsic(function) == "dot" and len(node.args) <= 2 and all(k.arg != "acc" for k in node.keywords)


def _unary(ctx: Context, node: ast.UnaryOp) -> Any:
    value = evaluate(ctx, node.operand)
    return _UNARY[type(node.op)](ctx, value, node)


_UNARY: dict[type[ast.AST], Callable[[Context, Any, ast.AST], Any]] = {
    ast.USub: negative,
    ast.UAdd: lambda ctx, value, node: value,
    ast.Invert: inverted,
    ast.Not: negated,
}


def _compare(ctx: Context, node: ast.Compare) -> Any:
    values = [evaluate(ctx, v) for v in (node.left, *node.comparators)]
    made: Any = None
    for op, a, b in zip(node.ops, values, values[1:], strict=False):
        one = _compared(ctx, op, a, b, node)
        made = one if made is None else binary(ctx, "&", made, one, node)
    return made


def _compared(ctx: Context, op: ast.cmpop, a: Any, b: Any, node: ast.AST) -> Any:
    if isinstance(op, ast.Is | ast.IsNot):
        return (a is b or (not is_value(a) and not is_value(b) and a == b)) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return (a in b) == isinstance(op, ast.In)
    if (a is None) != (b is None):
        return isinstance(op, ast.NotEq)
    return binary(ctx, BINARY[type(op)], a, b, node)


def _logic(ctx: Context, node: ast.BoolOp) -> Any:
    """and, or: known conditions decide at once, what is left is joined."""
    either = isinstance(node.op, ast.Or)
    made: Any = None
    for part in node.values:
        value = evaluate(ctx, part)
        if isinstance(value, Mask) or (isinstance(value, Tile) and value.shape):
            ctx.refuse(part, "'and' and 'or' take conditions of the block, not tiles.", "Write & or |.")
        if not is_value(value) or isinstance(value, bool | int | float):
            if bool(value) == either:
                return value
            made = value if made is None else made
            continue
        one = truth(ctx, value, part)
        if isinstance(one, bool):
            if one == either:
                return one
            continue
        made = one if not isinstance(made, Scalar) else Scalar(bin_("max" if either else "min", made.expr, one.expr), "bool")
    return made


def _choice(ctx: Context, node: ast.IfExp) -> Any:
    cond = truth(ctx, evaluate(ctx, node.test), node.test)
    if isinstance(cond, bool):
        return evaluate(ctx, node.body if cond else node.orelse)
    return where(ctx, node, cond, evaluate(ctx, node.body), evaluate(ctx, node.orelse))


def _subscript(ctx: Context, node: ast.Subscript) -> Any:
    value = evaluate(ctx, node.value)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(value, tuple | str):
        if isinstance(node.slice, ast.Slice):
            ends = [None if e is None else static(ctx, evaluate(ctx, e), e) for e in (node.slice.lower, node.slice.upper, node.slice.step)]
            return value[slice(*ends)]
        return value[static(ctx, evaluate(ctx, node.slice), node)]
    if not is_value(value):
        ctx.refuse(node, f"a {described(value)} has no items.")
    made: list[Any] = []
    for item in items:
        if isinstance(item, ast.Slice):
            if item.lower or item.upper or item.step:
                ctx.refuse(node, "a part of a tile cannot be taken.", "Reshape and split it, or load the part.")
            made.append(slice(None))
        elif isinstance(item, ast.Constant) and item.value is None:
            made.append(None)
        else:
            ctx.refuse(node, "tiles have no single elements.", "Reduce the tile, or load the element.")
    return indexed(ctx, node, value, made)


#: attribute of a value -> what it is
_ATTRIBUTES: dict[str, Callable[[Context, Any, ast.AST], Any]] = {
    "dtype": lambda ctx, v, node: BY_IR[v.base.dtype] if isinstance(v, BlockPointer) else type_of(v),
    "type": lambda ctx, v, node: BY_IR[v.base.dtype] if isinstance(v, BlockPointer) else type_of(v),
    "shape": lambda ctx, v, node: v.shape if isinstance(v, BlockPointer) else shape_of(v),
    "block_shape": lambda ctx, v, node: shape_of(v),
    "strides": lambda ctx, v, node: v.strides,
    "numel": lambda ctx, v, node: _size(v),
    "T": lambda ctx, v, node: trans(ctx, node, v),
    "value": lambda ctx, v, node: static(ctx, v, node),
}


def _size(value: Any) -> int:
    made = 1
    for n in shape_of(value):
        made *= n
    return made


def _attribute(ctx: Context, node: ast.Attribute) -> Any:
    value = evaluate(ctx, node.value)
    if is_value(value) or isinstance(value, BlockPointer):
        if node.attr in _ATTRIBUTES:
            return _ATTRIBUTES[node.attr](ctx, value, node)
        if node.attr in calls.METHODS:
            return calls.Method(node.attr, value)
        ctx.refuse(node, f"a {described(value)} ({_typed(value)}) has no '{node.attr}'.", "Call a function of tl instead.")
    try:
        return plain(getattr(value, node.attr))
    except AttributeError:
        where_from = value.__name__ if isinstance(value, ModuleType) else described(value)
        ctx.refuse(node, f"{where_from} has no '{node.attr}'.", "It is not supported, or misspelt.")


def _typed(value: Any) -> str:
    return "block" if isinstance(value, BlockPointer) else "pointer" if isinstance(value, Pointer) else dtype_of(value)


def _text(ctx: Context, node: ast.JoinedStr) -> str:
    """An f-string: the text of a message."""
    return ast.unparse(node)


_EXPRESSIONS: dict[type[ast.AST], Callable[[Context, Any], Any]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _logic,
    ast.IfExp: _choice,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Call: calls.call,
    ast.JoinedStr: _text,
}
