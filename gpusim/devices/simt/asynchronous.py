"""mbarriers, the bulk copy engine, and barriers of the cluster, as one SM sees them.

Only one SM is timed. The other CTAs of a cluster are taken to arrive when this one does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gpusim.devices.simt.memory import MemoryPath
from gpusim.devices.simt.result import REASONS
from gpusim.errors import GpusimError
from gpusim.spec.device import Bulk, Clusters
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Touch

if TYPE_CHECKING:
    from gpusim.devices.simt.barriers import Cta
    from gpusim.devices.simt.costs import Issue
    from gpusim.devices.simt.shared import SharedPipe
    from gpusim.devices.simt.subcore import SubCore, Warp

_LONG = REASONS.index("long_scoreboard")
#: the engine asks for so many bytes at a time
PIECE = 2048

Resume = Callable[["Warp", "SubCore", float, float, int], None]


class Mbarrier:
    """count: arrivals of a phase; pending, owed: arrivals and bytes still missing; last: when the latest of them came; done: ends of the phases
    that are complete; waiting: warps, with the number of complete phases that they wait for."""

    __slots__ = ("count", "pending", "owed", "last", "done", "waiting")

    def __init__(self, count: int, t: float) -> None:
        self.count = self.pending = count
        self.owed = 0
        self.last = t
        self.done: list[float] = []
        self.waiting: list[tuple[int, Warp, SubCore, float]] = []

    def came(self, t: float) -> bool:
        """Something that the phase waits for came at t: whether the phase is complete."""
        self.last = max(self.last, t)
        if self.pending > 0 or self.owed != 0:
            return False
        self.done.append(self.last)
        self.pending = self.count
        return True


class BulkEngine:
    """Copies in the order in which they are issued: a command every `interval` cycles, data at the engine's rate through L2."""

    def __init__(self, bulk: Bulk, memory: MemoryPath, sector: int) -> None:
        self.bulk, self.memory = bulk, memory
        self.per_sector, self.piece = sector / bulk.bytes_per_cycle, PIECE // sector
        self.free = self.stream = 0.0

    def copy(self, access: int, sectors: Sequence[int], t: float) -> float:
        """When the last byte of a copy that is issued at t has landed."""
        start = max(t, self.free)
        self.free = start + self.bulk.interval
        begin = max(start, self.stream)
        done = begin
        for first in range(0, len(sectors), self.piece):
            part: Any = sectors[first : first + self.piece]
            arrived, _ = self.memory.load(Touch(access, 1, part), begin + first * self.per_sector, cached=False)
            done = max(done, arrived)
        self.stream = begin + len(sectors) * self.per_sector
        return done + self.bulk.latency


class AsyncUnit:
    """Executes what the SM's warps do at mbarriers, with the bulk engine, and at barriers of the cluster. resume: lets a warp that waited go on."""

    def __init__(self, machine: Machine, memory: MemoryPath, pipe: SharedPipe, resume: Resume) -> None:
        self.machine, self.pipe, self.resume = machine, pipe, resume
        self.memory = memory
        self._engine: BulkEngine | None = None
        self.seen: dict[tuple[int, int], int] = {}
        self.fence_free = self.wake_free = 0.0

    @property
    def engine(self) -> BulkEngine:
        if self._engine is None:
            self._engine = BulkEngine(self.bulk, self.memory, self.machine.sector)
        return self._engine

    @property
    def bulk(self) -> Bulk:
        part: Bulk = _needed(self.machine.bulk, self.machine, "bulk copy engine", "copy_engines.bulk")
        return part

    def issue(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta) -> bool:
        """Issue the instruction at t. True: the warp waits, and comes back by itself."""
        instr = ins[12]
        touch: Any = self.pipe.touch(warp, ins)
        if not touch.lanes:
            return False
        return _HANDLERS[instr.op](self, core, warp, ins, t, cta, touch)

    def _make(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta, touch: Any) -> bool:
        cta.phases[touch.barrier] = Mbarrier(touch.amount, self.pipe.take(t, self.bulk.mbarrier_warp))
        return False

    def _arrive(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta, touch: Any) -> bool:
        one = cta.phases[touch.barrier]
        one.owed += touch.amount
        one.pending -= touch.same
        self._came(one, self.pipe.take(t, self.bulk.mbarrier_warp) + self.bulk.mbarrier_arrive)
        return False

    def _copy(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta, touch: Any) -> bool:
        one = cta.phases[touch.barrier]
        landed = self.engine.copy(touch.access, touch.sectors, t)
        one.owed -= touch.amount
        for d in ins[5]:
            warp.regs[d] = t + self.bulk.taken
        self._came(one, landed)
        return False

    def _came(self, one: Mbarrier, t: float) -> None:
        if not one.came(t):
            return
        still = []
        for entry in one.waiting:
            phases, warp, core, since = entry
            if phases <= len(one.done):
                self.wake_free = max(self.wake_free, one.done[phases - 1]) + self.bulk.mbarrier_warp
                self.resume(warp, core, since, self.wake_free + self.bulk.mbarrier_wake, _LONG)
            else:
                still.append(entry)
        one.waiting = still

    def _wait(self, core: SubCore, warp: Warp, ins: Issue, t: float, cta: Cta, touch: Any) -> bool:
        one = cta.phases[touch.barrier]
        key = (warp.age, touch.barrier)
        phases = self.seen[key] = self.seen.get(key, 0) + touch.amount
        seen = self.pipe.take(t, self.bulk.mbarrier_warp) + self.bulk.mbarrier_wake
        for d in ins[5]:
            warp.regs[d] = seen
        if phases > len(one.done):
            core.parked += 1
            one.waiting.append((phases, warp, core, t))
            return True
        ended = one.done[phases - 1] + self.bulk.mbarrier_wake if phases else seen
        core.advance(warp, t, max(seen, ended) - t, _LONG)
        return True

    # barriers of the cluster

    def fence(self, warp: Warp, t: float, gap: float) -> float:
        """Cycles until a warp's writes are known to the chip: those under way first, then a round trip; warps of the SM take turns."""
        clusters = self.machine.clusters
        start = max(t, self.fence_free, warp.drained + self.machine.l2_latency if warp.drained > warp.born else t)
        self.fence_free = start + (clusters.fence if clusters else 0.0)
        return start + gap - t

    def levels(self, ctas: int) -> int:
        """How many parts of the chip, one in another, a cluster spans: none, TPC, CPC, GPC."""
        clusters = cluster_part(self.machine)
        return sum(ctas > most for most in (1, self.machine.sms_per_tpc, clusters.sms_per_cpc))

    def barrier(self, ctas: int) -> float:
        """Cycles from the last arrival of a CTA's warp until its warps go on, for clusters of `ctas`."""
        clusters = cluster_part(self.machine)
        return clusters.barrier + self.levels(ctas) * clusters.barrier_level


def cluster_part(machine: Machine) -> Clusters:
    part: Clusters = _needed(machine.clusters, machine, "clusters", "chip.clusters")
    return part


def _needed(part: Any, machine: Machine, what: str, path: str) -> Any:
    if part is None:
        raise GpusimError(f"{machine.name} has no {what}.", where=machine.name, hint=f"Choose a GPU from compute capability 9.0 on, or add {path}.")
    return part


_HANDLERS: dict[str, Callable[..., bool]] = {
    "SYNCS.EXCH": AsyncUnit._make,
    "SYNCS.ARRIVE": AsyncUnit._arrive,
    "SYNCS.PHASECHK": AsyncUnit._wait,
    "UBLKCP": AsyncUnit._copy,
}
