"""Arithmetic on ranges of integers: (lowest, highest), both included. A result that may leave its type is the whole type."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.ir.simt.rewrites.constants import INTEGER_BITS, bounds

Range = tuple[int, int]
Rule = Callable[..., Range | None]


def fits(range_: Range, dtype: str) -> bool:
    low, high = bounds(dtype)
    return low <= range_[0] and range_[1] <= high


def union(a: Range, b: Range) -> Range:
    return min(a[0], b[0]), max(a[1], b[1])


def within(range_: Range | None, dtype: str) -> Range:
    """The range, or the whole type where it is unknown or does not fit."""
    return range_ if range_ is not None and fits(range_, dtype) else bounds(dtype)


def _corners(function: Callable[[int, int], int], a: Range, b: Range) -> Range:
    values = [function(x, y) for x in a for y in b]
    return min(values), max(values)


def _quotient(function: Callable[[int, int], int]) -> Rule:
    return lambda a, b: _corners(function, a, b) if b[0] > 0 or b[1] < 0 else None


def _truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _mod(a: Range, b: Range) -> Range | None:
    if b[0] <= 0:
        return None
    return a if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)


def _rem(a: Range, b: Range) -> Range | None:
    """As C: the sign of the dividend, smaller than the divisor."""
    if b[0] <= 0:
        return None
    most = b[1] - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


def _and(a: Range, b: Range) -> Range | None:
    positive = [r[1] for r in (a, b) if r[0] >= 0]
    return (0, min(positive)) if positive else None


def _or(a: Range, b: Range) -> Range | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _shl(a: Range, b: Range) -> Range | None:
    return _corners(lambda x, y: x << y, a, b) if 0 <= b[0] and b[1] < 64 else None


def _shr(a: Range, b: Range) -> Range | None:
    return _corners(lambda x, y: x >> y, a, b) if 0 <= b[0] and b[1] < 64 else None


def _mul(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x * y, a, b)


RULES: dict[str, Rule] = {
    "mov": lambda a: a,
    "neg": lambda a: (-a[1], -a[0]),
    "abs": lambda a: (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1])), max(abs(a[0]), abs(a[1]))),
    "not": lambda a: (~a[1], ~a[0]),
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _mul,
    "mul.wide": _mul,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "floordiv": _quotient(lambda x, y: x // y),
    "div": _quotient(_truncated),
    "mod": _mod,
    "rem": _rem,
    "and": _and,
    "or": _or,
    "xor": _or,
    "shl": _shl,
    "shr": _shr,
    "select": lambda c, a, b: union(a, b),
    "popc": lambda a: (0, 64),
    "clz": lambda a: (0, 64),
    "ffs": lambda a: (0, 64),
    "bfind": lambda a: (-1, 4294967295),
}


def result(op: str, args: tuple[Range, ...], dtype: str) -> Range:
    """The range of op(args) in an integer type."""
    rule = RULES.get("mov" if op == "cvt" else op)
    return within(rule(*args) if rule is not None and len(args) else None, dtype)


# what "a op b" says of a and of b: (range of a, range of b) -> new ranges
_BELOW: Callable[[Range, int], Range] = lambda r, most: (r[0], min(r[1], most))  # noqa: E731
_ABOVE: Callable[[Range, int], Range] = lambda r, least: (max(r[0], least), r[1])  # noqa: E731
COMPARED: dict[str, Callable[[Range, Range], tuple[Range, Range]]] = {
    "lt": lambda a, b: (_BELOW(a, b[1] - 1), _ABOVE(b, a[0] + 1)),
    "le": lambda a, b: (_BELOW(a, b[1]), _ABOVE(b, a[0])),
    "gt": lambda a, b: (_ABOVE(a, b[0] + 1), _BELOW(b, a[1] - 1)),
    "ge": lambda a, b: (_ABOVE(a, b[0]), _BELOW(b, a[1])),
    "eq": lambda a, b: ((max(a[0], b[0]), min(a[1], b[1])),) * 2,
    "ne": lambda a, b: (_without(a, b), _without(b, a)),
}
OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def _without(a: Range, b: Range) -> Range:
    """a without the one value of b, if that is at an end of it; nothing is left as (1, 0) or the like."""
    if b[0] != b[1]:
        return a
    return (a[0] + (a[0] == b[0]), a[1] - (a[1] == b[0]))


def whole(dtype: str) -> Range | None:
    """All values of a type, None for floats."""
    return bounds(dtype) if dtype in INTEGER_BITS or dtype == "bool" else None
