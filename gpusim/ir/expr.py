"""Integer index expressions: small trees that stay symbolic, so that an address is a formula and not a list."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

ExprLike = Union["Expr", int]


class Expr:
    """An integer valued expression over program ids, loop variables and `Let` names. Python's operators build trees."""

    __slots__ = ()

    def __add__(self, other: ExprLike) -> Expr:
        return bin_("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return bin_("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return bin_("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return bin_("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return bin_("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return bin_("*", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return bin_("//", self, other)

    def __mod__(self, other: ExprLike) -> Expr:
        return bin_("%", self, other)

    def __lt__(self, other: ExprLike) -> Expr:
        return bin_("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return bin_("<=", self, other)

    def maximum(self, other: ExprLike) -> Expr:
        return bin_("max", self, other)

    def minimum(self, other: ExprLike) -> Expr:
        return bin_("min", self, other)


@dataclass(frozen=True, slots=True)
class Const(Expr):
    value: int


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A loop variable, a `Let` name, or a program id (`pid0`, `pid1`, `pid2`)."""

    name: str


@dataclass(frozen=True, slots=True)
class Bin(Expr):
    op: str
    a: Expr
    b: Expr


#: operator -> its meaning on ints and on integer arrays alike
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": lambda a, b: np.minimum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else min(a, b),
    "max": lambda a, b: np.maximum(a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else max(a, b),
    # times 1, because NumPy adds arrays of bool as "or"
    "<": lambda a, b: 1 * (a < b),
    "<=": lambda a, b: 1 * (a <= b),
    "==": lambda a, b: 1 * (a == b),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}


def expr(value: ExprLike) -> Expr:
    """`value` as an expression."""
    return value if isinstance(value, Expr) else Const(int(value))


def bin_(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """`a op b`, folded when both sides are constants or one side is neutral."""
    a, b = expr(a), expr(b)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(int(OPERATORS[op](a.value, b.value)))
    if (op in "+-" and b == Const(0)) or (op in ("*", "//") and b == Const(1)):
        return a
    if (op == "+" and a == Const(0)) or (op == "*" and a == Const(1)):
        return b
    return Bin(op, a, b)


def cdiv(a: ExprLike, b: ExprLike) -> Expr:
    """Ceiling division of non-negative values."""
    return (expr(a) + (expr(b) - 1)) // expr(b)


def evaluate(e: Expr, env: Mapping[str, Any]) -> Any:
    """The value of `e` where `env` gives the names; an int, or an array if a name stands for one."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Name):
        return env[e.name]
    assert isinstance(e, Bin)
    return OPERATORS[e.op](evaluate(e.a, env), evaluate(e.b, env))


def names(e: Expr) -> set[str]:
    """The names that `e` depends on."""
    if isinstance(e, Name):
        return {e.name}
    if isinstance(e, Bin):
        return names(e.a) | names(e.b)
    return set()
