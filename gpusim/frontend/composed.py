# mypy: allow-untyped-defs
"""Functions of kernels that are written as kernels are: each call takes one in as a device function."""

from __future__ import annotations

import math

from gpusim.cuda.intrinsics import libdevice


def rounded(x, digits):
    """round(x, digits): to even where x lies in the middle. As Numba: by powers of ten, not by CPython's decimal text."""
    if math.isinf(x) or math.isnan(x):
        return x
    if digits >= 0:
        # 10**22 is the last power of ten that float64 holds exactly
        low = 10.0 ** (digits - 22) if digits > 22 else 10.0**digits
        high = 1e22 if digits > 22 else 1.0
        y = (x * low) * high
        if math.isinf(y):
            return x
        return (libdevice.rint(y) / high) / low
    scale = 10.0 ** (-digits)
    return libdevice.rint(x / scale) * scale


def remainder(x, y):
    """x - n y for the whole number n nearest to x / y, the even one of two (IEEE 754)."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0.0:
        return math.nan
    if math.isinf(y):
        return x
    size = math.fabs(y)
    r = math.fmod(math.fabs(x), size)
    rest = size - r
    if r > rest:
        r = -rest
    elif r == rest:
        r = r - 2.0 * math.fmod(0.5 * (math.fabs(x) - r), size)
    return math.copysign(1.0, x) * r
