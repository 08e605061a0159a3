"""Number formats: how an element type is stored, in which NumPy type it is computed, and how a value is rounded to it.

The 8-bit and 16-bit formats are held as float32 and rounded whenever an op gives a tile of that type. Sum, difference, product, quotient and
square root are then rounded exactly as in the format itself, because float32 has more than twice its digits. tf32 is stored as
32 bits and loses its last 13 only where a Dot multiplies it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpusim.ir.functions import WHOLE
from gpusim.ir.types import DType

#: dtype -> NumPy type that holds its tiles during computation
COMPUTE = {
    **dict.fromkeys(("fp32", "tf32", "fp16", "bf16", "fp8e4m3", "fp8e5m2"), "float32"),
    **{name: name for name in WHOLE},
    "fp64": "float64",
    "bool": "bool",
}

#: dtype -> unit roundoff, half the distance from 1 to the next larger number
ROUNDOFF = {"fp8e4m3": 2.0**-4, "fp8e5m2": 2.0**-3, "fp16": 2.0**-11, "bf16": 2.0**-8, "tf32": 2.0**-11, "fp32": 2.0**-24, "fp64": 2.0**-53}


def storage(of: DType) -> np.dtype:
    """The NumPy dtype of a tensor of this element type."""
    if of.numpy in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, of.numpy))
    return np.dtype(of.numpy)


def rounded(values: np.ndarray, of: DType) -> np.ndarray:
    """A new array with `values` as a tile of `of` holds them, in the type that computes: nearest, ties to even, too large is inf.

    To int32 fractions are cut off; to bool everything but zero is true.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return values.astype(storage(of)).astype(COMPUTE[of.name], copy=False)


def settle(values: np.ndarray, of: DType) -> np.ndarray:
    """`rounded`, but `values` itself where the computing type is the format itself."""
    return values if values.dtype == storage(of) else rounded(values, of)


def round_mantissa(values: np.ndarray, bits: int) -> np.ndarray:
    """float32 `values` with the mantissa rounded to `bits` explicit bits, nearest, ties to even. inf and nan stay."""
    drop = 23 - bits
    raw = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    near = raw >> drop
    near &= 1  # odd numbers are rounded up at a tie
    near += raw
    near += (1 << (drop - 1)) - 1
    near &= 0xFFFFFFFF << drop & 0xFFFFFFFF
    strange = np.isnan(values)
    return np.where(strange, values, near.view(np.float32)) if strange.any() else near.view(np.float32)


def _tf32(values: np.ndarray) -> np.ndarray:
    return round_mantissa(values, 10)


#: matrix format -> what the matrix unit does to an operand before it multiplies
OPERAND: dict[str, Callable[[np.ndarray], np.ndarray]] = {"tf32": _tf32}
