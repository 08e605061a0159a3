"""Operations on constants: what is exact in Python is computed at once; everything else stays in the program."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from typing import Any

from gpusim.frontend.typing import BITS, SIGNED, is_float, is_integer
from gpusim.ir.simt.nodes import Imm

_COMMON: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "min": min, "max": max,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    **_COMMON, "floordiv": operator.floordiv, "mod": operator.mod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "shl": lambda a, b: a << b if 0 <= b < 64 else None, "shr": lambda a, b: a >> b if 0 <= b < 64 else None,
    "pow": lambda a, b: a**b if 0 <= b < 128 else None,
}  # fmt: skip
_FLOAT: dict[str, Callable[[Any, Any], Any]] = {**_COMMON, "div": operator.truediv}
_ONE: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "abs": abs, "mov": lambda a: a}


def wrapped(value: int, dtype: str) -> int:
    """The integer that two's complement of this width makes of `value`."""
    bits = BITS[dtype]
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if dtype in SIGNED and low >> (bits - 1) else low


def fits(value: int, dtype: str) -> bool:
    return wrapped(value, dtype) == value


def converted(imm: Imm, dtype: str) -> Imm | None:
    """`imm` as another type, as a cast does it. None where Python has no exact answer."""
    value = imm.value
    if dtype == imm.dtype:
        return imm
    if dtype == "bool":
        return Imm(bool(value), dtype)
    if is_float(dtype):
        return _rounded(float(value), dtype)
    if isinstance(value, float):
        if not math.isfinite(value) or not fits(int(value), dtype):
            return None
        return Imm(int(value), dtype)
    return Imm(wrapped(int(value), dtype), dtype)


def _rounded(value: float, dtype: str) -> Imm | None:
    if dtype == "float64":
        return Imm(value, dtype)
    if dtype == "bfloat16":
        return _rounded(value, dtype="float32") and _bfloat16(value)
    try:
        return Imm(struct.unpack("e" if dtype == "float16" else "f", struct.pack("e" if dtype == "float16" else "f", value))[0], dtype)
    except OverflowError:
        return Imm(math.copysign(math.inf, value), dtype)


def _bfloat16(value: float) -> Imm:
    """Round to nearest even on the upper half of the float32."""
    if not math.isfinite(value):
        return Imm(value, "bfloat16")
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return Imm(struct.unpack("<f", struct.pack("<I", bits))[0], "bfloat16")


def fold(op: str, args: tuple[Imm, ...], dtype: str) -> Imm | None:
    """The constant result of `op` in type `dtype`, or None if it is to be computed where the kernel runs."""
    kind = args[0].dtype
    if len(args) == 1:
        value = _attempt(_ONE.get(op), args[0].value) if is_integer(kind) or kind == "float64" else None
        if op == "not" and kind == "bool":
            value = not args[0].value
        elif op == "not" and is_integer(kind):
            value = ~int(args[0].value)
    elif len(args) == 2:
        table = _FLOAT if kind == "float64" else _INTEGER if is_integer(kind) or kind == "bool" else {}
        value = _attempt(table.get(op), args[0].value, args[1].value)
    else:
        return None
    return None if value is None else _typed(value, dtype)


def _attempt(function: Callable[..., Any] | None, *args: Any) -> Any:
    if function is None:
        return None
    try:
        return function(*args)
    except (ArithmeticError, ValueError):
        return None


def _typed(value: Any, dtype: str) -> Imm:
    if dtype == "bool":
        return Imm(bool(value), dtype)
    return Imm(float(value), dtype) if is_float(dtype) else Imm(wrapped(int(value), dtype), dtype)
