"""Operators: on plain numbers at once, on integer formulas as formulas, on everything else as tiles."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.promote import common, kind
from gpusim.frontend.tiles.tiles import described, mapped, scalar, tile
from gpusim.frontend.tiles.values import Below, Edge, Lattice, Mask, Number, Pointer, Scalar, Tile, dtype_of, is_int, is_number, is_value, lattice
from gpusim.ir.expr import Const, Expr, bin_
from gpusim.ir.linear import Linear, linear, quotient

#: operator of Python -> its symbol
BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "min": min, "max": max,
}  # fmt: skip

#: operator on scalars of the block -> its formula; conditions are 0 or 1
_FORMULA: dict[str, Callable[[Expr, Expr], Expr]] = {
    **{op: (lambda a, b, op=op: bin_(op, a, b)) for op in ("+", "-", "*", "%", "min", "max", "<", "<=", "==", "&", "|", "^")},  # type: ignore[misc]
    "//": quotient,
    ">": lambda a, b: bin_("<", b, a),
    ">=": lambda a, b: bin_("<=", b, a),
    "!=": lambda a, b: bin_("-", 1, bin_("==", a, b)),
    "<<": lambda a, b: a * (1 << linear(b).constant),
    ">>": lambda a, b: bin_("//", a, 1 << linear(b).constant),
}

#: operator on tiles -> function of the IR for bool, integers, floating point ("" where there is none)
_MAPPED = {
    "+": ("", "add", "add"), "-": ("", "sub", "sub"), "*": ("logical_and", "mul", "mul"), "/": ("", "", "div"), "//": ("", "quotient", ""),
    "%": ("", "remainder", "fmod"), "&": ("logical_and", "bit_and", ""), "|": ("logical_or", "bit_or", ""), "^": ("ne", "bit_xor", ""),
    "<<": ("", "shl", ""), ">>": ("", "shr", ""), "<": ("", "lt", "lt"), "<=": ("", "le", "le"), ">": ("", "gt", "gt"), ">=": ("", "ge", "ge"),
    "==": ("eq", "eq", "eq"), "!=": ("ne", "ne", "ne"), "min": ("", "minimum", "minimum"), "max": ("", "maximum", "maximum"),
    "**": ("", "", "pow"),
}  # fmt: skip


def binary(ctx: Context, op: str, a: Any, b: Any, node: ast.AST) -> Any:
    """a op b."""
    if not is_value(a) or not is_value(b):
        return _objects(ctx, op, a, b, node)
    if is_number(a) and is_number(b):
        return _plain(ctx, op, a, b, node)
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return _pointers(ctx, op, a, b, node)
    known = _known(ctx, op, a, b)
    if known is not None:
        return known
    if _formulas(a) and _formulas(b) and op in _FORMULA and _shifts_by_constant(op, b):
        return _scalars(op, a, b)
    made = _lattices(ctx, op, a, b)
    return made if made is not None else _tiles(ctx, op, a, b, node)


def _objects(ctx: Context, op: str, a: Any, b: Any, node: ast.AST) -> Any:
    """Types, texts, tuples and None are compared, and tuples joined, at once."""
    if op in ("==", "!=") or (op in ("+", "*") and (isinstance(a, tuple | str) or isinstance(b, tuple | str))):
        try:
            return _PLAIN[op](a, b)
        except TypeError:
            pass
    ctx.refuse(node, f"'{op}' does not take a {described(a)} and a {described(b)}.")


def _plain(ctx: Context, op: str, a: Any, b: Any, node: ast.AST) -> Any:
    try:
        return _PLAIN[op](a, b)
    except (ArithmeticError, ValueError, TypeError) as error:
        ctx.refuse(node, f"{a} {op} {b} has no value: {error}.")


def _known(ctx: Context, op: str, a: Any, b: Any) -> Any:
    """Arithmetic on constants with a type (fp32 rounds as fp32 does), None if that is not what stands here."""
    if not all(isinstance(v, Number) or is_number(v) or (isinstance(v, Scalar) and v.known is not None) for v in (a, b)):
        return None
    if not (isinstance(a, Number) or isinstance(b, Number) or op == "/" or isinstance(a, float) or isinstance(b, float)):
        return None
    x, y = (v.value if isinstance(v, Number) else v.known if isinstance(v, Scalar) else v for v in (a, b))
    of = common(a, b, op in "/%")
    of = of if kind(of) == 2 else "fp32"
    if op in COMPARISONS:
        return bool(_PLAIN[op](x, y))
    rounding = {"fp32": np.float32, "fp64": np.float64}.get(of)
    if rounding is None or op not in ("+", "-", "*", "/", "min", "max"):
        return None
    with np.errstate(all="ignore"):
        function: Any = {"/": np.divide, "min": np.minimum, "max": np.maximum}.get(op, _PLAIN[op])
        return Number(float(function(rounding(x), rounding(y))), of)


def _formulas(value: Any) -> bool:
    return isinstance(value, Scalar | bool | int)


def _shifts_by_constant(op: str, b: Any) -> bool:
    return op not in ("<<", ">>") or isinstance(b, int) or b.known is not None


def _scalars(op: str, a: Any, b: Any) -> Scalar:
    x, y = (v.expr if isinstance(v, Scalar) else Const(int(v)) for v in (a, b))
    made = _FORMULA[op](x, y)
    both_bool = dtype_of(a) == dtype_of(b) == "bool"
    return Scalar(made, "bool" if op in COMPARISONS or (both_bool and op in ("&", "|", "^", "*")) else common(a, b) if not both_bool else "int32")


def _lattices(ctx: Context, op: str, a: Any, b: Any) -> Any:
    """Sums, multiples, bounds and conjunctions of bounds that stay formulas; None for anything else."""
    if op == "&" and isinstance(a, Mask | Scalar | bool) and isinstance(b, Mask | Scalar | bool) and dtype_of(a) == dtype_of(b) == "bool":
        masks = [m if isinstance(m, Mask) else _scalar_mask(m) for m in (a, b)]
        return Mask(np.broadcast_shapes(*(m.shape for m in masks)), masks[0].bounds + masks[1].bounds)
    if not (is_int(a) and is_int(b)):
        return None
    shape = np.broadcast_shapes(getattr(a, "shape", ()), getattr(b, "shape", ()))
    x, y, of = lattice(a, shape), lattice(b, shape), common(a, b)
    if (x.edges or y.edges) and (op not in "+*" or not (_apart(x, y) and _apart(y, x))):
        return None
    if op in "+-":
        steps = tuple(bin_(op, s, t) for s, t in zip(x.steps, y.steps, strict=True))
        return Lattice(shape, bin_(op, x.start, y.start), steps, of, x.edges + y.edges)
    if op == "*" and (isinstance(a, int | Scalar) or isinstance(b, int | Scalar)):
        many, factor = (y, x.start) if isinstance(a, int | Scalar) else (x, y.start)
        return replace(many, start=many.start * factor, steps=tuple(s if s == Const(0) else s * factor for s in many.steps), dtype=of)
    if op in ("<", "<=", ">", ">="):
        low, high = (x, y) if op[0] == "<" else (y, x)
        return Mask(shape, (Below(low, high, op.endswith("=")),))
    return _folded(ctx, op, x, b, of)


def _folded(ctx: Context, op: str, x: Lattice, b: Any, of: str) -> Lattice | None:
    """x % n where every element is proved to lie in [0, n); x // n where start and steps are multiples of n."""
    n = b if isinstance(b, int) else b.known if isinstance(b, Scalar) else None
    if n is None or n <= 0 or op not in ("%", "//"):
        return None
    if op == "//":
        total = [linear(e).split(n) for e in (x.start, *x.steps)]
        if any(rest.terms or rest.constant for _, rest in total):
            return None
        start, *steps = (rows.expr() for rows, _ in total)
        return Lattice(x.shape, start, tuple(steps), of)
    reach = 0
    for axis, extent in enumerate(x.shape):
        step = x.step(axis)
        if step is None or step < 0:
            return None
        reach += step * (extent - 1)
    found = ctx.ranges.of(linear(x.start))
    if found is None or found[0] < 0:
        return None
    if found[1] + reach < n:
        return replace(x, dtype=of)
    return edged(x, n, "wrap", of) if found[1] + reach < 2 * n else None


def edged(x: Lattice, limit: int, kind: str, dtype: str) -> Lattice | None:
    """`x` with an edge at `limit`, if it counts along one axis by ones."""
    along = [axis for axis, step in enumerate(x.steps) if step != Const(0)]
    if len(along) != 1 or x.steps[along[0]] != Const(1) or x.edges:
        return None
    return replace(x, dtype=dtype, edges=(Edge(along[0], x.start, limit, kind),))


def _apart(x: Lattice, y: Lattice) -> bool:
    """Whether y does not move along the axes on which x has edges."""
    return all(y.steps[e.axis] == Const(0) for e in x.edges)


def always(ctx: Context, mask: Mask) -> bool:
    """Whether a mask is proved to be true everywhere."""
    for bound in mask.bounds:
        reach = bound.distance()
        for axis, extent in enumerate(mask.shape):
            low, high = (lattice(side, mask.shape).step(axis) for side in (bound.low, bound.high))
            if low is None or high is None:
                return False
            reach = reach + Linear(max(low - high, 0) * (extent - 1))
        found = ctx.ranges.of(reach)
        if found is None or found[1] >= 0:
            return False
    return True


def _scalar_mask(value: Scalar | bool) -> Mask:
    """A condition of the block as a bound: 0 < condition."""
    return Mask((), (Below(lattice(0), lattice(value if isinstance(value, Scalar) else int(value))),))


def _pointers(ctx: Context, op: str, a: Any, b: Any, node: ast.AST) -> Any:
    if op in ("==", "!=") and isinstance(a, Pointer) and isinstance(b, Pointer):
        return _PLAIN[op](a.array.name, b.array.name)
    if op == "-" and isinstance(a, Pointer) and isinstance(b, Pointer) and a.array == b.array:
        return binary(ctx, "-", a.offset, b.offset, node)
    pointer, offset = (a, b) if isinstance(a, Pointer) else (b, a)
    if op not in "+-" or isinstance(offset, Pointer) or (op == "-" and pointer is b) or kind(dtype_of(offset)) == 2:
        ctx.refuse(node, f"'{op}' does not take a {described(a)} and a {described(b)}.", "Pointers take + and - of integers.")
    if op == "+" and isinstance(offset, Tile) and isinstance(pointer.offset, Scalar) and pointer.offset.known == 0:
        return Pointer(pointer.array, offset)
    return Pointer(pointer.array, binary(ctx, op, pointer.offset, offset, node))


def _tiles(ctx: Context, op: str, a: Any, b: Any, node: ast.AST) -> Tile:
    of = common(a, b, op in "/%")
    of = "fp32" if op in ("/", "**") and kind(of) < 2 else of
    if op == "%" and kind(of) < 2:
        of = common(a, b)
    if kind(of) == 0 and not _MAPPED[op][0]:
        of = "int32"
    fn = _MAPPED[op][kind(of)]
    if not fn:
        ctx.refuse(node, f"'{op}' does not take {of}.")
    try:
        shape = np.broadcast_shapes(getattr(a, "shape", ()), getattr(b, "shape", ()))
    except ValueError:
        ctx.refuse(node, f"the shapes {a.shape} and {b.shape} do not fit each other.", "Give axes of extent 1 with [:, None] or [None, :].")
    del shape
    args = (tile(ctx, a, node, of), tile(ctx, b, node, of))
    return mapped(ctx, fn, args, "bool" if op in COMPARISONS or kind(of) == 0 else of)


def negative(ctx: Context, value: Any, node: ast.AST) -> Any:
    if is_number(value):
        return -value
    if isinstance(value, Number):
        return Number(-value.value, value.dtype)
    if is_int(value):
        return binary(ctx, "*", value, -1, node)
    made = tile(ctx, value, node)
    return mapped(ctx, "neg", (made,), made.dtype)


def inverted(ctx: Context, value: Any, node: ast.AST) -> Any:
    """~value."""
    if isinstance(value, bool) or (isinstance(value, Scalar) and value.dtype == "bool"):
        return negated(ctx, value, node)
    if isinstance(value, int):
        return ~value
    if isinstance(value, Mask) and len(value.bounds) == 1:
        one = value.bounds[0]
        return Mask(value.shape, (Below(one.high, one.low, not one.or_equal),))
    made = tile(ctx, value, node)
    return mapped(ctx, "logical_not" if made.dtype == "bool" else "bit_not", (made,), made.dtype)


def negated(ctx: Context, value: Any, node: ast.AST) -> Any:
    """not value."""
    if not is_value(value) or is_number(value):
        return not value
    if isinstance(value, Mask) or (isinstance(value, Tile) and value.shape):
        ctx.refuse(node, "'not' takes one condition of the block, not a tile.", "Write ~mask.")
    made = truth(ctx, value, node)
    return not made if isinstance(made, bool) else Scalar(bin_("-", 1, made.expr), "bool")


def truth(ctx: Context, value: Any, node: ast.AST) -> bool | Scalar:
    """A condition of the block: known, or a formula that is 0 or not."""
    if isinstance(value, Pointer):
        return True
    if not is_value(value):
        return bool(value)
    if is_number(value):
        return bool(value)
    if isinstance(value, Tile) and value.shape == () and kind(value.dtype) == 2:
        value = mapped(ctx, "ne", (value, ctx.constant(0.0, value.dtype)), "bool")
    if isinstance(value, Number):
        return bool(value.value)
    made = scalar(ctx, value, node, "The condition")
    if made.known is not None:
        return bool(made.known)
    return made if made.dtype == "bool" else Scalar(bin_("-", 1, bin_("==", made.expr, 0)), "bool")
