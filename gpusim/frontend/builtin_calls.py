"""Python's builtin functions in kernels."""

from __future__ import annotations

import ast
import builtins
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from gpusim.frontend import complexes, composed
from gpusim.frontend.arithmetic import apply, binary
from gpusim.frontend.arrays import UNKNOWN, as_array, is_constant_array, walk
from gpusim.frontend.attributes import shape
from gpusim.frontend.calls import Call, Handler, cast
from gpusim.frontend.inline import inline
from gpusim.frontend.logic import truth
from gpusim.frontend.operands import Array, Group, Operand, Range, Scalar, Static, Walk, described, is_complex, literal
from gpusim.frontend.typing import is_float, is_integer, real, unify
from gpusim.ir.simt.nodes import Imm, Print, Value


def _abs(made: Call) -> Operand:
    whole = made.args[0] if made.args else None
    if isinstance(whole, Group) and is_complex(whole):
        return complexes.magnitude(made.ctx, made.node, whole)
    (a,) = made.numbers("x")
    dtype = "int8" if a.dtype == "bool" else a.dtype
    return Scalar(made.ctx.op("abs", (made.ctx.cast(a.value, dtype),), dtype), None, not is_float(dtype))


def extreme(op: str) -> Handler:
    """min or max of several numbers, or of a tuple."""

    def handle(made: Call) -> Operand:
        items = made.args[0].items if len(made.args) == 1 and isinstance(made.args[0], Group) else made.args
        numbers = [made.ctx.scalar(i, made.node, f"The argument of {op}") for i in items]
        if len(numbers) < 2 or made.keywords:
            made.refuse(f"{op} needs at least two numbers.", "Loop over an array to find its extreme value.")
        result = numbers[0]
        for other in numbers[1:]:
            result = apply(made.ctx, op, result, other, unify(result.dtype, other.dtype))
        return result

    return handle


def _length(made: Call) -> Operand:
    (a,) = made.bound("x")
    if isinstance(a, Group):
        return Scalar(Imm(len(a.items), "int64"))
    if isinstance(a, Static) and is_constant_array(a.obj):
        a = as_array(made.ctx, a, made.node)
    if not isinstance(a, Array) or UNKNOWN in a.shape:
        made.refuse(f"len of a {described(a or Static(None))}.", "Kernels know the lengths of arrays and tuples; pass others as arguments.")
    return shape(made.ctx, a).items[0]  # type: ignore[arg-type]


def _int(made: Call) -> Operand:
    (a,) = made.numbers("x")
    return a if is_integer(a.dtype) else Scalar(made.ctx.cast(a.value, "int64"))


def _float(made: Call) -> Operand:
    (a,) = made.numbers("x")
    return a if is_float(a.dtype) else cast(made, "float64")


def _bool(made: Call) -> Operand:
    return Scalar(truth(made.ctx, made.args[0], made.node)) if made.bound("x") else Static(None)


def _round(made: Call) -> Operand:
    a, digits = made.bound("x ndigits", optional=1)
    value = made.ctx.scalar(a, made.node) if a is not None else made.refuse("round needs a number.")
    ctx, dtype = made.ctx, real(value.dtype)
    x = ctx.cast(value.value, dtype)
    if digits is None:
        return Scalar(ctx.cast(ctx.op("round", (x,), dtype), "int64"))
    given = replace(made, args=(Scalar(ctx.cast(x, "float64")), ctx.scalar(digits, made.node)), keywords={})
    return Scalar(ctx.cast(ctx.scalar(inline(given, SimpleNamespace(py_func=composed.rounded)), made.node).value, dtype))


def _pow(made: Call) -> Operand:
    a, b = made.numbers("x y")
    return binary(made.ctx, made.node, ast.Pow(), a, b)


def _sum(made: Call) -> Operand:
    items, start = made.bound("items start", optional=1)
    total = made.ctx.scalar(start, made.node) if start is not None else Scalar(Imm(0, "int64"))
    for item in _items(made, items):
        total = binary(made.ctx, made.node, ast.Add(), total, made.ctx.scalar(item, made.node))
    return total


def _items(made: Call, operand: Operand | None) -> tuple[Operand, ...]:
    if not isinstance(operand, Group):
        made.refuse(f"{made.text} of anything but a tuple.", "Write a loop over the array.")
    return operand.items  # type: ignore[union-attr]


def _quantified(every: bool) -> Handler:
    """any and all of a tuple."""

    def handle(made: Call) -> Operand:
        result: Value = Imm(every, "bool")
        for item in _items(made, *made.bound("items")):
            result = made.ctx.op("and" if every else "or", (result, truth(made.ctx, item, made.node)), "bool")
        return Scalar(result)

    return handle


def _divmod(made: Call) -> Operand:
    a, b = made.numbers("x y")
    return Group((binary(made.ctx, made.node, ast.FloorDiv(), a, b), binary(made.ctx, made.node, ast.Mod(), a, b)))


def _tuple(made: Call) -> Operand:
    if not made.args:
        return Group(())
    return made.args[0] if isinstance(made.args[0], Group) else made.refuse("tuple of an array.", "Write the items: (a[0], a[1]).")


def _walks(made: Call) -> list[Walk]:
    """The arguments as things to walk along."""
    whole = [as_array(made.ctx, a, made.node) if isinstance(a, Static) and is_constant_array(a.obj) else a for a in made.args]
    found = [walk(made.ctx, a, made.node) if isinstance(a, Array) else a for a in whole]
    walks = [f for f in found if isinstance(f, Walk)]
    if len(walks) != len(found) or made.keywords or not found:
        made.refuse(f"{made.text} over anything but tuples or arrays.", "Loop over range(n) and index.")
    return walks


def _enumerate(made: Call) -> Operand:
    if len(made.args) == 1 and isinstance(made.args[0], Group):
        return Group(tuple(Group((Scalar(Imm(k, "int64")), item)) for k, item in enumerate(made.args[0].items)))
    (one,) = _walks(made)[:1]
    return Walk(one.length, lambda k: Group((k, one.item(k))))


def _zip(made: Call) -> Operand:
    groups = [a.items for a in made.args if isinstance(a, Group)]
    if len(groups) == len(made.args) and not made.keywords:
        return Group(tuple(Group(items) for items in zip(*groups, strict=False)))
    walks = _walks(made)
    length = walks[0].length
    for other in walks[1:]:
        length = Scalar(made.ctx.op("min", (length.value, other.length.value), "int64"), None, True)
    return Walk(length, lambda k: Group(tuple(w.item(k) for w in walks)))


def _print(made: Call) -> Operand:
    """Prints its arguments; sep and end are not known."""
    if made.keywords:
        made.refuse("print with keyword arguments.", "Give print its values only.")
    made.ctx.emit(Print(tuple(p for a in made.args for p in _printed(made, a)), made.ctx.line))
    return Static(None)


def _printed(made: Call, operand: Operand) -> list[Value | str]:
    if isinstance(operand, Static):
        return [str(operand.obj)]
    if isinstance(operand, Group):
        return [v for item in operand.items for v in _printed(made, item)]
    return [made.ctx.scalar(operand, made.node, "The argument of print").value]


def ranged(unroll: int | None = None) -> Handler:
    """range(stop), range(start, stop), range(start, stop, step); for cuda.range also unroll=n."""

    def handle(made: Call) -> Operand:
        requested = unroll
        keywords = dict(made.keywords)
        if "unroll" in keywords and made.text != "range":
            known = literal(keywords.pop("unroll"))
            requested = int(known.value) if known is not None else made.refuse("unroll is not a constant.")
        if keywords or not 1 <= len(made.args) <= 3:
            made.refuse(f"{made.text} takes start, stop and step by position.")
        numbers = [made.ctx.scalar(a, made.node, "A bound of a range") for a in made.args]
        for n in numbers:
            if is_float(n.dtype):
                made.refuse(f"A bound of the range is a {n.dtype}.", "Convert it with int(), or divide with // instead of /.")
        dtype = numbers[-1].dtype if len(numbers) == 1 else numbers[0].dtype
        zero, one = Scalar(Imm(0, dtype)), Scalar(Imm(1, dtype))
        start, stop, step = ([zero, *numbers] if len(numbers) == 1 else numbers) + ([] if len(numbers) == 3 else [_step(numbers, one)])
        return Range(start, stop, step, requested)

    return handle


def _step(numbers: list[Scalar], one: Scalar) -> Scalar:
    """The step 1, in the narrowest type of the bounds, so that it does not widen the loop's variable."""
    narrow = min((n.dtype for n in numbers), key=lambda t: (t not in ("int32", "uint32"), t))
    return Scalar(Imm(1, narrow)) if narrow != one.dtype else one


BUILTINS: dict[Any, Handler] = {
    builtins.abs: _abs,
    builtins.min: extreme("min"),
    builtins.max: extreme("max"),
    builtins.len: _length,
    builtins.int: _int,
    builtins.float: _float,
    builtins.complex: complexes.made,
    builtins.bool: _bool,
    builtins.round: _round,
    builtins.pow: _pow,
    builtins.divmod: _divmod,
    builtins.sum: _sum,
    builtins.any: _quantified(False),
    builtins.all: _quantified(True),
    builtins.tuple: _tuple,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.print: _print,
    builtins.range: ranged(),
}
