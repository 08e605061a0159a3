"""Values of operations on constants, with the wrapping and rounding that the machine has."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from gpusim.ir.simt.nodes import Imm

INTEGER_BITS = {f"{sign}int{bits}": bits for sign in ("", "u") for bits in (8, 16, 32, 64)}


def is_integer(dtype: str) -> bool:
    return dtype in INTEGER_BITS


def bounds(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type or bool."""
    if dtype == "bool":
        return 0, 1
    bits = INTEGER_BITS[dtype]
    return (0, (1 << bits) - 1) if dtype[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def wrap(value: int, dtype: str) -> int:
    """The low bits of value, read as `dtype`."""
    low, high = bounds(dtype)
    return value if low <= value <= high else (value - low) % (high - low + 1) + low


_INTEGER: dict[str, Callable[..., int | None]] = {
    "mov": lambda x: x,
    "neg": lambda x: -x,
    "abs": abs,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
    "rem": lambda x, y: None if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1),
    "floordiv": lambda x, y: None if y == 0 else x // y,
    "mod": lambda x, y: None if y == 0 else x % y,
    "min": min,
    "max": max,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "shl": lambda x, y: x << y if 0 <= y < 32 else None,
    "shr": lambda x, y: x >> y if 0 <= y < 32 else None,
    "not": lambda x: ~x,
    "mul.wide": lambda x, y: x * y,
}
_BOOL: dict[str, Callable[..., int]] = {
    "mov": lambda x: x,
    "not": lambda x: 1 - x,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
}
_FLOAT: dict[str, Callable[..., float | None]] = {
    "mov": lambda x: x,
    "neg": lambda x: -x,
    "abs": abs,
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: None if y == 0 else x / y,
    "sqrt": lambda x: None if x < 0 else math.sqrt(x),
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
_FLOATS = ("float32", "float64")


def evaluate(op: str, args: tuple[Imm, ...], dtype: str) -> Imm | None:
    """op(args) as a constant of type `dtype`; None where it is not folded: not known here, no finite number, or mixed types."""
    if op == "cvt":
        return convert(args[0], dtype)
    if op == "select":
        return Imm((args[1] if args[0].value else args[2]).value, dtype)
    kinds = {arg.dtype for arg in args}
    if not args or len(kinds) != 1:
        return None
    kind = kinds.pop()
    values = [arg.value for arg in args]
    if op in _COMPARE:
        return Imm(_COMPARE[op](*values), "bool")
    if kind == "bool" and op in _BOOL:
        return Imm(bool(_BOOL[op](*map(int, values))), "bool")
    if is_integer(kind) and op in _INTEGER and is_integer(dtype):
        result = _INTEGER[op](*map(int, values))
        return None if result is None else Imm(wrap(result, dtype), dtype)
    if kind in _FLOATS and op in _FLOAT:
        return _rounded(_FLOAT[op](*map(float, values)), dtype)
    return None


def convert(value: Imm, dtype: str) -> Imm | None:
    """The constant as another type: integers wrap, floats round to nearest, float to integer truncates; None where undefined."""
    if dtype == "bool":
        return Imm(bool(value.value), dtype)
    if is_integer(dtype):
        if isinstance(value.value, float):
            whole = math.trunc(value.value) if math.isfinite(value.value) else None
            low, high = bounds(dtype)
            return Imm(whole, dtype) if whole is not None and low <= whole <= high else None
        return Imm(wrap(int(value.value), dtype), dtype)
    if dtype in _FLOATS:
        return _rounded(float(value.value), dtype)
    return None


def _rounded(value: float | None, dtype: str) -> Imm | None:
    """Rounding the float64 result again is exact for + - * / and square root: float64 has more than twice the digits of float32."""
    if value is None or not math.isfinite(value):
        return None
    if dtype == "float64":
        return Imm(value, dtype)
    try:
        return Imm(struct.unpack("f", struct.pack("f", value))[0], dtype)
    except OverflowError:
        return None
