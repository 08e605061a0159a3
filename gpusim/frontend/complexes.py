"""Complex numbers of a thread: two real ones, held as a tuple with the names real and imag. Arrays of them do not exist."""

from __future__ import annotations

import ast

from gpusim.frontend import arithmetic
from gpusim.frontend.calls import Call
from gpusim.frontend.context import Context
from gpusim.frontend.operands import Group, Operand, Scalar, is_complex
from gpusim.frontend.typing import arithmetic as arithmetic_type
from gpusim.frontend.typing import real
from gpusim.ir.simt.nodes import Imm, Value

FIELDS = ("real", "imag")
MAX_POWER = 64


def made(call: Call) -> Operand:
    """complex(x), complex(x, y)."""
    x, y = call.bound("real imag", optional=1)
    if x is not None and is_complex(x) and y is None:
        return x
    parts = [call.ctx.scalar(x or Scalar(Imm(0, "int64")), call.node), Scalar(Imm(0.0, "float64")) if y is None else call.ctx.scalar(y, call.node)]
    return _pair(*(Scalar(call.ctx.cast(p.value, "float64")) for p in parts))


def binary(ctx: Context, node: ast.BinOp, left: Operand, right: Operand) -> Group:
    """left op right, of which at least one is complex."""
    op = node.op
    if isinstance(op, ast.Pow):
        return _power(ctx, node, left, right)
    a, b = _parts(ctx, node, left), _parts(ctx, node, right)
    if isinstance(op, ast.Add | ast.Sub):
        return _pair(*(_op(ctx, node, op, x, y) for x, y in zip(a, b, strict=True)))
    if isinstance(op, ast.Mult):
        return _product(ctx, node, a, b)
    if not isinstance(op, ast.Div):
        ctx.refuse(node, "Complex numbers have + - * / and ** only.")
    size = _op(ctx, node, ast.Add(), _op(ctx, node, ast.Mult(), b[0], b[0]), _op(ctx, node, ast.Mult(), b[1], b[1]))
    above = _product(ctx, node, a, (b[0], arithmetic.unary(ctx, node, ast.USub(), b[1])))
    return _pair(*(_op(ctx, node, op, ctx.scalar(x, node), size) for x in above.items))


def unary(ctx: Context, node: ast.UnaryOp, value: Group) -> Group:
    if isinstance(node.op, ast.Invert):
        ctx.refuse(node, "~ of a complex number.")
    return _pair(*(arithmetic.unary(ctx, node, node.op, ctx.scalar(i, node)) for i in value.items))


def magnitude(ctx: Context, node: ast.AST, value: Group) -> Scalar:
    """abs(z)"""
    x, y = _parts(ctx, node, value)
    return arithmetic.apply(ctx, "hypot", x, y, real(arithmetic_type(x.dtype, y.dtype)))


def equal(ctx: Context, node: ast.AST, left: Operand, right: Operand) -> Value:
    hits = [arithmetic.compare(ctx, "eq", x, y) for x, y in zip(_parts(ctx, node, left), _parts(ctx, node, right), strict=True)]
    return ctx.op("and", (hits[0], hits[1]), "bool")


def _parts(ctx: Context, node: ast.AST, operand: Operand) -> tuple[Scalar, Scalar]:
    if isinstance(operand, Group):
        return ctx.scalar(operand.items[0], node), ctx.scalar(operand.items[1], node)
    value = ctx.scalar(operand, node)
    return value, Scalar(Imm(0.0, real(value.dtype)))


def _pair(x: Scalar, y: Scalar) -> Group:
    return Group((x, y), FIELDS)


def _op(ctx: Context, node: ast.AST, op: ast.operator, x: Scalar, y: Scalar) -> Scalar:
    return arithmetic.binary(ctx, node, op, x, y)


def _product(ctx: Context, node: ast.AST, a: tuple[Scalar, Scalar], b: tuple[Scalar, Scalar]) -> Group:
    def times(x: Scalar, y: Scalar) -> Scalar:
        return _op(ctx, node, ast.Mult(), x, y)

    return _pair(
        _op(ctx, node, ast.Sub(), times(a[0], b[0]), times(a[1], b[1])),
        _op(ctx, node, ast.Add(), times(a[0], b[1]), times(a[1], b[0])),
    )


def _power(ctx: Context, node: ast.AST, left: Operand, right: Operand) -> Group:
    exponent = right.value.value if isinstance(right, Scalar) and isinstance(right.value, Imm) else None
    if not isinstance(exponent, int) or not 1 <= exponent <= MAX_POWER or not isinstance(left, Group):
        ctx.refuse(node, "A complex number to a power that is not a small whole constant.", "Multiply, or compute with angle and magnitude.")
    base = _parts(ctx, node, left)
    result = base
    for _ in range(exponent - 1):
        x, y = _product(ctx, node, result, base).items
        result = ctx.scalar(x, node), ctx.scalar(y, node)
    return _pair(*result)
