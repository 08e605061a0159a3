"""Numba's rules for the types of results. Types go by the IR's names."""

from __future__ import annotations

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = ("float16", "bfloat16", "float32", "float64")

#: integers that do not widen float32: Numba takes uint16 for one in a variable, but not in an operation
_SMALL = ("bool", "int8", "uint8", "int16")

BITS = {
    "bool": 8, "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64,
}  # fmt: skip


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return BITS[dtype] // 8


def mixed_float(a: str, b: str) -> str:
    """The type of an operation on two numbers of which at least one is a float."""
    if is_float(a) and is_float(b):
        return a if a == b else max((a, b, "float32"), key=lambda t: BITS[t])
    number, other = (a, b) if is_float(a) else (b, a)
    return max((number, "float32"), key=lambda t: BITS[t]) if other in _SMALL and number != "float64" else "float64"


def integer_result(*dtypes: str) -> str:
    """64 bits wide; unsigned only if every operand is."""
    return "uint64" if all(t in UNSIGNED for t in dtypes) else "int64"


def arithmetic(a: str, b: str) -> str:
    """Result of + - * // % on two types."""
    return mixed_float(a, b) if is_float(a) or is_float(b) else integer_result(a, b)


def quotient(a: str, b: str) -> str:
    """Result of /."""
    return mixed_float(a, b) if is_float(a) or is_float(b) else "float64"


def bitwise(a: str, b: str) -> str | None:
    """Result of & | ^; None where there is none."""
    if a == b == "bool":
        return "bool"
    return None if is_float(a) or is_float(b) else integer_result(a, b)


def shift(a: str, b: str) -> str | None:
    """Result of << >>: the left operand decides the sign."""
    return None if is_float(a) or is_float(b) else integer_result(a)


def negated(a: str) -> str:
    return a if is_float(a) else integer_result(a)


def unify(a: str, b: str) -> str:
    """The type of a variable that may hold either."""
    if a == b:
        return a
    if {a, b} == {"uint16", "float32"}:
        return "float32"
    if is_float(a) or is_float(b):
        return mixed_float(a, b)
    if "bool" in (a, b):
        return b if a == "bool" else a
    if (a in SIGNED) == (b in SIGNED):
        return max(a, b, key=lambda t: BITS[t])
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if BITS[unsigned] < BITS[signed]:
        return signed
    return {8: "int16", 16: "int32", 32: "int64", 64: "float64"}[BITS[unsigned]]


def real(a: str) -> str:
    """The type in which a function of real numbers is computed for an argument of this type."""
    return a if is_float(a) else "float64"


def loop_type(dtypes: list[str]) -> str | None:
    """The type of the variable of a range over bounds of these types; None for floats."""
    if any(is_float(t) for t in dtypes):
        return None
    if all(t in UNSIGNED for t in dtypes):
        return "uint64"
    return "int32" if all(t in ("bool", "int8", "int16", "int32", "uint8", "uint16") for t in dtypes) else "int64"
