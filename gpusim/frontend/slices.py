"""Views: `a[lo:hi]`, `a[i, :]`, `a[:, j]`. A view is an offset and extents; nothing is copied."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpusim.frontend import arrays
from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Array, Extent, Scalar
from gpusim.ir.simt.nodes import Assert, For, Imm, Reg, Value

Length = int | Extent | Value


@dataclass(frozen=True, slots=True)
class Span:
    """lo:hi:step of one dimension; None where the user left it out."""

    lo: Scalar | None
    hi: Scalar | None
    step: int = 1


def has_slice(node: ast.Subscript) -> bool:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(p, ast.Slice) for p in parts)


def is_whole(node: ast.Subscript) -> bool:
    """a[...]"""
    return isinstance(node.slice, ast.Constant) and node.slice.value is Ellipsis


def parts_of(ctx: Context, node: ast.Subscript) -> list[Scalar | Span]:
    """The parts of a subscript with slices, evaluated."""
    found: list[Scalar | Span] = []
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, ast.Slice):
            found += arrays.split_index(ctx, ctx.evaluate(ctx, part), node)
            continue
        step = 1 if part.step is None else arrays.static_int(ctx, part.step, "The step of a slice")
        if step == 0:
            ctx.refuse(node, "The step of the slice is 0.")
        lo, hi = (None if b is None else arrays.split_index(ctx, ctx.evaluate(ctx, b), node)[0] for b in (part.lower, part.upper))
        found.append(Span(lo, hi, step))
    return found


def view(ctx: Context, node: ast.AST, array: Array, parts: list[Scalar | Span]) -> Array:
    """The part of the array that the subscript names. A bound beyond the end shortens the view, as in Python."""
    if len(parts) > array.ndim:
        ctx.refuse(node, f"{len(parts)} indices for an array of {array.ndim} dimensions.")
    offset: Value = array.offset or Imm(0, "int64")
    shape: list[Length] = []
    strides: list[Length] = []
    for k, stride in enumerate(array.strides):
        part = parts[k] if k < len(parts) else Span(None, None)
        first = _first(ctx, node, part, array.shape[k])
        step = ctx.op("mul", (first, ctx.extent(stride)), "int64") if stride != 1 else first
        offset = step if offset == Imm(0, "int64") else offset if step == Imm(0, "int64") else ctx.op("add", (ctx.cast(offset, "int64"), step), "int64")
        if isinstance(part, Span):
            shape.append(_length(ctx, part, first, array.shape[k]))
            strides.append(_times(ctx, stride, part.step))
    return Array(array.buffer, tuple(shape), tuple(strides), offset)


def _first(ctx: Context, node: ast.AST, part: Scalar | Span, extent: Length) -> Value:
    """The index of the first element."""
    if isinstance(part, Scalar):
        return _bound(ctx, part, extent)
    if part.lo is not None:
        start = _bound(ctx, part.lo, extent)
        return start if part.step > 0 or extent == arrays.UNKNOWN else ctx.op("min", (start, _last(ctx, extent)), "int64")
    if part.step > 0:
        return Imm(0, "int64")
    if extent == arrays.UNKNOWN:
        ctx.refuse(node, "The length of dynamic shared memory is not known in the kernel.", "Give the slice a begin.")
    return _last(ctx, extent)


def _last(ctx: Context, extent: Length) -> Value:
    return ctx.op("sub", (ctx.extent(extent), Imm(1, "int64")), "int64")


def _times(ctx: Context, stride: Length, step: int) -> Length:
    if step == 1:
        return stride
    return stride * step if isinstance(stride, int) else ctx.op("mul", (ctx.extent(stride), Imm(step, "int64")), "int64")


def _bound(ctx: Context, bound: Scalar, extent: Length) -> Value:
    value = ctx.cast(bound.value, "int64")
    if is_nonneg(bound) or extent == arrays.UNKNOWN:
        return value
    return ctx.op("wrap", (value, ctx.extent(extent)), "int64")


def _length(ctx: Context, part: Span, first: Value, extent: Length) -> Length:
    """How many steps lie between the first element and the end, at least 0."""
    if part.lo is None and part.hi is None and part.step == 1:
        return extent
    if part.hi is None and extent == arrays.UNKNOWN:
        return arrays.UNKNOWN
    if part.hi is None:
        end = ctx.extent(extent) if part.step > 0 else Imm(-1, "int64")
    else:
        end = _bound(ctx, part.hi, extent)
        if part.step > 0 and extent != arrays.UNKNOWN:
            end = ctx.op("min", (end, ctx.extent(extent)), "int64")
    span = ctx.op("sub", (end, first) if part.step > 0 else (first, end), "int64")
    size = abs(part.step)
    if size > 1:
        span = ctx.op("floordiv", (ctx.op("add", (span, Imm(size - 1, "int64")), "int64"), Imm(size, "int64")), "int64")
    return ctx.op("max", (span, Imm(0, "int64")), "int64")


def fill(ctx: Context, node: ast.AST, target: Array, value: Array | Scalar) -> None:
    """target[...] = value, element by element; what is dimensions shorter is repeated, as in NumPy."""
    if isinstance(value, Array) and value.ndim > target.ndim:
        ctx.refuse(node, f"{value.ndim} dimensions are assigned to {target.ndim}.")
    _fill(ctx, node, target, value, ())


def _fill(ctx: Context, node: ast.AST, target: Array, value: Array | Scalar, index: tuple[Scalar, ...]) -> None:
    depth = len(index)
    if depth == target.ndim:
        number = value
        if isinstance(value, Array):
            number = Scalar(arrays.load(ctx, value, arrays.flat(ctx, node, value, index[target.ndim - value.ndim :]))[0])
        arrays.store(ctx, node, target, arrays.flat(ctx, node, target, index), (ctx.scalar(number, node).value,))
        return
    k = Scalar(ctx.variable(f"k{depth}.{getattr(node, 'lineno', 0)}.{getattr(node, 'col_offset', 0)}", "int64"), None, True)
    length = target.shape[depth]
    if length == arrays.UNKNOWN:
        ctx.refuse(node, "The length of dynamic shared memory is not known in the kernel.", "Give the slice an end: a[:n].")
    if isinstance(value, Array) and depth >= target.ndim - value.ndim:
        _same_length(ctx, node, length, value.shape[depth - target.ndim + value.ndim])
    with ctx.collect() as body:
        _fill(ctx, node, target, value, (*index, k))
    assert isinstance(k.value, Reg)
    ctx.emit(For(k.value, Imm(0, "int64"), ctx.extent(length), Imm(1, "int64"), tuple(body), ctx.line))


def _same_length(ctx: Context, node: ast.AST, target: Length, source: Length) -> None:
    if target == source or source == arrays.UNKNOWN:
        return
    same = ctx.op("eq", (ctx.extent(target), ctx.extent(source)), "bool")
    if same == Imm(False, "bool"):
        ctx.refuse(node, f"{source} elements are assigned to {target}.")
    if not isinstance(same, Imm):
        ctx.emit(Assert(same, "both sides of the assignment have the same length", ctx.line))
