"""The names of the element-wise functions and reductions, and the types they take. What they compute is in `interp/functions.py`."""

from __future__ import annotations

from dataclasses import dataclass

#: dtypes that hold fractions
FLOATING = frozenset({"fp16", "bf16", "tf32", "fp32", "fp64"})

#: letter of a signature -> the dtypes it stands for, in words
LETTERS = {"T": "numbers of one dtype", "F": "floating point of one dtype", "B": "bool"}

#: dtype of both operands of a Dot -> dtype of its accumulator
ACCUMULATORS = {"fp16": "fp32", "bf16": "fp32", "tf32": "fp32", "fp32": "fp32", "fp64": "fp64"}

#: reductions along one axis: they take numbers and give the same dtype
REDUCES = frozenset({"sum", "max"})


@dataclass(frozen=True, slots=True)
class Signature:
    """One letter of `LETTERS` for each argument, one for the result. T and F arguments have one common dtype, the result's."""

    takes: str
    gives: str


_UNARY_FLOAT = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "floor", "ceil")
_BINARY = ("add", "sub", "mul", "maximum", "minimum")
_COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")

#: function of a Map -> its signature
MAPS: dict[str, Signature] = {
    **{name: Signature("F", "F") for name in _UNARY_FLOAT},
    **{name: Signature("T", "T") for name in ("neg", "abs", "relu")},
    **{name: Signature("TT", "T") for name in _BINARY},
    "div": Signature("FF", "F"),
    "fma": Signature("FFF", "F"),
    **{name: Signature("TT", "B") for name in _COMPARE},
    "where": Signature("BTT", "T"),
    "logical_and": Signature("BB", "B"),
    "logical_or": Signature("BB", "B"),
    "logical_not": Signature("B", "B"),
}


def fits(letter: str, dtype: str) -> bool:
    """Whether a dtype (by name) may stand where a signature has `letter`. "T" excludes bool."""
    return {"T": dtype != "bool", "F": dtype in FLOATING, "B": dtype == "bool"}[letter]
