"""The types that a kernel and its signature name: scalars, arrays, signatures, and their strings.

A scalar type is a cast when a kernel calls it (`float32(x)`), a signature when called with types (`void(float32[:], int32)`), and an
array type when indexed (`float32[:, ::1]`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from gpusim.errors import GpusimError


@dataclass(frozen=True, slots=True)
class ScalarType:
    """`name` is what scripts write, `dtype` the element type of the IR ("" for void)."""

    name: str
    dtype: str

    def __getitem__(self, key: Any) -> ArrayType:
        """float32[:] is one dimension with any stride, float32[::1] a contiguous one; one slice per dimension."""
        parts = key if isinstance(key, tuple) else (key,)
        if not self.dtype or not all(isinstance(p, slice) and p.start is None and p.stop is None and p.step in (None, 1) for p in parts):
            raise GpusimError(f"{self.name}[{key!r}] is no array type.", hint="Write one ':' per dimension, as in float32[:, :] or float32[:, ::1].")
        steps = [p.step for p in parts]
        if 1 in steps[1:-1]:
            raise GpusimError(f"{self.name}[...] has ::1 at a dimension between others.", hint="Only the first or the last dimension is contiguous.")
        return ArrayType(self, len(parts), "C" if steps[-1] == 1 else "F" if steps[0] == 1 else "A")

    def __call__(self, *args: Any) -> Any:
        """A signature when given types; outside kernels also a NumPy scalar when given a number."""
        if not args or all(isinstance(a, TYPE_CLASSES) for a in args):
            return Signature(self, tuple(args))
        if len(args) != 1 or not self.dtype:
            raise GpusimError(f"{self.name}{args!r} is neither a cast of one number nor a signature.", hint="Write float32(1.5) or void(float32[:], int32).")
        return _number(self.dtype, args[0])

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayType:
    """layout "C": rows are contiguous; "F": columns are; "A": any strides."""

    element: ScalarType
    ndim: int
    layout: str

    def __str__(self) -> str:
        steps = [":"] * self.ndim
        if self.layout in "CF":
            steps[-1 if self.layout == "C" else 0] = "::1"
        return f"{self.element}[{', '.join(steps)}]"


@dataclass(frozen=True, slots=True)
class TupleType:
    """A tuple of scalars, as a device function returns it."""

    items: tuple[ScalarType, ...]

    def __call__(self, *args: Any) -> Signature:
        return Signature(self, args)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True, slots=True)
class Signature:
    """`result` is None where the signature leaves it open."""

    result: ScalarType | TupleType | None
    args: tuple[ScalarType | ArrayType, ...]

    def __str__(self) -> str:
        return f"{self.result or ''}({', '.join(map(str, self.args))})"


@dataclass(frozen=True, slots=True)
class VectorType:
    """Up to four equal numbers with names x, y, z and w, as C's float4. Kernels make them by a call: float32x2(a, b)."""

    name: str
    element: ScalarType
    count: int

    @property
    def fields(self) -> tuple[str, ...]:
        return ("x", "y", "z", "w")[: self.count]

    def __call__(self, *args: Any) -> Any:
        raise GpusimError(f"{self.name} was called outside a kernel.", hint="Only kernels have vectors; pass arrays of numbers, or a tuple.")


TYPE_CLASSES = (ScalarType, ArrayType, TupleType)


def _number(dtype: str, value: Any) -> Any:
    import ml_dtypes
    import numpy as np

    return ml_dtypes.bfloat16(value) if dtype == "bfloat16" else np.dtype(dtype).type(value)


def UniTuple(element: ScalarType, count: int) -> TupleType:
    """A tuple of `count` equal types."""
    return TupleType((element,) * count)


def Tuple(items: Any) -> TupleType:
    return TupleType(tuple(items))


void = none = ScalarType("void", "")
boolean = bool_ = b1 = ScalarType("boolean", "bool")
int8 = i1 = ScalarType("int8", "int8")
int16 = i2 = short = ScalarType("int16", "int16")
int32 = i4 = intc = ScalarType("int32", "int32")
int64 = i8 = intp = longlong = long_ = ssize_t = ScalarType("int64", "int64")
uint8 = u1 = byte = ScalarType("uint8", "uint8")
uint16 = u2 = ushort = ScalarType("uint16", "uint16")
uint32 = u4 = uintc = ScalarType("uint32", "uint32")
uint64 = u8 = uintp = ulonglong = size_t = ScalarType("uint64", "uint64")
float16 = f2 = ScalarType("float16", "float16")
bfloat16 = ScalarType("bfloat16", "bfloat16")
float32 = f4 = float_ = ScalarType("float32", "float32")
float64 = f8 = double = ScalarType("float64", "float64")
# Numba's int_ and uint are as wide as a pointer, unlike C's
int_ = int64
uint = uint64

#: dtype of the IR -> type
BY_DTYPE = {t.dtype: t for t in (boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64)}


#: C's name of a vector's element -> the type
_C_NAMES = {
    "char": int8, "short": int16, "int": int32, "long": int64, "longlong": int64, "uchar": uint8, "ushort": uint16, "uint": uint32,
    "ulong": uint64, "ulonglong": uint64, "float": float32, "double": float64,
}  # fmt: skip


def vectors() -> dict[str, VectorType]:
    """float32x4 and its like, and the same under C's names: float4."""
    made = {f"{t.name}x{n}": VectorType(f"{t.name}x{n}", t, n) for t in {*_C_NAMES.values()} for n in (1, 2, 3, 4)}
    return made | {f"{name}{n}": made[f"{t.name}x{n}"] for name, t in _C_NAMES.items() for n in (1, 2, 3, 4)}


def names() -> dict[str, Any]:
    """Every name that a signature's text may use."""
    found = {n: v for n, v in globals().items() if isinstance(v, ScalarType)}
    return {**found, "UniTuple": UniTuple, "Tuple": Tuple}


def parse_signature(text: str) -> Signature:
    """The signature that "void(float32[:], int32)" or "(float32[:], int32)" spells. Raises GpusimError with the text for anything else."""
    try:
        node = ast.parse(text.strip(), mode="eval").body
        value = _spelled(node)
    except (SyntaxError, KeyError, AttributeError, TypeError, ValueError):
        value = None
    if isinstance(value, tuple) and all(isinstance(v, TYPE_CLASSES) for v in value):
        return Signature(None, value)
    if isinstance(value, Signature):
        return value
    raise GpusimError(f"{text!r} is no signature.", hint="Write it as 'void(float32[:], int32)'; the types are those of gpusim.cuda.types.")


def as_signature(spec: Any) -> Signature:
    """What jit was given as a signature: a Signature, a string, or a tuple of types (which leaves the result open)."""
    if isinstance(spec, Signature):
        return spec
    if isinstance(spec, str):
        return parse_signature(spec)
    if isinstance(spec, tuple | list) and all(isinstance(v, TYPE_CLASSES) for v in spec):
        return Signature(None, tuple(spec))
    raise GpusimError(f"{spec!r} is no signature.", hint="Write void(float32[:], int32) or the same as a string.")


def _spelled(node: ast.expr) -> Any:
    """The value of the few forms that a signature's text may have; nothing is executed but the types themselves."""
    if isinstance(node, ast.Name):
        return names()[node.id]
    if isinstance(node, ast.Attribute):
        return names()[node.attr]
    if isinstance(node, ast.Tuple):
        return tuple(_spelled(e) for e in node.elts)
    if isinstance(node, ast.List):
        return [_spelled(e) for e in node.elts]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Slice):
        return slice(*(None if p is None else _spelled(p) for p in (node.lower, node.upper, node.step)))
    if isinstance(node, ast.Subscript):
        return _spelled(node.value)[_spelled(node.slice)]
    if isinstance(node, ast.Call) and not node.keywords:
        return _spelled(node.func)(*(_spelled(a) for a in node.args))
    raise ValueError


__all__ = sorted(names())
