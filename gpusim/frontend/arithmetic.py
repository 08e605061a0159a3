"""Operators on numbers, typed as Numba types them."""

from __future__ import annotations

import ast

from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Scalar
from gpusim.frontend.typing import UNSIGNED, arithmetic, bitwise, integer_result, is_float, is_integer, negated, quotient, real, shift
from gpusim.ir.simt.nodes import Imm, Value

#: Python operator -> (operation, rule of the result's type)
BINARY = {
    ast.Add: ("add", arithmetic), ast.Sub: ("sub", arithmetic), ast.Mult: ("mul", arithmetic), ast.Div: ("div", quotient),
    ast.FloorDiv: ("floordiv", arithmetic), ast.Mod: ("mod", arithmetic), ast.BitAnd: ("and", bitwise), ast.BitOr: ("or", bitwise),
    ast.BitXor: ("xor", bitwise), ast.LShift: ("shl", shift), ast.RShift: ("shr", shift),
}  # fmt: skip
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Is: "eq", ast.IsNot: "ne"}
_SYMBOL = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
_STAYS_NONNEG = ("add", "mul", "div", "floordiv", "shr", "shl", "or", "xor")

#: powers up to here become multiplications, as in Numba
MAX_STATIC_POWER = 0x10000


def binary(ctx: Context, node: ast.AST, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """a op b."""
    if isinstance(op, ast.Pow):
        return power(ctx, a, b)
    if type(op) not in BINARY:
        ctx.refuse(node, "Kernels have no matrix product of arrays.", "Write the loops, or use cuda.mma_m16n8k16.")
    name, rule = BINARY[type(op)]
    dtype = rule(a.dtype, b.dtype)
    if dtype is None:
        ctx.refuse(
            node,
            f"{_SYMBOL[type(op)]} of {a.dtype} and {b.dtype}.",
            "Bits belong to integers: convert with int32() or uint32(), or keep the bits with cuda.bitcast.",
        )
    return apply(ctx, name, a, b, dtype)


def apply(ctx: Context, name: str, a: Scalar, b: Scalar, dtype: str) -> Scalar:
    """name(a, b) computed in `dtype`."""
    left, right = ctx.cast(a.value, dtype), ctx.cast(b.value, dtype)
    value = ctx.op(name, (left, right), dtype)
    return Scalar(value, None, _nonneg_result(name, a, b))


def _nonneg_result(name: str, a: Scalar, b: Scalar) -> bool:
    if name == "mod":
        return is_nonneg(b)
    if name in ("and", "max"):
        return is_nonneg(a) or is_nonneg(b)
    return name in (*_STAYS_NONNEG, "min") and is_nonneg(a) and is_nonneg(b)


def power(ctx: Context, a: Scalar, b: Scalar) -> Scalar:
    """a ** b. A small constant exponent becomes multiplications."""
    exponent = b.value.value if isinstance(b.value, Imm) else None
    if not is_float(b.dtype):
        dtype = a.dtype if is_float(a.dtype) else integer_result(a.dtype, b.dtype)
    else:
        dtype = real(arithmetic(a.dtype, b.dtype))
    base = ctx.cast(a.value, dtype)
    if exponent is not None and exponent == int(exponent) and abs(exponent) < MAX_STATIC_POWER and is_integer(b.dtype):
        if exponent >= 0:
            return Scalar(_product(ctx, base, int(exponent)))
        dtype = real(dtype)
        product = _product(ctx, ctx.cast(base, dtype), -int(exponent))
        return Scalar(ctx.op("div", (Imm(1.0, dtype), product), dtype))
    return Scalar(ctx.op("pow", (base, ctx.cast(b.value, dtype)), dtype))


def _product(ctx: Context, base: Value, exponent: int) -> Value:
    """base ** exponent by squaring."""
    result: Value | None = None
    while exponent:
        if exponent & 1:
            result = base if result is None else ctx.op("mul", (result, base), base.dtype)
        exponent >>= 1
        if exponent:
            base = ctx.op("mul", (base, base), base.dtype)
    return result if result is not None else Imm(1.0 if is_float(base.dtype) else 1, base.dtype)


def unary(ctx: Context, node: ast.AST, op: ast.unaryop, a: Scalar) -> Scalar:
    """-a, +a, ~a. Numba computes in the operand's own width and widens then: -uint8(5) is 251."""
    dtype = negated(a.dtype)
    if isinstance(op, ast.UAdd):
        return Scalar(ctx.cast(a.value, dtype), None, a.nonneg)
    if isinstance(op, ast.Invert) and is_float(a.dtype):
        ctx.refuse(node, f"~ of {a.dtype}.", "Bits belong to integers: convert with int32() or uint32().")
    if a.dtype == "bool":
        own, dtype = ("bool", "bool") if isinstance(op, ast.Invert) else ("int64", "int64")
    else:
        own = a.dtype
    value = ctx.op("not" if isinstance(op, ast.Invert) else "neg", (ctx.cast(a.value, own),), own)
    return Scalar(ctx.cast(value, dtype))


def compare(ctx: Context, name: str, a: Scalar, b: Scalar) -> Value:
    """a name b as bool. Integers of any two types compare by value."""
    x, y = a.value, b.value
    if x.dtype == y.dtype:
        return ctx.op(name, (x, y), "bool")
    if is_float(x.dtype) or is_float(y.dtype):
        dtype = arithmetic(x.dtype, y.dtype)
        return ctx.op(name, (ctx.cast(x, dtype), ctx.cast(y, dtype)), "bool")
    narrow = _literal_of(y, x.dtype), _literal_of(x, y.dtype)
    if narrow[0] is not None:
        return ctx.op(name, (x, narrow[0]), "bool")
    if narrow[1] is not None:
        return ctx.op(name, (narrow[1], y), "bool")
    return _integers(ctx, name, a, b)


def _literal_of(value: Value, dtype: str) -> Imm | None:
    """The same integer constant in the other operand's type, if it exists there."""
    from gpusim.frontend.folding import fits

    if isinstance(value, Imm) and is_integer(dtype) and fits(int(value.value), dtype):
        return Imm(int(value.value), dtype)
    return None


def _integers(ctx: Context, name: str, a: Scalar, b: Scalar) -> Value:
    wide = "uint64" if a.dtype in UNSIGNED and b.dtype in UNSIGNED else "int64"
    if "uint64" not in (a.dtype, b.dtype) or wide == "uint64":
        return ctx.op(name, (ctx.cast(a.value, wide), ctx.cast(b.value, wide)), "bool")
    unsigned = ctx.op(name, (ctx.cast(a.value, "uint64"), ctx.cast(b.value, "uint64")), "bool")
    signed, left = (a, True) if a.dtype != "uint64" else (b, False)
    if is_nonneg(signed):
        return unsigned
    negative = ctx.op("lt", (ctx.cast(signed.value, "int64"), Imm(0, "int64")), "bool")
    below = name in (("lt", "le") if left else ("gt", "ge")) or name == "ne"
    return ctx.op("select", (negative, Imm(below, "bool"), unsigned), "bool")
