"""Which type two operands meet in: the language's rules of promotion."""

from __future__ import annotations

from typing import Any

from gpusim.frontend.tiles.values import dtype_of, is_number
from gpusim.ir.functions import FLOATING, WHOLE

_RANK = {"bool": 0, **dict.fromkeys(WHOLE, 1), **dict.fromkeys(FLOATING, 2)}
_HALF = ("fp16", "bf16", "fp8e4m3", "fp8e5m2")


def kind(dtype: str) -> int:
    """0 for bool, 1 for integers, 2 for floating point."""
    return _RANK[dtype]


def common(a: Any, b: Any, division: bool = False) -> str:
    """The dtype in which a and b are computed. A plain number gives way to anything with a type of its own kind or a higher one."""
    ta, tb = dtype_of(a), dtype_of(b)
    if is_number(a) != is_number(b):
        weak, strong = (ta, tb) if is_number(a) else (tb, ta)
        if kind(weak) <= kind(strong):
            return "fp32" if division and strong in ("fp16", "bf16") else strong
    return _meet(ta, tb, division)


def _meet(a: str, b: str, division: bool) -> str:
    for wide in ("fp64", "fp32"):
        if wide in (a, b):
            return wide
    if "fp16" in (a, b):
        return "fp32" if division else "fp16"
    if "bf16" in (a, b):
        return "bf16" if not division and (a == b or kind(a) < 2 or kind(b) < 2) else "fp32"
    if a in _HALF or b in _HALF:
        return a if a == b else "fp16"
    return _integers(a, b)


def _integers(a: str, b: str) -> str:
    if a == b:
        return a
    if "bool" in (a, b):
        return b if a == "bool" else a
    bits = {t: int(t.lstrip("uint")) for t in (a, b)}
    if a.startswith("u") == b.startswith("u"):
        return a if bits[a] > bits[b] else b
    unsigned, signed = (a, b) if a.startswith("u") else (b, a)
    return unsigned if bits[unsigned] >= bits[signed] else signed
