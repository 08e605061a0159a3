"""Views: `a[lo:hi]`, `a[i, :]`, `a[:, j]`. A view is an offset and extents; nothing is copied."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gpusim.frontend import arrays
from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Array, Extent, Scalar
from gpusim.ir.simt.nodes import Imm, Value

Length = int | Extent | Value


@dataclass(frozen=True, slots=True)
class Span:
    """lo:hi of one dimension; None where the user left it out."""

    lo: Scalar | None
    hi: Scalar | None


def has_slice(node: ast.Subscript) -> bool:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(p, ast.Slice) for p in parts)


def parts_of(ctx: Context, node: ast.Subscript) -> list[Scalar | Span]:
    """The parts of a subscript with slices, evaluated."""
    found: list[Scalar | Span] = []
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        if not isinstance(part, ast.Slice):
            found += arrays.split_index(ctx, ctx.evaluate(ctx, part), node)
            continue
        if part.step is not None:
            ctx.refuse(node, "A slice with a step.", "Index single elements: a[lo + k * step].")
        lo, hi = (None if b is None else arrays.split_index(ctx, ctx.evaluate(ctx, b), node)[0] for b in (part.lower, part.upper))
        found.append(Span(lo, hi))
    return found


def view(ctx: Context, node: ast.AST, array: Array, parts: list[Scalar | Span]) -> Array:
    """The part of the array that the subscript names. A bound beyond the end shortens the view, as in Python."""
    if len(parts) > array.ndim:
        ctx.refuse(node, f"{len(parts)} indices for an array of {array.ndim} dimensions.")
    offset: Value = array.offset or Imm(0, "int64")
    shape: list[Length] = []
    strides: list[int | Extent] = []
    for k, stride in enumerate(array.strides):
        part = parts[k] if k < len(parts) else Span(None, None)
        start = part.lo if isinstance(part, Span) else part
        first = Imm(0, "int64") if start is None else _bound(ctx, start, array.shape[k])
        step = ctx.op("mul", (first, ctx.extent(stride)), "int64") if stride != 1 else first
        offset = step if offset == Imm(0, "int64") else offset if step == Imm(0, "int64") else ctx.op("add", (ctx.cast(offset, "int64"), step), "int64")
        if isinstance(part, Span):
            shape.append(_length(ctx, part, first, array.shape[k]))
            strides.append(stride)
    return Array(array.buffer, tuple(shape), tuple(strides), offset)


def _bound(ctx: Context, bound: Scalar, extent: Length) -> Value:
    value = ctx.cast(bound.value, "int64")
    if is_nonneg(bound) or extent == arrays.UNKNOWN:
        return value
    return ctx.op("wrap", (value, ctx.extent(extent)), "int64")


def _length(ctx: Context, part: Span, first: Value, extent: Length) -> Length:
    """min(hi, extent) - lo, at least 0."""
    if part.lo is None and part.hi is None:
        return extent
    if part.hi is None and extent == arrays.UNKNOWN:
        return arrays.UNKNOWN
    end = ctx.extent(extent) if part.hi is None else _bound(ctx, part.hi, extent)
    if part.hi is not None and extent != arrays.UNKNOWN:
        end = ctx.op("min", (end, ctx.extent(extent)), "int64")
    return ctx.op("max", (ctx.op("sub", (end, first), "int64"), Imm(0, "int64")), "int64")
