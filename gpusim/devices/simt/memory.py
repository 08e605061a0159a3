"""What an SM sees of memory: its L1, and its share of L2 and DRAM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusim.parts.l1 import SectoredL1
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Touch


def from_l2(_sector: int) -> str:
    """Every sector is in L2."""
    return "l2"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """active_sms: SMs that share L2 and DRAM with this one. where: sector id -> "l2" or "dram". l1_bytes: what shared memory leaves."""

    active_sms: int = 1
    where: Callable[[int], str] = from_l2
    l1_bytes: int = 128 * 1024


class MemoryPath:
    """The way of global requests from the L1 tag stage on. Times are SM cycles; `load` and the others are called in time order."""

    __slots__ = ("l1", "where", "latency", "costs", "l2_free", "dram_free", "store_free", "l2_sectors", "dram_sectors", "atomic_word", "atomic_line", "words")

    def __init__(self, machine: Machine, around: Surroundings) -> None:
        simt = machine.simt
        share = max(1, around.active_sms)
        self.l1 = SectoredL1(around.l1_bytes // machine.line)
        self.where = around.where
        self.latency = (machine.l1_latency, machine.l2_latency + machine.far_latency / 4, machine.dram_latency, machine.dram_spread)
        sector = machine.sector
        self.costs = (
            max(sector / machine.fill_rate, share * sector / machine.l2_read_rate),
            share / simt.l2_request_rate,
            share * machine.dram_atom / machine.dram_rate,
            share / simt.dram_request_rate,
            max(sector / machine.store_rate, share * sector / machine.l2_write_rate),
        )
        self.l2_free = self.dram_free = self.store_free = 0.0
        self.l2_sectors = self.dram_sectors = 0
        self.atomic_word, self.atomic_line = simt.atomic_word, simt.atomic_line
        self.words = share

    def load(self, touch: Touch, t: float, cached: bool = True) -> tuple[float, bool]:
        """(time at which the last sector is there, whether it left the SM) for a load whose tag stage ends at t."""
        missing = self.l1.read(touch.sectors) if cached else list(touch.sectors)
        if not missing:
            return t + self.latency[0], False
        return self._fetch(missing, t), True

    def _fetch(self, sectors: Sequence[int], t: float) -> float:
        per_sector, per_request, per_atom, per_row, _ = self.costs
        lines = len({s >> 2 for s in sectors})
        far = [s for s in sectors if self.where(s) == "dram"]
        self.l2_sectors += len(sectors)
        self.l2_free = max(self.l2_free, t) + max(len(sectors) * per_sector, lines * per_request)
        done = self.l2_free + self.latency[1]
        if far:
            atoms = len({s >> 1 for s in far})
            rows = len({s >> 2 for s in far})
            self.dram_sectors += len(far)
            self.dram_free = max(self.dram_free, t) + max(atoms * per_atom, rows * per_row)
            done = max(done, self.dram_free + self.latency[1] + self.latency[2]) + self.latency[3] * (1 - 1 / rows)
        return done

    def store(self, touch: Touch, t: float) -> float:
        """The time at which the store has left the SM."""
        self.store_free = max(self.store_free, t) + len(touch.sectors) * self.costs[4]
        return self.store_free

    def atomic(self, touch: Touch, t: float) -> float:
        """The time at which old values are back. One word is changed `atomic_word` times a cycle, one line `atomic_line` times, by the whole chip."""
        self.l1.drop(touch.sectors)
        lines = max(1, len({s >> 2 for s in touch.sectors}))
        busy = max(len(touch.sectors) * self.costs[0], lines * self.costs[1], touch.same / self.atomic_word * self.words, touch.lanes / lines / self.atomic_line)
        self.l2_free = max(self.l2_free, t) + busy
        return self.l2_free + self.latency[1]
