"""Intrinsics that make or touch arrays: allocation, vector accesses, atomics, asynchronous copies."""

from __future__ import annotations

from gpusim.cuda.intrinsics import atomic
from gpusim.frontend import arrays
from gpusim.frontend.calls import Call, Handler, array_of
from gpusim.frontend.operands import Array, Group, Operand, Scalar, Static, literal
from gpusim.frontend.typing import is_float, itemsize
from gpusim.ir.simt.nodes import AsyncCommit, AsyncCopy, AsyncWait, Atomic, Imm, Value

NOTHING = Static(None)
#: the widest access of one lane, bytes
WIDEST = 16


def allocate(space: str) -> Handler:
    """shared.array and local.array."""

    def handle(made: Call) -> Operand:
        shape, dtype, _ = made.bound("shape dtype alignment", optional=1)
        sizes = shape.items if isinstance(shape, Group) else (shape,)
        known = tuple(arrays.known_int(s) if s is not None else None for s in sizes)
        if not known or any(k is None or k < 0 for k in known):
            made.refuse(
                f"The shape of a {space} array is not known when the kernel is compiled.",
                "Use numbers or constants of the module; cuda.shared.array(0, dtype) is sized at launch.",
            )
        kind = arrays.element_type(made.ctx, dtype or NOTHING, made.node)
        name = made.ctx.wanted_name or f"{space}{len(made.ctx.buffers)}"
        return arrays.allocate(made.ctx, made.node, space, tuple(k or 0 for k in known), kind, name)

    return handle


def _array_like(made: Call) -> Operand:
    (source,) = made.bound("ary")
    if not isinstance(source, Static) or not arrays.is_constant_array(source.obj):
        made.refuse("cuda.const.array_like takes a NumPy array of the module.", "Define the array outside the kernel.")
    return arrays.constant(made.ctx, source.obj, made.node, made.ctx.wanted_name)  # type: ignore[union-attr]


def place(made: Call, array: Operand | None, index: Operand | None) -> tuple[Array, Value]:
    """The array and the flat index that an access names."""
    target = array_of(made, array)
    parts = arrays.split_index(made.ctx, index or NOTHING, made.node)
    return target, arrays.element(made.ctx, made.node, target, parts)


def vector_load(count: int, cache: str = "") -> Handler:
    def handle(made: Call) -> Operand:
        array, index = place(made, *made.bound("a i"))
        _check_width(made, array, count)
        values = arrays.load(made.ctx, array, index, count, cache)
        return Group(tuple(Scalar(v) for v in values)) if count > 1 else Scalar(values[0])

    return handle


def _check_width(made: Call, array: Array, count: int) -> None:
    if count * itemsize(array.buffer.dtype) > WIDEST:
        made.refuse(
            f"{made.text} of {array.buffer.dtype} is {count * itemsize(array.buffer.dtype)} bytes; an access has at most {WIDEST}.",
            "Use two narrower accesses.",
        )


def _index_at(made: Call) -> Operand:
    array, offset = made.bound("a offset")
    target = array_of(made, array)
    if target.ndim != 1 or target.strides[0] != 1 or target.offset is not None:
        made.refuse("index_at of an array that is not one-dimensional and contiguous.", "Pass x.reshape(-1).")
    value = made.ctx.scalar(offset or NOTHING, made.node, "The byte offset")
    if is_float(value.dtype):
        made.refuse(f"The byte offset is a {value.dtype}.", "Convert it with int().")
    size = Imm(itemsize(target.buffer.dtype), value.dtype)
    return Scalar(made.ctx.op("index.at", (value.value, size), value.dtype))


def vector_store(count: int) -> Handler:
    def handle(made: Call) -> Operand:
        array, index, values = made.bound("a i values")
        target, flat = place(made, array, index)
        _check_width(made, target, count)
        if not isinstance(values, Group) or len(values.items) != count:
            made.refuse(f"{made.text} takes a tuple of {count} values.")
        numbers = tuple(made.ctx.scalar(v, made.node).value for v in values.items)  # type: ignore[union-attr]
        arrays.store(made.ctx, made.node, target, flat, numbers)
        return NOTHING

    return handle


def atomic_op(op: str) -> Handler:
    """atomic.op(array, index, value); gives the old value."""

    def handle(made: Call) -> Operand:
        array, index, value = made.bound("ary idx val")
        target, flat = place(made, array, index)
        return _atomic(made, op, target, flat, (value,))

    return handle


def _atomic(made: Call, op: str, target: Array, flat: Value, values: tuple[Operand | None, ...]) -> Scalar:
    ctx, dtype = made.ctx, target.buffer.dtype
    if op in ("and", "or", "xor", "inc", "dec") and is_float(dtype):
        made.refuse(f"{made.text} on {dtype}.", "It works on integers.")
    if target.buffer.space == "const":
        made.refuse("An atomic on constant memory.", "Pass the array as an argument.")
    numbers = tuple(ctx.cast(ctx.scalar(v or NOTHING, made.node, "The value").value, dtype) for v in values)
    old = ctx.temp(dtype)
    ctx.at(made.node)
    ctx.emit(Atomic(old, op, target.buffer, flat, numbers, ctx.line))
    return Scalar(old)


def _cas(made: Call) -> Operand:
    array, index, expected, value = made.bound("ary idx old val")
    target, flat = place(made, array, index)
    return _atomic(made, "cas", target, flat, (expected, value))


def _compare_and_swap(made: Call) -> Operand:
    array, expected, value = made.bound("ary old val")
    target = array_of(made, array)
    return _atomic(made, "cas", target, target.offset or Imm(0, "int64"), (expected, value))


def _cp_async(made: Call) -> Operand:
    dst, i, src, j, count, valid = made.bound("dst i src j count valid", optional=1)
    target, to = place(made, dst, i)
    source, start = place(made, src, j)
    known = literal(count or NOTHING)
    if known is None:
        made.refuse("The count of cp_async is not constant.", "Write the number of elements: 4, 8 or 16 bytes in all.")
    elements = int(known.value)  # type: ignore[union-attr]
    size = elements * itemsize(target.buffer.dtype)
    ways = target.buffer.space == "shared" and source.buffer.space == "global" and target.buffer.dtype == source.buffer.dtype
    if not ways or size not in (4, 8, 16):
        what = f"cp_async of {size} bytes from {source.buffer.space} {source.buffer.dtype} to {target.buffer.space} {target.buffer.dtype}."
        made.refuse(what, "It copies 4, 8 or 16 bytes from global to shared memory of one type.")
    bound = None if valid is None or valid == NOTHING else made.ctx.scalar(valid, made.node).value
    made.ctx.emit(AsyncCopy(target.buffer, to, source.buffer, start, elements, bound, made.ctx.line))
    return NOTHING


def _commit(made: Call) -> Operand:
    made.bound("")
    made.ctx.emit(AsyncCommit(made.ctx.line))
    return NOTHING


def _wait(made: Call) -> Operand:
    known = literal(made.bound("n")[0] or NOTHING)
    if known is None:
        made.refuse("The count of cp_async_wait is not constant.", "Write how many groups may stay open.")
    made.ctx.emit(AsyncWait(int(known.value), made.ctx.line))  # type: ignore[union-attr]
    return NOTHING


_ATOMICS = {"and_": "and", "or_": "or"}
_SPECIAL = ("cas", "compare_and_swap")

MEMORY: dict[str, Handler] = {
    "shared.array": allocate("shared"),
    "local.array": allocate("local"),
    "const.array_like": _array_like,
    **{f"load{n}": vector_load(n) for n in (2, 4, 8)},
    **{f"store{n}": vector_store(n) for n in (2, 4, 8)},
    "ldg": vector_load(1),
    "ldcg": vector_load(1, "cg"),
    **{f"atomic.{n}": atomic_op(_ATOMICS.get(n, n)) for n in atomic.members if n not in _SPECIAL},
    "atomic.cas": _cas,
    "atomic.compare_and_swap": _compare_and_swap,
    "index_at": _index_at,
    "cp_async": _cp_async,
    "cp_async_commit": _commit,
    "cp_async_wait": _wait,
}
