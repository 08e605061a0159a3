"""`cuda.libdevice`: C's math functions by their names there, for one type each."""

from __future__ import annotations

from gpusim.frontend.calls import Call, Handler
from gpusim.frontend.cuda_calls import float_op
from gpusim.frontend.math_calls import cube_root
from gpusim.frontend.operands import Operand, Scalar
from gpusim.ir.simt.nodes import Imm, Value

LOG2E, LN2, LOG10_2, LOG2_10 = 1.4426950408889634, 0.6931471805599453, 0.3010299956639812, 3.321928094887362


def fast(op: str, before: float = 1.0, after: float = 1.0) -> Handler:
    """after * approx(before * x) in float32, as CUDA's fast functions are made."""

    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        value = _times(made, made.ctx.cast(a.value, "float32"), before)
        return Scalar(_times(made, made.ctx.op(op, (value,), "float32"), after))

    return handle


def _times(made: Call, value: Value, factor: float) -> Value:
    return value if factor == 1.0 else made.ctx.op("mul", (value, made.ctx.cast(Imm(factor, "float64"), "float32")), "float32")


def _fast_tan(made: Call) -> Operand:
    (a,) = made.numbers("x")
    x, ctx = made.ctx.cast(a.value, "float32"), made.ctx
    sine, cosine = (ctx.op(f"approx.{n}", (x,), "float32") for n in ("sin", "cos"))
    return Scalar(ctx.op("fdividef", (sine, cosine), "float32"))


def _fast_pow(made: Call) -> Operand:
    """2 ** (y * log2(x))"""
    a, b = made.numbers("x y")
    ctx = made.ctx
    x, y = ctx.cast(a.value, "float32"), ctx.cast(b.value, "float32")
    power = ctx.op("mul", (y, ctx.op("approx.lg2", (x,), "float32")), "float32")
    return Scalar(ctx.op("approx.ex2", (power,), "float32"))


def integer(op: str, dtype: str, result: str = "") -> Handler:
    """A function of integers of one width."""

    def handle(made: Call) -> Operand:
        args = tuple(made.ctx.cast(made.ctx.scalar(a, made.node).value, dtype) for a in made.args)
        return Scalar(made.ctx.cast(made.ctx.op(op, args, dtype), result or dtype))

    return handle


def reinterpret(source: str, target: str) -> Handler:
    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        return Scalar(made.ctx.op("bitcast", (made.ctx.cast(a.value, source),), target))

    return handle


def _cbrt(dtype: str) -> Handler:
    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        return Scalar(cube_root(made.ctx, made.ctx.cast(a.value, dtype)))

    return handle


def _exp10(dtype: str) -> Handler:
    def handle(made: Call) -> Operand:
        (a,) = made.numbers("x")
        return Scalar(made.ctx.op("pow", (Imm(10.0, dtype), made.ctx.cast(a.value, dtype)), dtype))

    return handle


def _fdim(dtype: str) -> Handler:
    """max(x - y, 0)"""

    def handle(made: Call) -> Operand:
        a, b = (made.ctx.cast(v.value, dtype) for v in made.numbers("x y"))
        return Scalar(made.ctx.op("max", (made.ctx.op("sub", (a, b), dtype), Imm(0.0, dtype)), dtype))

    return handle


def _saturate(made: Call) -> Operand:
    (a,) = made.numbers("x")
    low = made.ctx.op("max", (made.ctx.cast(a.value, "float32"), Imm(0.0, "float32")), "float32")
    return Scalar(made.ctx.op("min", (low, Imm(1.0, "float32")), "float32"))


_OP = {"rint": "round", "nearbyint": "round", "fabs": "abs", "tgamma": "gamma", "fmin": "min", "fmax": "max"}
_PLAIN = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt floor ceil trunc round rint nearbyint "
    "erf erfc tgamma lgamma pow atan2 hypot fmod copysign fmin fmax fma"
).split()
_SUFFIX = (("", "float64"), ("f", "float32"))
_ROUNDED = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "rcp": "rcp", "sqrt": "sqrt"}

_TABLE: dict[str, Handler] = {
    **{n + s: float_op(_OP.get(n, n), dtype) for n in _PLAIN for s, dtype in _SUFFIX},
    **{f"{prefix}{n}_rn": float_op(op, dtype) for n, op in _ROUNDED.items() for prefix, dtype in (("f", "float32"), ("d", "float64"))},
    **{f"cbrt{s}": _cbrt(dtype) for s, dtype in _SUFFIX},
    **{f"exp10{s}": _exp10(dtype) for s, dtype in _SUFFIX},
    **{f"fdim{s}": _fdim(dtype) for s, dtype in _SUFFIX},
    "fabs": float_op("abs", "float64"),
    "fabsf": float_op("abs", "float32"),
    "saturatef": _saturate,
    "fmaf_rn": float_op("fma", "float32"),
    "fma_rn": float_op("fma", "float64"),
    "fast_expf": fast("fast.ex2", before=LOG2E),
    "fast_exp10f": fast("fast.ex2", before=LOG2_10),
    "fast_logf": fast("approx.lg2", after=LN2),
    "fast_log2f": fast("approx.lg2"),
    "fast_log10f": fast("approx.lg2", after=LOG10_2),
    "fast_sinf": fast("approx.sin"),
    "fast_cosf": fast("approx.cos"),
    "fast_tanf": _fast_tan,
    "fast_powf": _fast_pow,
    "fast_fdividef": float_op("fdividef", "float32"),
    **{n: integer(n, "uint32", "int32") for n in ("popc", "clz", "ffs")},
    **{f"{n}ll": integer(n, "uint64", "int32") for n in ("popc", "clz", "ffs")},
    "brev": integer("brev", "uint32"),
    "brevll": integer("brev", "uint64"),
    "mulhi": integer("mulhi", "int32"),
    "umulhi": integer("mulhi", "uint32"),
    "mul64hi": integer("mulhi", "int64"),
    "umul64hi": integer("mulhi", "uint64"),
    "abs": integer("abs", "int32"),
    "llabs": integer("abs", "int64"),
    **{f"{p}{n}": integer(n, dtype) for n in ("min", "max") for p, dtype in (("", "int32"), ("u", "uint32"), ("ll", "int64"), ("ull", "uint64"))},
    "float_as_int": reinterpret("float32", "int32"),
    "int_as_float": reinterpret("int32", "float32"),
    "float_as_uint": reinterpret("float32", "uint32"),
    "uint_as_float": reinterpret("uint32", "float32"),
    "double_as_longlong": reinterpret("float64", "int64"),
    "longlong_as_double": reinterpret("int64", "float64"),
}

LIBDEVICE: dict[str, Handler] = {f"libdevice.{name}": handler for name, handler in _TABLE.items()}
