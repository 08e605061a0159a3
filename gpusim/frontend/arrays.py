"""Arrays: arguments, shared, local and constant memory, and flat indices into them."""

from __future__ import annotations

import ast
from math import prod
from typing import Any

from gpusim.cuda.types import BY_DTYPE, ScalarType
from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Array, Extent, Group, Operand, Scalar, Static, Walk, described, literal
from gpusim.frontend.typing import is_float, itemsize
from gpusim.ir.simt.nodes import Arg, Buffer, Imm, Load, Store, Value

#: shared buffers begin at multiples of this, so that the widest accesses are aligned
ALIGN = 16
#: a constant array is written into the program; larger ones belong into an argument
MAX_CONSTANTS = 1 << 16
#: extent of dynamic shared memory: only the launch knows it
UNKNOWN = -1


def argument(number: int, arg: Arg) -> Array:
    """The array that argument `number` is."""
    buffer = Buffer(number, arg.name, "global", arg.dtype, None, number)
    strides: list[int | Extent] = [Extent(number, f"stride{k}") for k in range(arg.ndim)]
    if arg.layout == "C":
        strides[-1] = 1
    return Array(buffer, tuple(Extent(number, f"shape{k}") for k in range(arg.ndim)), tuple(strides))


def allocate(ctx: Context, node: ast.AST, space: str, shape: tuple[int, ...], dtype: str, name: str) -> Array:
    """The shared or local array that a call at this place of the source makes; the same place is the same array."""
    place: tuple[Any, ...] = (id(ctx.frame.source.function), getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    key = (space, *place, *(ctx.frame.path if space == "local" else ()), shape, dtype)
    if key not in ctx.buffers:
        ctx.buffers[key] = _new(ctx, space, shape, dtype, name)
    whole = shape != (0,)
    return Array(ctx.buffers[key], shape if whole else (UNKNOWN,), row_major(shape))


def _new(ctx: Context, space: str, shape: tuple[int, ...], dtype: str, name: str) -> Buffer:
    number = len(ctx.args) + len(ctx.buffers)
    dynamic = space == "shared" and shape == (0,)
    align = max(ALIGN, itemsize(dtype))
    used = ctx.shared_bytes if space == "shared" else ctx.local_bytes
    offset = ctx.dynamic_offset if dynamic else -(-used // align) * align
    if space == "shared" and not dynamic:
        ctx.shared_bytes = offset + prod(shape) * itemsize(dtype)
    elif space == "local":
        ctx.local_bytes = offset + prod(shape) * itemsize(dtype)
    return Buffer(number, name, space, dtype, None if dynamic else shape, None, offset, (), ctx.line)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def is_constant_array(obj: Any) -> bool:
    return hasattr(obj, "__array_interface__") and getattr(obj, "shape", ()) != ()


def constant(ctx: Context, obj: Any, node: ast.AST, name: str = "") -> Array:
    """A NumPy array of the module as constant memory."""
    dtype = str(obj.dtype)
    if dtype not in BY_DTYPE or obj.size > MAX_CONSTANTS:
        ctx.refuse(node, f"A constant array of {obj.size} elements of {dtype}.", f"At most {MAX_CONSTANTS} numbers; pass larger arrays as arguments.")
    key = ("const", id(obj))
    if key not in ctx.buffers:
        data = tuple(obj.reshape(-1).tolist())
        ctx.buffers[key] = Buffer(
            len(ctx.args) + len(ctx.buffers), name or f"const{len(ctx.buffers)}", "const", dtype, tuple(obj.shape), None, 0, data, ctx.line
        )
    shape = tuple(int(n) for n in obj.shape)
    return Array(ctx.buffers[key], shape, row_major(shape))


def as_array(ctx: Context, operand: Operand, node: ast.AST) -> Array:
    """The operand as an array, or a refusal."""
    if isinstance(operand, Array):
        return operand
    if isinstance(operand, Static) and is_constant_array(operand.obj):
        return constant(ctx, operand.obj, node)
    held = operand.obj if isinstance(operand, Static) else None
    hint = "Make it a tuple, or a NumPy array." if isinstance(held, list) else "Give each value a name of its own." if isinstance(held, dict) else ""
    ctx.refuse(node, f"A {described(operand)} cannot be indexed like an array.", hint)


def known_int(operand: Operand) -> int | None:
    imm = literal(operand)
    return int(imm.value) if imm is not None and not is_float(imm.dtype) else None


def static_int(ctx: Context, node: ast.expr, role: str) -> int:
    """The integer that an expression is at compile time."""
    value = known_int(ctx.evaluate(ctx, node))
    if value is None:
        ctx.refuse(node, f"{role} is not known when the kernel is compiled.", "Use a number, or a constant of the module.")
    return value


def indices(ctx: Context, node: ast.Subscript) -> tuple[Scalar, ...]:
    """The index of a subscript, one integer per dimension."""
    return split_index(ctx, ctx.evaluate(ctx, node.slice), node)


def split_index(ctx: Context, operand: Operand, node: ast.AST) -> tuple[Scalar, ...]:
    items = operand.items if isinstance(operand, Group) else (operand,)
    found = tuple(ctx.scalar(i, node, "The index") for i in items)
    for index in found:
        if is_float(index.dtype):
            ctx.refuse(node, f"The index is a {index.dtype}.", "Convert it with int(), or divide with // instead of /.")
    return found


def flat(ctx: Context, node: ast.AST, array: Array, index: tuple[Scalar, ...]) -> Value:
    """The element's number in the buffer. A negative index counts from the end of its dimension; the buffer's own end is the access's matter."""
    if len(index) > array.ndim:
        ctx.refuse(node, f"{len(index)} indices for the {described(array)}.")
    total = array.offset
    for k, one in enumerate(index):
        inner = k > 0 or array.offset is not None
        term = _wrapped(ctx, one, array.shape[k]) if inner else one.value
        stride = array.strides[k]
        if stride != 1:
            term = ctx.op("mul", (ctx.cast(term, "int64"), ctx.extent(stride)), "int64")
        if total is not None and term == Imm(0, term.dtype):
            continue
        total = term if total is None or total == Imm(0, "int64") else ctx.op("add", (ctx.cast(total, "int64"), ctx.cast(term, "int64")), "int64")
    return total if total is not None else Imm(0, "int64")


def _wrapped(ctx: Context, index: Scalar, extent: int | Extent | Value) -> Value:
    if is_nonneg(index) or extent == UNKNOWN:
        return index.value
    return ctx.op("wrap", (ctx.cast(index.value, "int64"), ctx.extent(extent)), "int64")


def read(ctx: Context, node: ast.AST, array: Array, index: tuple[Scalar, ...]) -> Operand:
    """a[index]: an element, or the view of a row."""
    ctx.at(node)
    if len(index) < array.ndim:
        return Array(array.buffer, array.shape[len(index) :], array.strides[len(index) :], flat(ctx, node, array, index))
    return Scalar(load(ctx, array, flat(ctx, node, array, index))[0])


def walk(ctx: Context, array: Array, node: ast.AST) -> Walk:
    """The elements of an array, in order."""
    if array.ndim != 1:
        ctx.refuse(node, f"A loop over a {array.ndim}-dimensional array.", "Loop over range(a.shape[0]) and index.")
    length = Scalar(ctx.extent(array.shape[0]), None, True)
    return Walk(length, lambda k: Scalar(load(ctx, array, flat(ctx, node, array, (k,)))[0]))


def load(ctx: Context, array: Array, index: Value, count: int = 1, cache: str = "") -> tuple[Value, ...]:
    """`count` consecutive elements."""
    dst = tuple(ctx.temp(array.buffer.dtype) for _ in range(count))
    ctx.emit(Load(dst, array.buffer, index, ctx.line, cache))
    return dst


def element(ctx: Context, node: ast.AST, array: Array, index: tuple[Scalar, ...]) -> Value:
    """The flat index of one element, for an access of any kind."""
    if len(index) != array.ndim:
        ctx.refuse(node, f"{len(index)} indices for the {described(array)}; an element takes {array.ndim}.", "A thread reads and writes single elements.")
    return flat(ctx, node, array, index)


def store(ctx: Context, node: ast.AST, array: Array, index: Value, values: tuple[Value, ...]) -> None:
    """a[index], ... = values, converted to the array's type."""
    if array.buffer.space == "const":
        ctx.refuse(node, f"The constant array '{array.buffer.name}' is written.", "Pass it to the kernel as an argument.")
    converted = tuple(ctx.cast(v, array.buffer.dtype) for v in values)
    ctx.at(node)
    ctx.emit(Store(array.buffer, index, converted, ctx.line))


def element_type(ctx: Context, operand: Operand, node: ast.AST) -> str:
    """The IR's type that an operand names: a type of ours, of NumPy, or its name."""
    obj = operand.obj if isinstance(operand, Static) else None
    found = named_type(obj)
    if found is None:
        ctx.refuse(node, f"A {described(operand)} is no element type.", f"Use one of {', '.join(sorted(BY_DTYPE))}.")
    return found


def named_type(obj: Any) -> str | None:
    """The IR's type for a type object of ours, of NumPy or of Python; None for anything else."""
    if isinstance(obj, ScalarType):
        return obj.dtype or None
    if obj in (float, int, bool):
        return {float: "float64", int: "int64", bool: "bool"}[obj]
    if isinstance(obj, type):
        import numpy as np

        name = np.dtype(obj).name if issubclass(obj, np.generic) or obj.__module__.startswith("ml_dtypes") else obj.__name__
    else:
        name = obj if isinstance(obj, str) else str(getattr(obj, "name", ""))
    return name if name in BY_DTYPE else None
