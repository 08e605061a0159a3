"""What stays between launches: where arrays lie, and what L2 holds of them."""

from __future__ import annotations

from gpusim.spec.device import GpuSpec


class MemoryState:
    """Device memory and L2 of one chip, for launches that follow each other.

    l2: what L2 holds before the first launch: "cold" (nothing of ours, all clean), "foreign-clean" (the same by another name),
    "foreign-dirty" (full of another kernel's dirty lines).
    """

    def __init__(self, spec: GpuSpec, l2: str = "cold") -> None:
        self.spec = spec
        self.l2 = l2
