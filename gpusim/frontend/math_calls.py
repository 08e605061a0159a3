"""The functions of `math` and NumPy that kernels have, with Numba's result types."""

from __future__ import annotations

import ast
import math
import operator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from gpusim.frontend import composed
from gpusim.frontend.arithmetic import apply, binary, compare
from gpusim.frontend.builtin_calls import extreme
from gpusim.frontend.calls import Call, Handler
from gpusim.frontend.inline import inline
from gpusim.frontend.operands import Group, Operand, Scalar
from gpusim.frontend.typing import arithmetic, integer_result, is_float, is_integer, real
from gpusim.ir.simt.nodes import Imm, Value


def one(op: str) -> Handler:
    """A function of one real number: float32 gives float32, integers float64."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        dtype = real(a.dtype)
        return Scalar(made.ctx.op(op, (made.ctx.cast(a.value, dtype),), dtype))

    return handle


def two(op: str) -> Handler:
    """A function of two real numbers."""

    def handle(made: Call) -> Operand:
        a, b = made.numbers("x y")
        return apply(made.ctx, op, a, b, real(arithmetic(a.dtype, b.dtype)))

    return handle


def test(op: str) -> Handler:
    """isnan and its like; integers are always finite."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        if not is_float(a.dtype):
            return Scalar(Imm(op == "isfinite", "bool"))
        return Scalar(made.ctx.op(op, (a.value,), "bool"))

    return handle


def to_integer(op: str) -> Handler:
    """math.floor, ceil, trunc: int64."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        if not is_float(a.dtype):
            return Scalar(made.ctx.cast(a.value, integer_result(a.dtype)), None, a.nonneg)
        return Scalar(made.ctx.cast(made.ctx.op(op, (a.value,), a.dtype), "int64"))

    return handle


def scaled(factor: float) -> Handler:
    """x * factor, in the type of x."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        dtype = real(a.dtype)
        return Scalar(made.ctx.op("mul", (made.ctx.cast(a.value, dtype), Imm(factor, dtype)), dtype))

    return handle


def absolute(made: Call) -> Operand:
    """np.abs: integers keep their kind; math.fabs is `one("abs")`."""
    (a,) = made.numbers("x")
    dtype = "int8" if a.dtype == "bool" else a.dtype
    return Scalar(made.ctx.op("abs", (made.ctx.cast(a.value, dtype),), dtype))


def _log(made: Call) -> Operand:
    """log(x), or log(x, base)."""
    if len(made.args) == 1:
        return one("log")(made)
    a, b = made.numbers("x base")
    dtype = real(arithmetic(a.dtype, b.dtype))
    top, bottom = (made.ctx.op("log", (made.ctx.cast(v.value, dtype),), dtype) for v in (a, b))
    return Scalar(made.ctx.op("div", (top, bottom), dtype))


def _power(made: Call) -> Operand:
    """math.pow is always a real number; an integer exponent keeps the base's type."""
    a, b = made.numbers("x y")
    dtype = real(a.dtype) if is_integer(b.dtype) else real(arithmetic(a.dtype, b.dtype))
    base = Scalar(made.ctx.cast(a.value, dtype))
    return binary(made.ctx, made.node, ast.Pow(), base, b)


def _ldexp(made: Call) -> Operand:
    """x * 2**i."""
    a, b = made.numbers("x i")
    dtype = real(a.dtype)
    scale = made.ctx.op("exp2", (made.ctx.cast(b.value, dtype),), dtype)
    return Scalar(made.ctx.op("mul", (made.ctx.cast(a.value, dtype), scale), dtype))


def _modf(made: Call) -> Operand:
    """(fraction, whole), both with the sign of x."""
    (a,) = made.numbers("x")
    dtype, ctx = real(a.dtype), made.ctx
    x = ctx.cast(a.value, dtype)
    whole = ctx.op("trunc", (x,), dtype)
    rest = ctx.op("select", (ctx.op("isinf", (x,), "bool"), Imm(0.0, dtype), ctx.op("sub", (x, whole), dtype)), dtype)
    fraction = ctx.op("copysign", (rest, x), dtype)
    return Group((Scalar(fraction), Scalar(whole)))


def cube_root(ctx: Any, x: Value) -> Value:
    """The cube root, negative for negative x."""
    root = ctx.op("pow", (ctx.op("abs", (x,), x.dtype), Imm(1.0 / 3.0, x.dtype)), x.dtype)
    return ctx.op("copysign", (root, x), x.dtype)


def _cbrt(made: Call) -> Operand:
    (a,) = made.numbers("x")
    return Scalar(cube_root(made.ctx, made.ctx.cast(a.value, real(a.dtype))))


#: float type -> (integer of that width, bits of the fraction, what makes a subnormal normal)
_PARTS = {"float32": ("int32", 23, 25), "float64": ("int64", 52, 54)}


def _frexp(made: Call) -> Operand:
    """(m, e) with x = m * 2**e and 0.5 <= |m| < 1; zero, infinity and NaN give (x, 0)."""
    (a,) = made.numbers("x")
    ctx, dtype = made.ctx, real(a.dtype)
    x = ctx.cast(a.value, dtype)
    if dtype not in _PARTS:
        x, dtype = ctx.cast(x, "float32"), "float32"
    word, fraction, lift = _PARTS[dtype]
    ones = (1 << (31 if word == "int32" else 63) - fraction) - 1
    bias = ones // 2 - 1
    small = ctx.op("lt", (ctx.op("abs", (x,), dtype), Imm(2.0 ** (1 - ones // 2), dtype)), "bool")
    scaled_up = ctx.op("select", (small, ctx.op("mul", (x, Imm(2.0**lift, dtype)), dtype), x), dtype)
    bits = ctx.op("bitcast", (scaled_up,), word)
    field = ctx.op("and", (ctx.op("shr", (bits, Imm(fraction, word)), word), Imm(ones, word)), word)
    cleared = ctx.op("and", (bits, Imm(~(ones << fraction), word)), word)
    mantissa = ctx.op("bitcast", (ctx.op("or", (cleared, Imm(bias << fraction, word)), word),), dtype)
    exponent = ctx.op("sub", (field, ctx.op("select", (small, Imm(bias + lift, word), Imm(bias, word)), word)), word)
    plain = ctx.op("and", (ctx.op("isfinite", (x,), "bool"), ctx.op("ne", (x, Imm(0.0, dtype)), "bool")), "bool")
    exponent = ctx.op("select", (plain, exponent, Imm(0, word)), word)
    return Group((Scalar(ctx.op("select", (plain, mantissa, x), dtype)), Scalar(ctx.cast(exponent, "int32"))))


def _sign(made: Call) -> Operand:
    """-1, 0 or 1 in the type of x."""
    (a,) = made.numbers("x")
    ctx, dtype = made.ctx, a.dtype
    zero, plus, minus = (Imm(float(k) if is_float(dtype) else k, dtype) for k in (0, 1, -1))
    below = ctx.op("select", (ctx.op("lt", (a.value, zero), "bool"), minus, zero), dtype)
    return Scalar(ctx.op("select", (ctx.op("gt", (a.value, zero), "bool"), plus, below), dtype))


def operator_call(node: ast.operator) -> Handler:
    """A function that is an operator: np.add, operator.add."""

    def handle(made: Call) -> Operand:
        a, b = made.numbers("x y")
        return binary(made.ctx, made.node, node, a, b)

    return handle


def _compared(op: str) -> Handler:
    def handle(made: Call) -> Operand:
        a, b = made.numbers("x y")
        return Scalar(compare(made.ctx, op, a, b))

    return handle


def _remainder(made: Call) -> Operand:
    a, b = made.numbers("x y")
    dtype = real(arithmetic(a.dtype, b.dtype))
    given = replace(made, args=tuple(Scalar(made.ctx.cast(v.value, "float64")) for v in (a, b)), keywords={})
    return Scalar(made.ctx.cast(made.ctx.scalar(inline(given, SimpleNamespace(py_func=composed.remainder)), made.node).value, dtype))


def _gcd(made: Call) -> Operand:
    return made.refuse("math.gcd in a kernel.", "Write the loop: while b: a, b = b, a % b.")


_SAME = "exp expm1 log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc gamma lgamma"

#: function of the module operator -> the operator
_OPERATORS = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div(), "floordiv": ast.FloorDiv(), "mod": ast.Mod(), "pow": ast.Pow(),
    "and_": ast.BitAnd(), "or_": ast.BitOr(), "xor": ast.BitXor(), "lshift": ast.LShift(), "rshift": ast.RShift(),
}  # fmt: skip

MATH: dict[Any, Handler] = {
    **{getattr(math, n): one(n) for n in _SAME.split()},
    **{getattr(math, n): two(n) for n in "atan2 hypot fmod copysign".split()},
    **{getattr(math, n): test(n) for n in "isnan isinf isfinite".split()},
    **{getattr(math, n): to_integer(n) for n in "floor ceil trunc".split()},
    math.fabs: one("abs"),
    math.log: _log,
    math.pow: _power,
    math.degrees: scaled(180.0 / math.pi),
    math.radians: scaled(math.pi / 180.0),
    math.ldexp: _ldexp,
    math.modf: _modf,
    math.frexp: _frexp,
    math.gcd: _gcd,
    math.remainder: _remainder,
    **{getattr(operator, name): operator_call(node) for name, node in _OPERATORS.items()},
    **{getattr(operator, name): _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
}
for _name, _op in (("exp2", "exp2"),):
    if hasattr(math, _name):
        MATH[getattr(math, _name)] = one(_op)

_NAMES = "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor ceil trunc"
_ARC = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "rint": "round", "fabs": "abs"}

#: by the function's own name; all are of single numbers
NUMPY: dict[str, Handler] = {
    **{n: one(n) for n in _NAMES.split()},
    **{n: one(op) for n, op in _ARC.items()},
    **{n: two(op) for n, op in {"arctan2": "atan2", "hypot": "hypot", "copysign": "copysign", "fmod": "fmod"}.items()},
    **{n: test(n) for n in "isnan isinf isfinite".split()},
    "absolute": absolute,
    "abs": absolute,
    "cbrt": _cbrt,
    "sign": _sign,
    "maximum": extreme("max"),
    "minimum": extreme("min"),
    "fmax": extreme("max"),
    "fmin": extreme("min"),
    "power": operator_call(ast.Pow()),
    "add": operator_call(ast.Add()),
    "subtract": operator_call(ast.Sub()),
    "multiply": operator_call(ast.Mult()),
    "divide": operator_call(ast.Div()),
    "true_divide": operator_call(ast.Div()),
    "floor_divide": operator_call(ast.FloorDiv()),
    "remainder": operator_call(ast.Mod()),
    "mod": operator_call(ast.Mod()),
    "deg2rad": scaled(math.pi / 180.0),
    "radians": scaled(math.pi / 180.0),
    "rad2deg": scaled(180.0 / math.pi),
    "degrees": scaled(180.0 / math.pi),
}
