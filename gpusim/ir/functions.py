"""The names of the element-wise functions and reductions, and the types they take. What they compute is in `interp/functions.py`."""

from __future__ import annotations

from dataclasses import dataclass

#: dtypes that hold fractions
FLOATING = frozenset({"fp8e4m3", "fp8e5m2", "fp16", "bf16", "tf32", "fp32", "fp64"})

#: dtypes that hold whole numbers
WHOLE = frozenset(f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64))

#: letter of a signature -> the dtypes it stands for, in words
LETTERS = {"T": "numbers of one dtype", "F": "floating point of one dtype", "I": "integers of one dtype", "B": "bool", "A": "anything of one dtype"}

#: dtype of both operands of a Dot -> dtype of its accumulator
ACCUMULATORS = {"fp16": "fp32", "bf16": "fp32", "tf32": "fp32", "fp32": "fp32", "fp64": "fp64", "fp8e4m3": "fp32", "fp8e5m2": "fp32", "int8": "int32"}

#: reductions along one axis: they take numbers and give the same dtype
REDUCES = frozenset({"sum", "max", "min", "prod", "xor"})
#: reductions that give the int32 index of the first extreme along the axis
ARGS = frozenset({"argmax", "argmin"})
#: running reductions along one axis
SCANS = frozenset({"sum", "prod", "max", "min"})
#: what an atomic does with the old and the new value; it gives the old one
ATOMICS = frozenset({"add", "max", "min", "and", "or", "xor", "xchg", "cas"})


@dataclass(frozen=True, slots=True)
class Signature:
    """One letter of `LETTERS` for each argument, one for the result. T and F arguments have one common dtype, the result's."""

    takes: str
    gives: str


_UNARY_FLOAT = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "floor", "ceil", "erf")
_MORE_FLOAT = ("tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "exp10", "expm1", "log10", "log1p", "trunc", "rint", "cbrt")
_BINARY = ("add", "sub", "mul", "maximum", "minimum")
_COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")

#: function of a Map -> its signature
MAPS: dict[str, Signature] = {
    **{name: Signature("F", "F") for name in (*_UNARY_FLOAT, *_MORE_FLOAT)},
    **{name: Signature("FF", "F") for name in ("pow", "atan2", "fmod")},
    **{name: Signature("F", "B") for name in ("isnan", "isinf")},
    **{name: Signature("T", "T") for name in ("neg", "abs", "relu")},
    **{name: Signature("TT", "T") for name in _BINARY},
    "div": Signature("FF", "F"),
    "fma": Signature("FFF", "F"),
    **{name: Signature("TT", "B") for name in _COMPARE},
    "where": Signature("BAA", "A"),
    # quotient and remainder round towards zero, as in C
    **{name: Signature("II", "I") for name in ("quotient", "remainder", "bit_and", "bit_or", "bit_xor", "shl", "shr", "mulhi")},
    "bit_not": Signature("I", "I"),
    # word n of Philox 4x32-10 for a 64-bit seed and a counter: both as they are, the result uint32
    **{f"philox{n}": Signature("II", "W") for n in range(4)},
    # a draw from [0, 1) made of the 32 bits of a word
    "uniform": Signature("I", "R"),
    "logical_and": Signature("BB", "B"),
    "logical_or": Signature("BB", "B"),
    "logical_not": Signature("B", "B"),
}


#: letter that only results have -> their dtype
FIXED = {"B": "bool", "W": "uint32", "R": "fp32"}


def fits(letter: str, dtype: str) -> bool:
    """Whether a dtype (by name) may stand where a signature has `letter`. "T" excludes bool."""
    return {"T": dtype != "bool", "F": dtype in FLOATING, "I": dtype in WHOLE, "B": dtype == "bool", "A": True}[letter]
