"""Reading the small pieces of a program's text: expressions, numbers, types, boxes, and the arguments of calls.

The text has Python's grammar, so Python's own `ast` reads it; what has no meaning here is refused with its line.
"""

from __future__ import annotations

import ast
from difflib import get_close_matches
from typing import Any, NoReturn

from gpusim.errors import GpusimError
from gpusim.ir.expr import Bin, Const, Expr, Name
from gpusim.ir.ops import Box
from gpusim.ir.types import DTYPES, DType

_BINARY: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_COMPARE: dict[type, str] = {ast.Lt: "<", ast.LtE: "<=", ast.Eq: "=="}
#: operators that are written as calls
CALLED = ("min", "max")
_SPECIAL = {"inf": float("inf"), "nan": float("nan")}


def fail(node: ast.AST, what: str, hint: str = "") -> NoReturn:
    raise GpusimError(what, where=f"line {getattr(node, 'lineno', 1)}", hint=hint)


def suggest(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f"Did you mean '{close[0]}'?" if close else f"Known: {', '.join(sorted(known))}."


def expression(node: ast.expr) -> Expr:
    """An index expression; the tree is kept as written, nothing is folded."""
    if isinstance(node, ast.Name):
        return Name(node.id)
    if isinstance(node, ast.Constant | ast.UnaryOp):
        return Const(integer(node))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return Bin(_BINARY[type(node.op)], expression(node.left), expression(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        return Bin(_COMPARE[type(node.ops[0])], expression(node.left), expression(node.comparators[0]))
    if isinstance(node, ast.Call) and called(node) in CALLED and len(node.args) == 2 and not node.keywords:
        return Bin(called(node), expression(node.args[0]), expression(node.args[1]))
    fail(node, f"'{ast.unparse(node)}' is not an index expression.", "It takes integers, names, + - * // % & | ^ < <= ==, min(a, b) and max(a, b).")


def number(node: ast.expr) -> float:
    """An int or float literal, with a sign, or inf or nan."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -number(node.operand)
    if isinstance(node, ast.Name) and node.id in _SPECIAL:
        return _SPECIAL[node.id]
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    fail(node, f"'{ast.unparse(node)}' is not a number.")


def integer(node: ast.expr) -> int:
    value = number(node)
    if not isinstance(value, int):
        fail(node, f"'{ast.unparse(node)}' is not an integer.")
    return value


def literal(node: ast.expr) -> Any:
    """A number, string, bool, None, or a tuple, list or dict of them."""
    if isinstance(node, ast.Name | ast.UnaryOp):
        return number(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        fail(node, f"'{ast.unparse(node)}' is not a literal.")


def flag(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    fail(node, f"'{ast.unparse(node)}' is not True or False.")


def string(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    fail(node, f"'{ast.unparse(node)}' is not a string in quotes.")


def integers(node: ast.expr) -> tuple[int, ...]:
    """A tuple of integers, or one integer."""
    return tuple(integer(n) for n in (node.elts if isinstance(node, ast.Tuple) else [node]))


def items(node: ast.expr) -> list[ast.expr]:
    """The items of a tuple, or the one expression that is none."""
    return node.elts if isinstance(node, ast.Tuple) else [node]


def names(node: ast.expr) -> tuple[str, ...]:
    return tuple(name(n) for n in items(node))


def name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    fail(node, f"'{ast.unparse(node)}' is not a name.")


def element_type(node: ast.expr) -> DType:
    word = name(node)
    if word not in DTYPES:
        fail(node, f"'{word}' is not a dtype.", suggest(word, DTYPES))
    return DTYPES[word]


def tile_type(node: ast.expr) -> tuple[DType, tuple[int, ...]]:
    """`fp32[128, 64]`: the dtype and the shape."""
    if not isinstance(node, ast.Subscript):
        fail(node, f"'{ast.unparse(node)}' is not a type.", "Write it like fp32[128, 64].")
    return element_type(node.value), integers(node.slice)


def box(node: ast.expr, options: dict[str, ast.expr]) -> Box:
    """`a[row :+ rows, column :+ columns]`. options: those of the op that names it: masked, limits, axes."""
    masked = "masked" in options and flag(options["masked"])
    limits = tuple(None if _is_none(n) else expression(n) for n in items(options["limits"])) if "limits" in options else ()
    axes = integers(options["axes"]) if "axes" in options else None
    edges = tuple(string(n) for n in items(options["edges"])) if "edges" in options else ()
    spans = (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]) if isinstance(node, ast.Subscript) else []
    origin, shape = [], []
    for span in spans:
        if not (isinstance(span, ast.Slice) and span.lower and isinstance(span.upper, ast.UnaryOp) and isinstance(span.upper.op, ast.UAdd)) or span.step:
            fail(node, f"'{ast.unparse(span)}' is not a span of a box.", "Write start :+ extent for each dimension.")
        origin.append(expression(span.lower))
        shape.append(integer(span.upper.operand))
    if not isinstance(node, ast.Subscript) or not spans:
        fail(node, f"'{ast.unparse(node)}' is not a box.", "Write it like a[row :+ 128, column :+ 64].")
    return Box(name(node.value), tuple(origin), tuple(shape), masked, limits, axes, edges)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def called(node: ast.expr) -> str:
    """The name that `node` calls, "" if it is no call of a name."""
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


def arguments(node: ast.Call, positional: tuple[str, ...], keywords: tuple[str, ...] = ()) -> dict[str, ast.expr]:
    """The arguments of a call by name. All positional ones must be there; keywords may be left out."""
    word = called(node)
    if len(node.args) != len(positional):
        fail(node, f"{word} takes {len(positional)} argument(s) ({', '.join(positional) or 'none'}), here are {len(node.args)}.")
    found = dict(zip(positional, node.args, strict=True))
    for k in node.keywords:
        if k.arg not in keywords:
            fail(node, f"{word} has no argument '{k.arg}'.", f"Known: {', '.join(keywords) or 'none'}.")
        found[k.arg] = k.value
    return found


def required(node: ast.Call, found: dict[str, ast.expr], key: str) -> ast.expr:
    if key not in found:
        fail(node, f"{called(node)} lacks '{key}='.")
    return found[key]
