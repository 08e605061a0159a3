"""Random-looking bits that every machine makes the same, as NumPy arrays."""

from __future__ import annotations

import numpy as np


def hash32(x: np.ndarray) -> np.ndarray:
    """A mixing of 32 bits (two rounds of xor-shift and multiply): uint32 of the shape of `x`."""
    x = x.astype(np.uint32, copy=True)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B), (16, 1)):
        x ^= x >> np.uint32(shift)
        x *= np.uint32(factor)
    return x
