"""What stays between launches: where arrays lie in memory, and what L2 holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.launch.protocol import check_l2
from gpusim.launch.simt.args import ArraySpec, is_array, np_dtype
from gpusim.parts.sectored_l2 import SectoredL2
from gpusim.spec.device import GpuSpec

#: arrays begin at multiples of this, as the driver's allocations do
ALLOCATION = 512
#: the lowest address
FIRST = 2 << 20


@dataclass(frozen=True, slots=True)
class Foreign:
    """Of another kernel's dirty lines: bytes that a launch sends to DRAM; share of the lines it allocates that take the place of such a line."""

    nbytes: float = 0.0
    share: float = 0.0


class MemoryState:
    """Device memory and L2 of one chip, for launches that follow each other.

    l2: what L2 holds before the first launch (`launch.protocol.L2_STATES`). "warm" is a state only before a launch that is known, so it is
    the launch that makes it.
    """

    def __init__(self, spec: GpuSpec, l2: str = "cold", leftover: float = 0.0) -> None:
        """leftover: bytes of another kernel's dirty lines that are the oldest in L2: they leave when no place is empty any more."""
        check_l2(l2)
        self.places: dict[tuple[int, int], tuple[int, int, Any]] = {}
        self.top = FIRST
        l2_spec = spec.l2
        half = l2_spec.capacity * l2_spec.usable / l2_spec.halves
        dirty = l2_spec.capacity * l2_spec.dirty_share / l2_spec.halves
        block = max(1, spec.dram.piece // l2_spec.line)
        self.line = l2_spec.line
        self.cache = SectoredL2(0, l2_spec.halves, int(half // self.line), int(dirty // self.line), block, int(half * l2_spec.part_share // self.line))
        self.foreign = self.foreign_all = dirty * l2_spec.halves if l2 == "foreign-dirty" else leftover
        self.spare = dirty * l2_spec.halves - self.foreign_all

    @property
    def fresh(self) -> bool:
        """Whether no launch has used it yet."""
        return not self.places

    def evicted(self, allocated: int, soiled: float) -> Foreign:
        """What leaves of another kernel's dirty lines when a launch allocates so many lines and makes `soiled` bytes dirty.

        Clean ones leave before them, and empty places fill first. But L2 holds only so many dirty bytes, so new ones beyond send old ones to DRAM.
        """
        pushed = min(self.foreign, max(0.0, soiled - self.spare))
        room = self.cache.capacity * self.line - self.foreign_all
        lost = min(self.foreign - pushed, max(0.0, allocated * self.line - room))
        self.foreign -= pushed + lost
        return Foreign(pushed + lost, lost / (allocated * self.line) if allocated else 0.0)

    def addresses(self, args: Sequence[Any]) -> dict[int, int]:
        """Number of each array argument -> byte address of its first element. An array keeps its place from launch to launch."""
        out: dict[int, int] = {}
        for i, value in enumerate(args):
            if is_array(value):
                out[i] = self._address(value, sum(other is value for other in args[:i]))
        lines = -(-self.top // self.line)
        if lines > len(self.cache.dirty):
            self.cache.grow(lines)
        return out

    def _address(self, value: Any, turn: int) -> int:
        """turn: a shape that is given once more in one launch is one more array."""
        if isinstance(value, ArraySpec):
            return self._place(value, value.size * np_dtype(value.dtype).itemsize, 0, turn)[0]
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        low, high = np.lib.array_utils.byte_bounds(root)
        at, start = self._place(root, high - low, low)
        return at + (int(value.__array_interface__["data"][0]) - start if value.size else 0)

    def _place(self, owner: Any, nbytes: int, low: int, turn: int = 0) -> tuple[int, int]:
        """(address of `owner`, what the host calls its first byte)."""
        key = (id(owner), turn)
        if key not in self.places:
            self.places[key] = (self.top, low, owner)
            self.top += -(-(nbytes + 1) // ALLOCATION) * ALLOCATION
        at, start, _ = self.places[key]
        return at, start
