"""How many bytes of each sector of a line were written: four counts in one number, for many lines at once.

The count of sector i is byte i; 32 is a whole sector, and no count is more. Masks have one bit for each sector.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any  # np.ndarray

#: bytes of a sector
WHOLE = 32
_ONES = np.uint32(0x01010101)
#: the counts that a mask means, all bits of them
_OF = np.array([sum(0xFF << 8 * bit for bit in range(4) if m >> bit & 1) for m in range(16)], np.uint32)
#: moves bit 8 i to bit 24 + i
_GATHER = np.uint32(sum(1 << 24 - 7 * i for i in range(4)))


def put(counts: Array, masks: Array, value: int) -> Array:
    """The counts, those of `masks` replaced by `value`."""
    at = _OF[masks]
    return (counts & ~at) | (at & (_ONES * np.uint32(value)))


def add(counts: Array, lines: Array, sectors: Array, nbytes: Array) -> Array:
    """The counts of distinct ascending `lines`, with so many bytes more of distinct `sectors` of these lines."""
    own = sectors >> 2
    more = np.minimum(nbytes, WHOLE) << 8 * (sectors & 3)
    if len(own) != len(lines) or (own != lines).any():
        more = np.bincount(np.searchsorted(lines, own), more, len(lines))
    total = counts + more.astype(np.uint32)
    whole = _whole(total)
    return (total & ~(whole * np.uint32(0xFF))) | (whole * np.uint32(WHOLE))


def short(counts: Array) -> Array:
    """Masks of the sectors that were not written whole."""
    found: Array = ((~_whole(counts) & _ONES) * _GATHER >> np.uint32(24)).astype(np.uint8) & np.uint8(15)
    return found


def _whole(counts: Array) -> Array:
    """1 in every count of 32 to 64."""
    return (counts >> np.uint32(5) | counts >> np.uint32(6)) & _ONES
