"""Scalars of a block as registers: program ids, lets, loop variables; and what their ranges prove."""

from __future__ import annotations

from collections.abc import Mapping

from gpusim.ir.expr import Bin, Const, Expr, Name, bin_
from gpusim.ir.simt.nodes import Imm, Value
from gpusim.lower.blocked.emit import BOOL, INDEX, INT, Emitter

#: operator of an index expression -> operation of a thread
_OPERATIONS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "//": "floordiv",
    "%": "mod",
    "min": "min",
    "max": "max",
    "<": "lt",
    "<=": "le",
    "==": "eq",
    "&": "and",
    "|": "or",
    "^": "xor",
}
_COMPARES = ("<", "<=", "==")
Range = tuple[int, int]


def value(e: Emitter, expr: Expr, known: Mapping[str, Value]) -> Value:
    """The value of `expr`, an int64."""
    if isinstance(expr, Const):
        return Imm(expr.value, INDEX)
    if isinstance(expr, Name):
        return known[expr.name]
    assert isinstance(expr, Bin)
    a, b = value(e, expr.a, known), value(e, expr.b, known)
    if expr.op in "+*":
        return e.add(a, b) if expr.op == "+" else e.mul(a, b)
    made = e.op(_OPERATIONS[expr.op], BOOL if expr.op in _COMPARES else INDEX, a, b)
    return e.cast(made, INDEX) if expr.op in _COMPARES else made


def halved(expr: Expr) -> Expr:
    """Half of an even expression."""
    if isinstance(expr, Const):
        return Const(expr.value // 2)
    if isinstance(expr, Bin) and expr.op in "+-":
        return bin_(expr.op, halved(expr.a), halved(expr.b))
    if isinstance(expr, Bin) and expr.op == "*":
        return _halved_product(expr)
    return bin_("//", expr, 2)


def _halved_product(expr: Bin) -> Expr:
    for one, other in ((expr.a, expr.b), (expr.b, expr.a)):
        if isinstance(one, Const) and one.value % 2 == 0:
            return bin_("*", other, one.value // 2)
    return bin_("//", expr, 2)


def program_ids(e: Emitter, grid: tuple[int, ...]) -> dict[str, Value]:
    """pid0, pid1, pid2."""
    return {f"pid{axis}": e.cast(e.op(f"ctaid.{'xyz'[axis]}", INT), INDEX) for axis in range(len(grid))}


def bounds(expr: Expr, known: Mapping[str, Range]) -> Range | None:
    """Lowest and highest value of `expr`, where the ranges of its names tell."""
    if isinstance(expr, Const):
        return expr.value, expr.value
    if isinstance(expr, Name):
        return known.get(expr.name)
    assert isinstance(expr, Bin)
    a, b = bounds(expr.a, known), bounds(expr.b, known)
    if a is None or b is None:
        return None
    return _combined(expr.op, a, b)


def _combined(op: str, a: Range, b: Range) -> Range | None:
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op in ("min", "max"):
        pick = min if op == "min" else max
        return pick(a[0], b[0]), pick(a[1], b[1])
    if op == "*":
        ends = [x * y for x in a for y in b]
        return min(ends), max(ends)
    if b[0] == b[1] > 0 and op == "//":
        return a[0] // b[0], a[1] // b[0]
    return (0, b[1] - 1) if b[0] > 0 and op == "%" else None
