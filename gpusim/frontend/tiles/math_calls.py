"""Functions of elements, matrix products, casts, and random numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gpusim.frontend.tiles.arith import always, binary, edged, negative
from gpusim.frontend.tiles.carried import holders
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.promote import common, kind
from gpusim.frontend.tiles.shape_calls import ir_type
from gpusim.frontend.tiles.tiles import broadcast, copied, mapped, tile
from gpusim.frontend.tiles.tiles import cast as cast_value
from gpusim.frontend.tiles.values import Lattice, Mask, Number, Pointer, Scalar, Tile, dtype_of, far_array, is_int, is_number
from gpusim.ir.expr import Const, bin_
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.linear import linear
from gpusim.ir.ops import Cast, Dot
from gpusim.ir.types import DTYPES
from gpusim.triton.markers import pointer_type


def floating(fn: str) -> Callable[..., Tile]:
    """A function of one floating point value; whole numbers become fp32."""

    def handler(ctx: Context, node: ast.AST, x: Any, **ignored: Any) -> Tile:
        made = tile(ctx, x, node)
        made = made if kind(made.dtype) == 2 else tile(ctx, made, node, "fp32")
        return mapped(ctx, fn, (made,), "bool" if fn in ("isnan", "isinf") else made.dtype)

    return handler


def pair(fn: str) -> Callable[..., Tile]:
    """A function of two floating point values."""

    def handler(ctx: Context, node: ast.AST, x: Any, y: Any) -> Tile:
        of = common(x, y)
        of = of if kind(of) == 2 else "fp32"
        return mapped(ctx, fn, (tile(ctx, x, node, of), tile(ctx, y, node, of)), of)

    return handler


def minimum(ctx: Context, node: ast.AST, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return binary(ctx, "min", x, y, node)


def maximum(ctx: Context, node: ast.AST, x: Any, y: Any, propagate_nan: Any = None) -> Any:
    return binary(ctx, "max", x, y, node)


def clamp(ctx: Context, node: ast.AST, x: Any, min: Any, max: Any, propagate_nan: Any = None) -> Any:
    return minimum(ctx, node, maximum(ctx, node, x, min), max)


def absolute(ctx: Context, node: ast.AST, x: Any) -> Any:
    if is_number(x):
        return abs(x)
    if isinstance(x, Scalar):
        return Scalar(bin_("max", x.expr, bin_("*", x.expr, -1)), x.dtype)
    made = tile(ctx, x, node)
    return mapped(ctx, "abs", (made,), made.dtype)


def div_rn(ctx: Context, node: ast.AST, x: Any, y: Any, ieee_rounding: Any = False) -> Any:
    return binary(ctx, "/", x, y, node)


def fma(ctx: Context, node: ast.AST, x: Any, y: Any, z: Any) -> Any:
    of = common(tile(ctx, x, node), tile(ctx, y, node))
    if kind(of) < 2:
        return binary(ctx, "+", binary(ctx, "*", x, y, node), z, node)
    args = tuple(tile(ctx, v, node, of) for v in (x, y, z))
    return mapped(ctx, "fma", args, of)


def cdiv(ctx: Context, node: ast.AST, x: Any, div: Any) -> Any:
    return binary(ctx, "//", binary(ctx, "+", x, binary(ctx, "-", div, 1, node), node), div, node)


def umulhi(ctx: Context, node: ast.AST, x: Any, y: Any) -> Tile:
    return mapped(ctx, "mulhi", (tile(ctx, x, node, "uint32"), tile(ctx, y, node, "uint32")), "uint32")


def where(ctx: Context, node: ast.AST, condition: Any, x: Any, y: Any) -> Any:
    if isinstance(condition, bool):
        return x if condition else y
    if isinstance(condition, Scalar) and condition.dtype == "bool" and is_int(x) and is_int(y) and not hasattr(x, "steps") and not hasattr(y, "steps"):
        difference = binary(ctx, "-", x, y, node)
        return binary(ctx, "+", y, binary(ctx, "*", Scalar(condition.expr), difference, node), node)
    if isinstance(x, Pointer) and isinstance(y, Pointer) and x.array == y.array:
        return Pointer(x.array, where(ctx, node, condition, x.offset, y.offset))
    if isinstance(condition, Mask) and isinstance(x, Lattice) and always(ctx, condition) and len(x.shape) >= len(condition.shape):
        return x
    if isinstance(condition, Mask) and isinstance(x, Lattice) and y == 0 and (made := _first(ctx, condition, x)) is not None:
        return made
    of = common(x, y)
    chosen = tile(ctx, condition, node)
    chosen = chosen if chosen.dtype == "bool" else mapped(ctx, "ne", (chosen, ctx.constant(0, chosen.dtype)), "bool")
    return mapped(ctx, "where", (chosen, tile(ctx, x, node, of), tile(ctx, y, node, of)), of)


def _first(ctx: Context, condition: Mask, x: Lattice) -> Lattice | None:
    """where(x < n, x, 0) as x with an edge at n."""
    bound = condition.bounds[0]
    limit = bound.high.start
    whole = len(condition.bounds) == 1 and not bound.or_equal and bound.low == x and isinstance(limit, Const) and all(s == Const(0) for s in bound.high.steps)
    found = ctx.ranges.of(linear(x.start))
    if not whole or not isinstance(limit, Const) or found is None or found[0] < 0 or found[1] + max(x.shape, default=1) > 2 * limit.value:
        return None
    return edged(x, limit.value, "first", x.dtype)


def cast(ctx: Context, node: ast.AST, input: Any, dtype: Any, fp_downcast_rounding: Any = None, bitcast: Any = False) -> Any:
    """`input` as another type; of a pointer, one to elements of another type of the same width."""
    if isinstance(dtype, pointer_type):
        if isinstance(input, Pointer) and DTYPES[dtype.element_ty.ir].bits == DTYPES[input.dtype].bits:
            return input
        if isinstance(input, Tile | Scalar) and dtype_of(input) in ("int64", "uint64"):
            return _far(ctx, node, input, dtype.element_ty.ir)
        ctx.refuse(node, "a pointer to elements of another type is not supported.", "Pass an array of that type: array.view(dtype).")
    of = ir_type(ctx, node, dtype)
    if bitcast and dtype_of(input) != of:
        made = tile(ctx, input, node)
        if DTYPES[made.dtype].bits != DTYPES[of].bits:
            ctx.refuse(node, f"the bits of {made.dtype} are no {of}.", "Both have one width.")
        return ctx.define(lambda dst: Cast(dst, made.name, DTYPES[of], bits=True), made.shape, of)
    return cast_value(ctx, input, of, node)


def _far(ctx: Context, node: ast.AST, address: Tile | Scalar, of: str) -> Pointer:
    """An address that was loaded from memory, as a pointer into all of memory."""
    array = far_array(of)
    element = binary(ctx, "//", tile(ctx, address, node, "int64"), DTYPES[of].bytes, node)
    return Pointer(array, element)


# --- matrix products
def dot(
    ctx: Context, node: ast.AST, input: Any, other: Any, acc: Any = None, input_precision: Any = None, allow_tf32: Any = None,
    max_num_imprecise_acc: Any = None, out_dtype: Any = None,
) -> Tile:  # fmt: skip
    """input @ other + acc. Nobody reads acc any more if the result takes its place in the only variable that holds it."""
    own = isinstance(acc, Tile) and _holds(ctx, acc) and holders(ctx, acc.name) <= 1
    out = ir_type(ctx, node, out_dtype) if out_dtype else ""
    return product(ctx, node, input, other, acc, precision=_precision(input_precision, allow_tf32), out=out, own=own)


def _holds(ctx: Context, value: Any) -> bool:
    return bool(ctx.target) and ctx.frame.env.get(ctx.target) is value


def _precision(given: Any, allow_tf32: Any) -> str:
    return str(given) if given is not None else "ieee" if allow_tf32 is False else "tf32"


def product(ctx: Context, node: ast.AST, a: Any, b: Any, acc: Any, precision: str, out: str = "", own: bool = False) -> Tile:
    """acc + a @ b. own: nothing reads acc any more, so that products may be added to it in place."""
    x, y = tile(ctx, a, node), tile(ctx, b, node)
    of = x.dtype if x.dtype == y.dtype else _mixed(ctx, node, x.dtype, y.dtype)
    if of == "fp32" and precision == "tf32":
        of = "tf32"
    if of not in ACCUMULATORS:
        ctx.refuse(node, f"there is no product of {x.dtype} and {y.dtype}.", f"Operands: {', '.join(ACCUMULATORS)}.")
    if len(x.shape) != 2 or len(y.shape) != 2 or x.shape[1] != y.shape[0]:
        ctx.refuse(node, f"the shapes {x.shape} and {y.shape} make no product.", "Give tiles [M, K] and [K, N].")
    x, y = _operand(ctx, x, of, node), _operand(ctx, y, of, node)
    shape, sums = (x.shape[0], y.shape[1]), ACCUMULATORS[of]
    made = _accumulator(ctx, node, acc, shape, sums, own)
    ctx.emit(Dot(made.name, x.name, y.name, ctx.line))
    return tile(ctx, made, node, out or (made.dtype if acc is None else dtype_of(acc)))


def _mixed(ctx: Context, node: ast.AST, a: str, b: str) -> str:
    if a.startswith("fp8") and b.startswith("fp8"):
        return "fp16"
    ctx.refuse(node, f"the operands of a product are {a} and {b}.", "Cast one of them.")


def _operand(ctx: Context, value: Tile, of: str, node: ast.AST) -> Tile:
    """tf32 and fp32 are one type but for the product: the cast costs nothing."""
    return value if value.dtype == of else tile(ctx, value, node, of)


def _accumulator(ctx: Context, node: ast.AST, acc: Any, shape: tuple[int, ...], sums: str, own: bool) -> Tile:
    """The tile that products are added to."""
    if acc is None:
        return ctx.filled(0 if sums == "int32" else 0.0, sums, shape)
    made = broadcast(ctx, tile(ctx, acc, node, sums), shape)
    return made if own and made.name in ctx.state.fresh else copied(ctx, made)


# --- random numbers
def _word(ctx: Context, node: ast.AST, n: int, seed: Any, offset: Any) -> Tile:
    counter = tile(ctx, offset, node)
    if counter.dtype in ("int32", "int16", "int8"):
        counter = tile(ctx, counter, node, "uint32")
    counter = tile(ctx, counter, node, "uint64")
    return mapped(ctx, f"philox{n}", (tile(ctx, seed, node, "uint64"), counter), "uint32")


def randint(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> Tile:
    return _word(ctx, node, 0, seed, offset)


def randint4x(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> tuple[Tile, ...]:
    return tuple(_word(ctx, node, n, seed, offset) for n in range(4))


def rand(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> Tile:
    return uniform(ctx, node, _word(ctx, node, 0, seed, offset))


def rand4x(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> tuple[Tile, ...]:
    return tuple(uniform(ctx, node, w) for w in randint4x(ctx, node, seed, offset))


def uniform(ctx: Context, node: ast.AST, x: Any) -> Tile:
    return mapped(ctx, "uniform", (tile(ctx, x, node),), "fp32")


def _normal(ctx: Context, node: ast.AST, first: Tile, second: Tile) -> tuple[Any, Any]:
    """Box and Muller's two draws of the normal distribution from two of the uniform one."""
    above = maximum(ctx, node, uniform(ctx, node, first), Number(1.0e-7, "fp32"))
    angle = binary(ctx, "*", uniform(ctx, node, second), 6.283185307179586, node)
    radius = floating("sqrt")(ctx, node, binary(ctx, "*", floating("log")(ctx, node, above), -2.0, node))
    return tuple(binary(ctx, "*", radius, floating(fn)(ctx, node, angle), node) for fn in ("cos", "sin"))


def randn(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> Any:
    words = randint4x(ctx, node, seed, offset)
    return _normal(ctx, node, words[0], words[1])[0]


def randn4x(ctx: Context, node: ast.AST, seed: Any, offset: Any, n_rounds: Any = 10) -> tuple[Any, ...]:
    words = randint4x(ctx, node, seed, offset)
    return (*_normal(ctx, node, words[0], words[1]), *_normal(ctx, node, words[2], words[3]))


def sigmoid(ctx: Context, node: ast.AST, x: Any) -> Any:
    """1 / (1 + exp(-x)): what the language's own is made of."""
    return binary(ctx, "/", 1.0, binary(ctx, "+", 1.0, floating("exp")(ctx, node, negative(ctx, x, node)), node), node)
