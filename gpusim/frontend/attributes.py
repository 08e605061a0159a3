"""`x.name`: of modules and namespaces, which are looked up, and of arrays, which are described by extents."""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from gpusim.cuda.intrinsics import Namespace
from gpusim.cuda.types import BY_DTYPE, ScalarType
from gpusim.frontend import arrays
from gpusim.frontend.context import Context
from gpusim.frontend.names import wrap
from gpusim.frontend.operands import Array, Extent, Group, Operand, Scalar, Static, described
from gpusim.frontend.typing import itemsize
from gpusim.ir.simt.nodes import Imm


def attribute(ctx: Context, node: ast.Attribute, base: Operand) -> Operand:
    """base.attr"""
    if isinstance(base, Static) and isinstance(base.obj, ScalarType) and node.attr == "type":
        return base
    if isinstance(base, Static) and not arrays.is_constant_array(base.obj):
        return _of_object(ctx, node, base.obj)
    if isinstance(base, Array | Static):
        array = arrays.as_array(ctx, base, node)
        if node.attr not in ARRAY_ATTRIBUTES:
            hint = INSTEAD.get(node.attr, "Compute with elements: a[i].")
            ctx.refuse(node, f"Arrays in kernels have no attribute '{node.attr}'.", f"They have {', '.join(ARRAY_ATTRIBUTES)}. {hint}")
        if arrays.UNKNOWN in array.shape and node.attr in ("shape", "size", "nbytes"):
            ctx.refuse(node, "The length of dynamic shared memory is not known in the kernel.", "Pass it as an argument.")
        return ARRAY_ATTRIBUTES[node.attr](ctx, array)
    if isinstance(base, Group) and node.attr in base.fields:
        return base.items[base.fields.index(node.attr)]
    if isinstance(base, Scalar) and node.attr == "dtype":
        return Static(BY_DTYPE[base.dtype])
    ctx.refuse(node, f"A {described(base)} has no attribute '{node.attr}' in a kernel.")


def _of_object(ctx: Context, node: ast.Attribute, obj: Any) -> Operand:
    plain = isinstance(obj, ModuleType | Namespace | type | enum.Enum) or (dataclasses.is_dataclass(obj) and _frozen(obj))
    if not plain:
        ctx.refuse(
            node,
            f"'{ast.unparse(node)}' belongs to a {type(obj).__name__}, which may change.",
            "Copy the value to a module constant, or pass it as an argument.",
        )
    try:
        value = getattr(obj, node.attr)
    except AttributeError as error:
        ctx.refuse(node, f"'{ast.unparse(node)}' does not exist: {error}.")
    if isinstance(value, enum.Enum):
        value = value.value
    return wrap(ctx, value, node)


def _frozen(obj: Any) -> bool:
    params = getattr(obj, "__dataclass_params__", None)
    return bool(params is not None and params.frozen)


def shape(ctx: Context, array: Array) -> Group:
    return Group(tuple(Scalar(ctx.extent(e), None, True) for e in array.shape))


def size(ctx: Context, array: Array) -> Scalar:
    first = array.shape[0]
    if isinstance(first, Extent) and array.offset is None:
        return Scalar(ctx.param(first.arg, "size", "int64"), None, True)
    value = ctx.extent(first)
    for extent in array.shape[1:]:
        value = ctx.op("mul", (value, ctx.extent(extent)), "int64")
    return Scalar(value, None, True)


def _itemsize(ctx: Context, array: Array) -> Scalar:
    return Scalar(Imm(itemsize(array.buffer.dtype), "int64"))


def _nbytes(ctx: Context, array: Array) -> Scalar:
    return Scalar(ctx.op("mul", (size(ctx, array).value, _itemsize(ctx, array).value), "int64"), None, True)


def _strides(ctx: Context, array: Array) -> Group:
    width = _itemsize(ctx, array).value
    return Group(tuple(Scalar(ctx.op("mul", (ctx.extent(s), width), "int64")) for s in array.strides))


_LOOP = "Write a loop over the elements, or use shuffles and shared memory to let threads share it."

#: attribute of NumPy's arrays -> what to write instead
INSTEAD = {
    "view": "Reinterpret elements: cuda.bitcast(a[i], int32), or view the array before the launch.",
    "astype": "Convert elements: float32(a[i]).",
    "fill": "Write a[:] = value.",
    "copy": "Write b[:] = a into an array that exists.",
    "reshape": "Reshape the array before the launch.",
    "real": "Complex arrays do not exist; pass two arrays.",
    "imag": "Complex arrays do not exist; pass two arrays.",
    **dict.fromkeys("sum prod mean min max argmin argmax any all dot".split(), _LOOP),
}

ARRAY_ATTRIBUTES: dict[str, Callable[[Context, Array], Operand]] = {
    "shape": shape,
    "size": size,
    "ndim": lambda ctx, array: Scalar(Imm(array.ndim, "int64")),
    "T": lambda ctx, array: replace(array, shape=array.shape[::-1], strides=array.strides[::-1]),
    "dtype": lambda ctx, array: Static(BY_DTYPE[array.buffer.dtype]),
    "strides": _strides,
    "itemsize": _itemsize,
    "nbytes": _nbytes,
}
