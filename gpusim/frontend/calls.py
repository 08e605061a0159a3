"""Calls: of intrinsics, types, builtins, math and NumPy functions by tables, of device functions by inlining."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from gpusim.cuda.intrinsics import Intrinsic
from gpusim.cuda.types import ScalarType, VectorType
from gpusim.frontend.arrays import flat, load, named_type, store
from gpusim.frontend.choices import each
from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Array, Choice, Group, Operand, Scalar, Static, described
from gpusim.frontend.typing import is_float
from gpusim.ir.simt.nodes import For, Imm, Reg

Args = tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call with its arguments evaluated. `text`: the function as the user wrote it."""

    ctx: Context
    node: ast.Call
    text: str
    args: Args
    keywords: dict[str, Operand]

    def bound(self, names: str, optional: int = 0) -> list[Operand | None]:
        """The arguments by position or by name; the last `optional` ones may be missing (None)."""
        order = names.split()
        values: list[Operand | None] = [*self.args, *[None] * (len(order) - len(self.args))]
        for name, value in self.keywords.items():
            if name not in order or order.index(name) < len(self.args):
                self.refuse(f"{self.text} has no argument '{name}' here.", f"Its arguments: {', '.join(order)}.")
            values[order.index(name)] = value
        if len(values) > len(order) or any(v is None for v in values[: len(order) - optional]):
            self.refuse(f"{self.text} takes {', '.join(order) or 'no arguments'}; {len(self.args) + len(self.keywords)} given.")
        return values

    def numbers(self, names: str) -> list[Scalar]:
        return [self.ctx.scalar(v, self.node, f"The argument of {self.text}") for v in self.bound(names) if v is not None]

    def refuse(self, what: str, hint: str = "") -> Any:
        self.ctx.refuse(self.node, what, hint)


Handler = Callable[[Call], Operand]


def call(ctx: Context, node: ast.Call) -> Operand:
    """What the call gives."""
    from gpusim.frontend.inline import inline

    function = _function(ctx, node)
    text = ast.unparse(node.func)
    if any(k.arg is None for k in node.keywords):
        ctx.refuse(node, "A call with **.", "Write each argument.")
    args = tuple(item for a in node.args for item in _argument(ctx, a))
    keywords = {str(k.arg): ctx.evaluate(ctx, k.value) for k in node.keywords}
    ctx.at(node)
    made = Call(ctx, node, text, args, keywords)
    if hasattr(function, "py_func"):
        return inline(made, function)
    return _for_each_choice(made, _handler(made, function))


def _argument(ctx: Context, node: ast.expr) -> Args:
    if not isinstance(node, ast.Starred):
        return (ctx.evaluate(ctx, node),)
    whole = ctx.evaluate(ctx, node.value)
    return whole.items if isinstance(whole, Group) else ctx.refuse(node, f"* in front of a {described(whole)}.", "It takes tuples apart; write each item.")


def _for_each_choice(made: Call, handler: Handler) -> Operand:
    """handler(made); where an argument is one of several arrays, once for each."""
    k = next((k for k, arg in enumerate(made.args) if isinstance(arg, Choice)), None)
    if k is None:
        return handler(made)
    before, behind = made.args[:k], made.args[k + 1 :]
    return each(made.ctx, made.node, made.args[k], lambda one: _for_each_choice(replace(made, args=(*before, one, *behind)), handler))


def _function(ctx: Context, node: ast.Call) -> Any:
    base = ctx.evaluate(ctx, node.func)
    if not isinstance(base, Static) or not callable(base.obj):
        ctx.refuse(node, f"A {described(base)} cannot be called.")
    return base.obj


def _handler(made: Call, function: Any) -> Handler:
    """The way to translate a call of `function`, or a refusal."""
    from gpusim.frontend.builtin_calls import BUILTINS
    from gpusim.frontend.cuda_calls import CUDA
    from gpusim.frontend.libdevice import LIBDEVICE
    from gpusim.frontend.math_calls import MATH, NUMPY

    if isinstance(function, Intrinsic):
        found = CUDA.get(function.name) or LIBDEVICE.get(function.name)
        return found or made.refuse(f"cuda.{function.name} is not supported.")
    if isinstance(function, VectorType):
        return lambda c: vector(c, function)
    if isinstance(function, type) and issubclass(function, tuple) and hasattr(function, "_fields"):
        return lambda c: Group(tuple(v for v in c.bound(" ".join(function._fields)) if v is not None), function._fields)
    if isinstance(function, ScalarType) or (isinstance(function, type) and function not in BUILTINS):
        dtype = named_type(function)
        return (lambda c: cast(c, dtype)) if dtype else made.refuse(f"A kernel cannot make a {made.text}.", "Kernels have numbers, tuples and arrays.")
    try:
        by_object = BUILTINS.get(function) or MATH.get(function)
    except TypeError:
        by_object = None
    found = by_object or _numpy(NUMPY, function)
    return found or made.refuse(f"{made.text} is no function that kernels can call.", _advice(function))


def _numpy(table: dict[str, Handler], function: Any) -> Handler | None:
    module = getattr(function, "__module__", None) or ""
    is_numpy = type(function).__name__ == "ufunc" or module.split(".")[0] == "numpy"
    found = table.get(function.__name__) if is_numpy else None
    return found and elementwise(found)


def elementwise(handler: Handler) -> Handler:
    """A function of NumPy; given arrays, the last of which takes the results, the thread does all their elements."""

    def handle(made: Call) -> Operand:
        target = made.args[-1] if made.args else None
        if not any(isinstance(a, Array) for a in made.args):
            return handler(made)
        if not isinstance(target, Array) or any(isinstance(a, Array) and a.ndim != 1 for a in made.args):
            made.refuse(f"{made.text} of whole arrays without one for the results.", f"Give single elements, or one-dimensional arrays: {made.text}(x, out).")
        return _every_element(made, handler, target)  # type: ignore[arg-type]

    return handle


def _every_element(made: Call, handler: Handler, target: Array) -> Operand:
    ctx = made.ctx
    k = Scalar(ctx.variable(f"k.{made.node.lineno}.{made.node.col_offset}", "int64"), None, True)
    stop = ctx.extent(target.shape[0])
    with ctx.collect() as body:
        parts = tuple(Scalar(load(ctx, a, flat(ctx, made.node, a, (k,)))[0]) if isinstance(a, Array) else a for a in made.args[:-1])
        value = ctx.scalar(handler(replace(made, args=parts)), made.node).value
        store(ctx, made.node, target, flat(ctx, made.node, target, (k,)), (value,))
    if isinstance(k.value, Reg):
        ctx.emit(For(k.value, Imm(0, "int64"), stop, Imm(1, "int64"), tuple(body), ctx.line))
    return target


def _advice(function: Any) -> str:
    if hasattr(function, "__code__"):
        return "Decorate it with @cuda.jit(device=True)."
    if getattr(function, "__module__", None) == "numpy":
        return "A thread computes with single elements; it makes arrays with cuda.local.array and cuda.shared.array."
    return "Use arithmetic, the module math, or the functions of cuda."


def cast(made: Call, dtype: str) -> Scalar:
    """dtype(x)"""
    (value,) = made.numbers("x")
    keeps = is_nonneg(value) and not (is_float(value.dtype) or is_float(dtype)) and dtype not in ("int8", "int16")
    return Scalar(made.ctx.cast(value.value, dtype), None, keeps)


def vector(made: Call, kind: VectorType) -> Group:
    """float32x4(x, y, z, w): of numbers, and of shorter vectors that stand for theirs."""
    parts = [item for a in made.args for item in (a.items if isinstance(a, Group) else (a,))]
    if len(parts) != kind.count or made.keywords:
        made.refuse(f"{made.text} takes {kind.count} numbers; {len(parts)} given.")
    numbers = (made.ctx.scalar(p, made.node, f"The argument of {made.text}") for p in parts)
    return Group(tuple(Scalar(made.ctx.cast(n.value, kind.element.dtype)) for n in numbers), kind.fields)


def array_of(made: Call, operand: Operand | None) -> Array:
    from gpusim.frontend.arrays import as_array

    if operand is None or isinstance(operand, Scalar | Group):
        made.refuse(f"{made.text} needs an array as its first argument.")
    return as_array(made.ctx, operand, made.node)  # type: ignore[arg-type]
