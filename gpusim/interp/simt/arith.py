"""The pure operations as NumPy expressions: name -> a template over arguments and, where needed, the destination's type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = Any


def _bfloat16() -> Any:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


DTYPES: dict[str, Any] = {
    **{name: np.dtype(name) for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()},
    "bfloat16": _bfloat16(),
}


def is_int(dtype: Any) -> bool:
    return dtype.kind in "iu"


def idiv(a: Array, b: Array) -> Array:
    """C's quotient: truncated for integers (0 where b is 0), a / b for floats."""
    if not is_int(a.dtype):
        return np.divide(a, b)
    return np.where(b == 0, a.dtype.type(0), np.floor_divide(a - np.fmod(a, b), b))


def rem(a: Array, b: Array) -> Array:
    return np.fmod(a, b)


def shl(a: Array, b: Array) -> Array:
    bits = a.dtype.itemsize * 8
    big = (b < 0) | (b >= bits)
    return (
        np.where(big, a.dtype.type(0), np.left_shift(a, np.where(big, b.dtype.type(0), b).astype(a.dtype)))
        if big.any()
        else np.left_shift(a, b).astype(a.dtype)
    )


def index_at(offset: Array, size: Array) -> Array:
    """The index of the element at a byte offset; one that no array has where none begins there, so that the access is out of bounds."""
    index = offset // size
    return np.where(index * size == offset, index, np.iinfo(offset.dtype).max >> 1)


def shr(a: Array, b: Array) -> Array:
    """Arithmetic for signed types; a shift of the width or more leaves the sign."""
    bits = a.dtype.itemsize * 8
    big = (b < 0) | (b >= bits)
    if big.any():
        b = np.where(big, b.dtype.type(bits - 1), b)
        out = np.right_shift(a, b.astype(a.dtype))
        return out if a.dtype.kind == "i" else np.where(big, a.dtype.type(0), out)
    return np.right_shift(a, b).astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    if not is_int(a.dtype):
        return np.power(a, b)
    negative = b < 0
    out = np.power(a, np.where(negative, b.dtype.type(0), b)).astype(a.dtype)
    if not negative.any():
        return out
    small = np.where(a == 1, 1, np.where((a == -1), np.where(b % 2 == 0, 1, -1), 0)).astype(a.dtype)
    return np.where(negative, small, out)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c, rounded once (through a wider type)."""
    if is_int(a.dtype):
        return a * b + c
    if a.dtype == np.float32:  # the casts in NumPy's buffers, not through memory
        product = np.multiply(a, b, dtype=np.float64)
        out = np.empty(np.broadcast_shapes(product.shape, c.shape), np.float32)
        return np.add(product, c, out=out, dtype=np.float64, casting="same_kind")
    wide = np.longdouble if a.dtype == np.float64 else np.float64
    return (a.astype(wide) * b.astype(wide) + c.astype(wide)).astype(a.dtype)


def mulhi(a: Array, b: Array) -> Array:
    if a.dtype.itemsize == 4:
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        return (a.astype(wide) * b.astype(wide) >> wide(32)).astype(a.dtype)
    return ((a.astype(object) * b.astype(object)) >> 64).astype(a.dtype)


def wide(a: Array, f: Any) -> Array:
    """f in float64 for the narrow types, rounded."""
    return f(a.astype(np.float64)).astype(a.dtype)


def scalar(a: Array, f: Any) -> Array:
    """f of Python floats, element by element."""
    out = np.array([_safe(f, x) for x in a.astype(np.float64).ravel().tolist()], np.float64)
    return out.reshape(a.shape).astype(a.dtype)


def _safe(f: Any, x: float) -> float:
    try:
        return float(f(x))
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if f in (math.gamma, math.lgamma) and (x == 0 or x == -math.inf and f is math.lgamma) else math.nan


def _unsigned(a: Array) -> Array:
    return a.view(np.dtype(f"u{a.dtype.itemsize}"))


def popc(a: Array) -> Array:
    return _popcount(_unsigned(a)).astype(a.dtype)


def _popcount(u: Array) -> Array:
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(u)
    return np.unpackbits(np.ascontiguousarray(u).view(np.uint8).reshape(*u.shape, -1), axis=-1).sum(axis=-1)


def bfind(a: Array) -> Array:
    """Position of the highest set bit (of ~a for negative values), -1 for none."""
    u = _unsigned(np.where(a < 0, ~a, a) if a.dtype.kind == "i" else a).astype(np.uint64)
    for shift in (1, 2, 4, 8, 16, 32):
        u = u | (u >> np.uint64(shift))
    return (_popcount(u).astype(np.int64) - 1).astype(a.dtype)


def clz(a: Array) -> Array:
    bits = a.dtype.itemsize * 8
    return (bits - 1 - bfind(_unsigned(a)).astype(np.dtype(f"i{a.dtype.itemsize}"))).astype(a.dtype)


def ffs(a: Array) -> Array:
    """1 + position of the lowest set bit, 0 for none."""
    u = _unsigned(a)
    low = u & (~u + u.dtype.type(1))
    return np.where(u == 0, 0, bfind(low).astype(np.int64) + 1).astype(a.dtype)


def brev(a: Array) -> Array:
    raw = np.ascontiguousarray(a)[..., None].view(np.uint8)
    bits = np.unpackbits(raw[..., ::-1], axis=-1)[..., ::-1]
    return np.packbits(bits, axis=-1)[..., ::-1].copy().view(a.dtype)[..., 0]


def prmt(a: Array, b: Array, selector: Array) -> Array:
    """Four bytes of the eight in (b, a), chosen by nibbles; bit 3 of a nibble spreads the byte's sign."""
    both = a.astype(np.uint32).astype(np.uint64) | b.astype(np.uint32).astype(np.uint64) << np.uint64(32)
    out = np.zeros(np.broadcast_shapes(both.shape, selector.shape), np.uint64)
    for i in range(4):
        nibble = (selector.astype(np.uint64) >> np.uint64(4 * i)) & np.uint64(15)
        byte = (both >> (np.uint64(8) * (nibble & np.uint64(7)))) & np.uint64(255)
        byte = np.where(nibble & np.uint64(8), (byte >> np.uint64(7)) * np.uint64(255), byte)
        out |= byte << np.uint64(8 * i)
    return out.astype(np.uint32).astype(a.dtype)


def cvt(a: Array, dtype: Any) -> Array:
    """Value conversion; a float outside of the integer's range saturates and NaN gives 0, as the machine does."""
    if not is_int(dtype) or a.dtype.kind in "iub":
        return a.astype(dtype)
    info = np.iinfo(dtype)
    x = np.trunc(a.astype(np.float64))
    low, high = x < info.min, x >= float(info.max)
    if low.any() or high.any() or np.isnan(x).any():
        body = np.where(low | high | np.isnan(x), 0.0, x).astype(dtype)
        return np.where(high, dtype.type(info.max), np.where(low, dtype.type(info.min), body))
    return x.astype(dtype)


def pack(low: Array, high: Array, dtype: Any) -> Array:
    """Two 16-bit values in a uint32; float32 arguments become bfloat16 first."""
    if low.dtype == np.float32:
        low, high = low.astype(DTYPES["bfloat16"]), high.astype(DTYPES["bfloat16"])
    bits = [np.ascontiguousarray(x).view(np.uint16).astype(np.uint32) for x in (low, high)]
    return (bits[0] | bits[1] << np.uint32(16)).astype(np.uint32).view(dtype)


def unpack(a: Array, shift: int, dtype: Any) -> Array:
    return (np.ascontiguousarray(a).view(np.uint32) >> np.uint32(shift)).astype(np.uint16).view(dtype)


def bitcast(a: Array, dtype: Any) -> Array:
    return np.array(a, order="C").view(dtype)


def fminimum(a: Array, b: Array) -> Array:
    return np.minimum(a, b) if a.dtype.kind in "iub" else np.fmin(a, b)


def fmaximum(a: Array, b: Array) -> Array:
    return np.maximum(a, b) if a.dtype.kind in "iub" else np.fmax(a, b)


TEMPLATES: dict[str, str] = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "not": "~{0}",
    "neg": "-{0}",
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "lt": "{0} < {1}",
    "le": "{0} <= {1}",
    "gt": "{0} > {1}",
    "ge": "{0} >= {1}",
    "mov": "{0}.copy()",
    "select": "np.where({0}, {1}, {2})",
    "div": "A.idiv({0}, {1})",
    "rem": "A.rem({0}, {1})",
    "floordiv": "np.floor_divide({0}, {1})",
    "mod": "np.remainder({0}, {1})",
    "min": "A.fminimum({0}, {1})",
    "max": "A.fmaximum({0}, {1})",
    "shl": "A.shl({0}, {1})",
    "shr": "A.shr({0}, {1})",
    "pow": "A.power({0}, {1})",
    "atan2": "np.arctan2({0}, {1})",
    "hypot": "np.hypot({0}, {1})",
    "fmod": "np.fmod({0}, {1})",
    "copysign": "np.copysign({0}, {1})",
    "mulhi": "A.mulhi({0}, {1})",
    "fdividef": "{0} / {1}",
    "approx.div": "{0} / {1}",
    "fma": "A.fma({0}, {1}, {2})",
    "wrap": "np.where({0} < 0, {0} + {1}, {0})",
    "index.at": "A.index_at({0}, {1})",
    "prmt": "A.prmt({0}, {1}, {2})",
    "rsqrt": "A.wide({0}, lambda x: 1.0 / np.sqrt(x))",
    "rcp": "np.reciprocal({0})",
    "round": "np.rint({0})",
    "abs": "np.abs({0})",
    "asin": "np.arcsin({0})",
    "acos": "np.arccos({0})",
    "atan": "np.arctan({0})",
    "asinh": "np.arcsinh({0})",
    "acosh": "np.arccosh({0})",
    "atanh": "np.arctanh({0})",
    "popc": "A.popc({0})",
    "clz": "A.clz({0})",
    "ffs": "A.ffs({0})",
    "brev": "A.brev({0})",
    "bfind": "A.bfind({0})",
    "cvt": "A.cvt({0}, {d})",
    "bitcast": "A.bitcast({0}, {d})",
    "pack": "A.pack({0}, {1}, {d})",
    "unpack.lo": "A.unpack({0}, 0, {d})",
    "unpack.hi": "A.unpack({0}, 16, {d})",
    "mul.wide": "{0}.astype({d}) * {1}.astype({d})",
    "approx.ex2": "np.exp2({0})",
    "fast.ex2": "np.exp2({0})",
    "approx.lg2": "np.log2({0})",
    "approx.rcp": "np.reciprocal({0})",
    "approx.rsqrt": "A.wide({0}, lambda x: 1.0 / np.sqrt(x))",
    "approx.sqrt": "np.sqrt({0})",
    "approx.sin": "np.sin({0})",
    "approx.cos": "np.cos({0})",
    "approx.tanh": "np.tanh({0})",
    **{
        name: f"np.{name}({{0}})"
        for name in "sqrt floor ceil trunc exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh isnan isinf isfinite".split()
    },
    **{name: f"A.scalar({{0}}, math.{name})" for name in "erf erfc gamma lgamma".split()},
}

DIVISIONS = ("div", "rem", "floordiv", "mod")
