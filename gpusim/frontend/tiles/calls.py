"""Calls in a tile kernel: functions of the language by a table, functions of the user where they stand, few of Python's own."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.frontend.tiles import accesses, math_calls, misc_calls, reduce_calls, shape_calls
from gpusim.frontend.tiles.arith import binary
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.inline import Function, inlined, plain
from gpusim.frontend.tiles.tiles import described
from gpusim.frontend.tiles.values import BlockPointer, Number, Pointer, Scalar, is_value
from gpusim.triton.markers import Intrinsic, constexpr, dtype, pointer_type, tensor_descriptor

_NO_ASM = "Write it with functions of tl."
_FLOATING = (
    "exp exp2 log log2 sqrt rsqrt sin cos tanh erf floor ceil tan asin acos atan sinh cosh asinh acosh atanh exp10 expm1 log10 log1p trunc rint cbrt "
    "isnan isinf"
)

#: function of the language -> what translates it
HANDLERS: dict[str, Callable[..., Any]] = {
    "program_id": misc_calls.program_id, "num_programs": misc_calls.num_programs, "static_assert": misc_calls.static_assert,
    "device_assert": misc_calls.device_assert, "device_print": misc_calls.device_print, "static_print": misc_calls.static_print,
    **dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy"), misc_calls.same),
    **dict.fromkeys(("assume", "debug_barrier"), misc_calls.nothing),
    "inline_asm_elementwise": misc_calls.unsupported("inline assembly", _NO_ASM),
    "map_elementwise": misc_calls.unsupported("map_elementwise", _NO_ASM),
    "dot_scaled": misc_calls.unsupported("dot_scaled", "Scale the operands before tl.dot."),
    "load": accesses.load, "store": accesses.store, "atomic_cas": accesses.atomic_cas,
    **{f"atomic_{fn}": accesses.atomic_named(fn) for fn in ("add", "max", "min", "and", "or", "xor", "xchg")},
    "make_block_ptr": accesses.make_block_ptr, "advance": accesses.advance,
    **dict.fromkeys(("make_tensor_descriptor", "_experimental_make_tensor_descriptor"), accesses.make_descriptor),
    **dict.fromkeys(("load_tensor_descriptor", "_experimental_descriptor_load"), accesses.descriptor_load),
    **dict.fromkeys(("store_tensor_descriptor", "_experimental_descriptor_store"), accesses.descriptor_store),
    "arange": shape_calls.arange, "full": shape_calls.full, "zeros": shape_calls.zeros, "zeros_like": shape_calls.zeros_like,
    "expand_dims": shape_calls.expand_dims, "broadcast_to": shape_calls.broadcast_to, "broadcast": shape_calls.broadcast,
    "reshape": shape_calls.reshape, "view": shape_calls.reshape, "ravel": shape_calls.ravel, "permute": shape_calls.permute, "trans": shape_calls.trans,
    "join": shape_calls.join, "split": shape_calls.split, "interleave": shape_calls.interleave, "cat": shape_calls.cat, "gather": shape_calls.gather,
    "sort": shape_calls.sort, "histogram": shape_calls.histogram, "flip": shape_calls.flip, "swizzle2d": shape_calls.swizzle2d,
    **{fn: math_calls.floating(fn) for fn in _FLOATING.split()},
    "sqrt_rn": math_calls.floating("sqrt"), "sigmoid": math_calls.sigmoid, "abs": math_calls.absolute,
    "pow": math_calls.pair("pow"), "atan2": math_calls.pair("atan2"), "fmod": math_calls.pair("fmod"),
    "minimum": math_calls.minimum, "maximum": math_calls.maximum, "clamp": math_calls.clamp, "where": math_calls.where, "fma": math_calls.fma,
    "div_rn": math_calls.div_rn, "fdiv": math_calls.div_rn, "cdiv": math_calls.cdiv, "umulhi": math_calls.umulhi, "cast": math_calls.cast,
    "dot": math_calls.dot, "rand": math_calls.rand, "rand4x": math_calls.rand4x, "randint": math_calls.randint, "randint4x": math_calls.randint4x,
    "randn": math_calls.randn, "randn4x": math_calls.randn4x, "uint_to_uniform_float": math_calls.uniform,
    **{fn: reduce_calls.reduced(fn) for fn in ("sum", "max", "min", "argmax", "argmin")},
    "xor_sum": reduce_calls.xor_sum, "reduce_or": reduce_calls.reduce_or, "reduce": reduce_calls.reduce,
    "associative_scan": reduce_calls.associative_scan, "cumsum": reduce_calls.scanned("sum"), "cumprod": reduce_calls.scanned("prod"),
    "softmax": reduce_calls.softmax,
}  # fmt: skip

#: method of a value -> the function that it calls with the value first
METHODS = {
    "to": "cast", "load": "load_tensor_descriptor", "store": "store_tensor_descriptor", "atomic_add": "atomic_add",
    **{name: name for name in "sum max min argmax argmin xor_sum reshape view ravel permute trans expand_dims broadcast_to split abs exp exp2 log log2 "
       "sqrt rsqrt sin cos tanh sigmoid floor ceil cdiv cumsum cumprod associative_scan reduce sort advance gather cast softmax reduce_or".split()},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Method:
    name: str
    value: Any


def intrinsic(function: Any) -> str:
    """The key of a function of the language in HANDLERS, "" for anything else."""
    return function.name if isinstance(function, Intrinsic) else getattr(function, "intrinsic", "") if inspect.isfunction(function) else ""


def call(ctx: Context, node: ast.Call) -> Any:
    target, ctx.target = ctx.target, ""
    function = ctx.evaluate(ctx, node.func)
    args, kwargs = arguments_of(ctx, node)
    ctx.target = target
    if isinstance(function, Method):
        return _handled(ctx, node, METHODS[function.name], [function.value, *args], kwargs)
    if name := intrinsic(function):
        return _handled(ctx, node, name, args, kwargs)
    ctx.target = ""
    if isinstance(function, Function):
        return inlined(ctx, node, function, args, kwargs)
    if isinstance(function, dtype):
        return math_calls.cast(ctx, node, args[0], function)
    if function is constexpr:
        return plain(constexpr(_known(ctx, node, args[0])))
    if function in _PYTHON:
        return _PYTHON[function](ctx, node, *args)
    return _static_call(ctx, node, function, args, kwargs)


def arguments_of(ctx: Context, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    for a in node.args:
        args += ctx.evaluate(ctx, a.value) if isinstance(a, ast.Starred) else [ctx.evaluate(ctx, a)]
    if any(k.arg is None for k in node.keywords):
        ctx.refuse(node, "an argument with ** is not supported.", "Write each.")
    return args, {str(k.arg): ctx.evaluate(ctx, k.value) for k in node.keywords}


def bound(ctx: Context, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a function of the language by name."""
    if name not in HANDLERS:
        ctx.refuse(node, f"tl.{name} is not supported.", "Write it with other functions of tl.")
    if name not in ("device_print", "static_print"):
        kwargs = {k: v for k, v in kwargs.items() if not k.startswith("_")}
    try:
        found = inspect.signature(HANDLERS[name]).bind(ctx, node, *args, **kwargs)
    except TypeError as error:
        ctx.refuse(node, f"tl.{name}: {error}.")
    return {k: v for k, v in found.arguments.items() if k not in ("ctx", "node")}


def _handled(ctx: Context, node: ast.Call, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    bound(ctx, node, name, args, kwargs)
    return HANDLERS[name](ctx, node, *args, **kwargs)


def _static_call(ctx: Context, node: ast.Call, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Functions and methods of what only the translation knows: types, texts, functions marked as constexpr_function."""
    owner = getattr(function, "__self__", None)
    pure = isinstance(owner, dtype | pointer_type | str) or function is pointer_type or getattr(function, "constexpr_function", False)
    if not pure:
        name = getattr(function, "__name__", described(function))
        ctx.refuse(node, f"'{name}' cannot be called in a kernel.", "Put @triton.jit above it, or use a function of tl.")
    return plain(function(*(_known(ctx, node, a) for a in args), **{k: _known(ctx, node, v) for k, v in kwargs.items()}))


def _known(ctx: Context, node: ast.AST, value: Any) -> Any:
    known = value.known if isinstance(value, Scalar) else value.value if isinstance(value, Number) else value
    if isinstance(value, Pointer) or (is_value(value) and not isinstance(known, bool | int | float)):
        ctx.refuse(node, "this is not known when the kernel is compiled.", "Make it of tl.constexpr values.")
    return known


def _extreme(op: str) -> Callable[..., Any]:
    def handler(ctx: Context, node: ast.AST, *values: Any) -> Any:
        items = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        made = items[0]
        for item in items[1:]:
            made = binary(ctx, op, made, item, node)
        return made

    return handler


#: function of Python -> what it means in a kernel
_PYTHON: dict[Any, Callable[..., Any]] = {
    min: _extreme("min"),
    max: _extreme("max"),
    abs: math_calls.absolute,
    len: lambda ctx, node, value: len(value) if isinstance(value, tuple | str) else shape_calls.shape_of(value)[0],
    float: lambda ctx, node, value: float(_known(ctx, node, value)),
    int: lambda ctx, node, value: value if isinstance(value, Scalar) else int(_known(ctx, node, value)),
    bool: lambda ctx, node, value: bool(_known(ctx, node, value)),
    str: lambda ctx, node, value: str(value),
    tuple: lambda ctx, node, value=(): tuple(value),
    print: lambda ctx, node, *args: misc_calls.device_print(ctx, node, *(args or ("",))),
    isinstance: lambda ctx, node, value, kind: isinstance(value, BlockPointer) if kind is tensor_descriptor else isinstance(value, kind),
}
