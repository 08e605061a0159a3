"""Loads of constant arrays: one address at a time, from a cache of the SM or of the uniform pipe, or from the level behind both."""

from __future__ import annotations

from gpusim.devices.simt.costs import Issue
from gpusim.parts.constant import ConstantCache
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Touch


class ConstantPath:
    """`load` is called in time order. The level behind the caches is taken to hold all of constant memory: it is 64 KB at least."""

    __slots__ = ("free", "per_address", "caches", "missed", "per_line")

    def __init__(self, machine: Machine) -> None:
        simt = machine.simt
        self.free, self.per_address = 0.0, simt.constant_address
        self.per_line = max(1, simt.constant_line // machine.sector)
        indexed = ConstantCache(simt.constant_cache // simt.constant_line, simt.constant_ways)
        uniform = ConstantCache(simt.uniform_constants, simt.uniform_constants)
        self.caches = {"LDC": indexed, "ULDC": uniform}
        self.missed = {"LDC": simt.constant_miss, "ULDC": simt.uniform_constant_miss}

    def load(self, ins: Issue, touch: Touch, t: float, depth: float) -> tuple[float, float]:
        """(when the sub-core may send the next one, when the result is there). depth: cycles of work that may wait."""
        if not touch.lanes:
            return t + 1, t + 1
        op = ins[12].op
        late = self.missed[op] if self.caches[op].misses({s // self.per_line for s in touch.sectors}) else 0.0
        if op == "ULDC":
            return t + ins[3], t + ins[4] + late
        self.free = end = max(self.free, t) + touch.wavefronts * self.per_address
        return max(t + ins[3], end - depth), end - self.per_address + ins[4] + late
