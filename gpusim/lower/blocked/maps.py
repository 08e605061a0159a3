"""What functions of elements become: operations of a thread, as Triton's compiler chooses them.

Evidence, fp32 (`compiled/*.sassops`): exp is a multiplication by log2 e and ex2.approx, which scales results below 2**-126 (FMUL FSETP @FMUL MUFU.EX2
@FMUL); a quotient is div.full; a square root sqrt.approx; sine, cosine and logarithm are the library's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Imm, Value
from gpusim.lower.blocked.emit import BOOL, FLOAT, Emitter
from gpusim.lower.blocked.words import philox, uniform

#: log2(e), log2(10)
LOG2_E, LOG2_10 = 1.4426950408889634, 3.321928094887362

Function = Callable[[Emitter, tuple[Value, ...]], Value]


def _same(op: str) -> Function:
    return lambda e, args: e.op(op, args[-1].dtype, *args)


def _truth(op: str) -> Function:
    return lambda e, args: e.op(op, BOOL, *args)


def _floats(single: Function, other: str) -> Function:
    """`single` on fp32, the operation `other` on wider types."""
    return lambda e, args: single(e, args) if args[0].dtype == FLOAT else e.op(other, args[0].dtype, *args)


def _exp(e: Emitter, args: tuple[Value, ...]) -> Value:
    return e.op("fast.ex2", FLOAT, e.op("mul", FLOAT, args[0], Imm(LOG2_E, FLOAT)))


def _sigmoid(e: Emitter, args: tuple[Value, ...]) -> Value:
    kind = args[0].dtype
    one = Imm(1.0, kind)
    below = e.op("add", kind, MAPS["exp"](e, (e.op("neg", kind, args[0]),)), one)
    return MAPS["div"](e, (one, below))


def _relu(e: Emitter, args: tuple[Value, ...]) -> Value:
    kind: Any = args[0].dtype
    return e.op("max", kind, args[0], Imm(0 if "int" in kind else 0.0, kind))


MAPS: dict[str, Function] = {
    "exp": _floats(_exp, "exp"),
    "exp2": _floats(_same("fast.ex2"), "exp2"),
    "sqrt": _floats(_same("approx.sqrt"), "sqrt"),
    "div": _floats(_same("approx.div"), "div"),
    "sigmoid": _sigmoid,
    "relu": _relu,
    **{name: _same(name) for name in ("log", "log2", "rsqrt", "sin", "cos", "tanh", "floor", "ceil", "neg", "abs", "add", "sub", "mul", "fma")},
    **{name: _same(name) for name in ("erf", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "expm1", "log10", "log1p")},
    **{name: _same(name) for name in ("trunc", "pow", "atan2", "fmod", "shl", "shr", "mulhi")},
    **{f"bit_{name}": _same(name) for name in ("and", "or", "xor", "not")},
    "rint": _same("round"),
    "exp10": lambda e, args: e.op("fast.ex2", FLOAT, e.op("mul", FLOAT, args[0], Imm(LOG2_10, FLOAT))),
    "cbrt": lambda e, args: e.op("pow", args[0].dtype, args[0], Imm(1.0 / 3.0, args[0].dtype)),
    "quotient": _same("div"),
    "remainder": _same("rem"),
    **{f"philox{n}": philox(n) for n in range(4)},
    "uniform": uniform,
    "maximum": _same("max"),
    "minimum": _same("min"),
    "where": _same("select"),
    **{name: _truth(name) for name in ("lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf")},
    "logical_and": _truth("and"),
    "logical_or": _truth("or"),
    "logical_not": _truth("not"),
}


#: functions with a branch inside: a compiler leaves them in the order of the source
BRANCHING = frozenset(("sin", "cos", "tan"))
#: comparisons that have one result for neighbours, where both sides are multiples
COMPARISONS = frozenset(("lt", "le", "gt", "ge"))


def function(name: str) -> Function:
    """The function of a Map. GpusimError if no thread can compute it yet."""
    if name not in MAPS:
        raise GpusimError(f"no timing for '{name}' yet.", where="lowering of tiles to threads", hint=f"Known: {', '.join(MAPS)}.")
    return MAPS[name]
