"""How wide a copy may be: what the compiler can prove about contiguity and alignment."""

from __future__ import annotations

from gpusim.ir.ops import Box
from gpusim.ir.program import Tensor
from gpusim.lower.rules import SPECIALISED_MULTIPLE, VECTOR_BYTES


def pitch_known(t: Tensor) -> bool:
    """Whether rows start at a provable multiple of 16 elements."""
    return t.pitch % SPECIALISED_MULTIPLE == 0


def mask_known(box: Box, t: Tensor) -> bool:
    """Whether a mask along the row falls on multiples of 16 elements, so that it never cuts a vector."""
    return not box.masked or t.row_bound % SPECIALISED_MULTIPLE == 0


def piece_bytes(box: Box, t: Tensor) -> int:
    """Bytes one lane moves at once: a full vector, or one element where alignment or the mask is not provable."""
    if pitch_known(t) and mask_known(box, t):
        return min(VECTOR_BYTES, box.shape[-1] * t.dtype.bytes)
    return t.dtype.bytes
