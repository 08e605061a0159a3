"""What values a formula takes over the whole grid: intervals, one for each block, so that what depends on the block alone is exact."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from gpusim.ir.blocks import program_ids
from gpusim.ir.expr import OPERATORS, Bin, Const, Expr, Name
from gpusim.ir.linear import Linear

Interval = tuple[Any, Any]


class Unknown(Exception):
    """The formula depends on data."""


class Ranges:
    """Intervals of expressions. Lets and loop variables are declared as they are translated."""

    def __init__(self, grid: tuple[int, ...]) -> None:
        blocks = np.arange(int(np.prod(grid)))
        self.ids: dict[str, Interval] = {name: (v, v) for name, v in program_ids(grid, blocks).items()}
        self.lets: dict[str, Expr] = {}
        self.loops: dict[str, tuple[Expr, Expr]] = {}
        self.cache: dict[str, Interval] = {}

    def let(self, name: str, value: Expr) -> None:
        self.lets[name] = value
        self.cache.pop(name, None)

    def loop(self, var: str, start: Expr, stop: Expr) -> None:
        self.loops[var] = start, stop
        self.cache.pop(var, None)

    def of(self, total: Linear) -> tuple[int, int] | None:
        """The least and the largest value over all blocks and iterations, or None if that depends on data."""
        try:
            low: Any = total.constant
            high: Any = total.constant
            for atom, k in total.terms:
                a, b = self.interval(atom)
                low, high = low + (a if k > 0 else b) * k, high + (b if k > 0 else a) * k
        except Unknown:
            return None
        return int(np.min(low)), int(np.max(high))

    def interval(self, e: Expr) -> Interval:
        if isinstance(e, Const):
            return e.value, e.value
        if isinstance(e, Name):
            return self.name(e.name)
        assert isinstance(e, Bin)
        a, b = self.interval(e.a), self.interval(e.b)
        return _COMBINED.get(e.op, _exact(e.op))(a, b)

    def name(self, name: str) -> Interval:
        if name in self.ids:
            return self.ids[name]
        if name not in self.cache:
            if name in self.lets:
                self.cache[name] = self.interval(self.lets[name])
            elif name in self.loops:
                start, stop = (self.interval(e) for e in self.loops[name])
                self.cache[name] = start[0], np.maximum(start[0], stop[1] - 1)
            else:
                raise Unknown
        return self.cache[name]


def _same(a: Interval) -> bool:
    return a[0] is a[1] or bool(np.all(a[0] == a[1]))


def _product(a: Interval, b: Interval) -> Interval:
    ends = [x * y for x in a for y in b]
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _quotient(a: Interval, b: Interval) -> Interval:
    if np.min(b[0]) <= 0:
        raise Unknown
    ends = [x // y for x in a for y in b]
    return reduce(np.minimum, ends), reduce(np.maximum, ends)


def _remainder(a: Interval, b: Interval) -> Interval:
    if np.min(b[0]) <= 0:
        raise Unknown
    if _same(a) and _same(b):
        made = a[0] % b[0]
        return made, made
    whole = np.all(a[0] >= 0) and np.all(a[1] < b[0])
    return a if whole else (0, b[1] - 1)


def _exact(op: str) -> Callable[[Interval, Interval], Interval]:
    def apply(a: Interval, b: Interval) -> Interval:
        if not (_same(a) and _same(b)):
            if op in ("<", "<=", "=="):
                return 0, 1
            raise Unknown
        made = OPERATORS[op](a[0], b[0])
        return made, made

    return apply


_COMBINED: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _product,
    "//": _quotient,
    "%": _remainder,
    "min": lambda a, b: (np.minimum(a[0], b[0]), np.minimum(a[1], b[1])),
    "max": lambda a, b: (np.maximum(a[0], b[0]), np.maximum(a[1], b[1])),
}
