"""A GPU put together: SMs in GPCs on one memory system, blocks dealt to slots, one process per slot."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from gpusim.devices.cta import NO_INSTRUCTION, REASONS, Cta, Executor
from gpusim.devices.handlers import HANDLERS
from gpusim.devices.memory import Memory
from gpusim.devices.persistent import worker
from gpusim.devices.stream import Placed, Stream
from gpusim.engine.clock import Clock
from gpusim.engine.noise import noise
from gpusim.engine.server import Server
from gpusim.parts.l2 import Half
from gpusim.parts.sm import Gpc, Sm
from gpusim.spec.resolve import Machine


@dataclass(frozen=True, slots=True)
class Life:
    """One finished CTA: where and when it lived, its spans by reason (order of REASONS), when each loop step began, and
    the spans of the stream's steady window; `merged` sectors of its requests never reached L2, `merging` of them in the window."""

    number: int
    sm: int
    begun: float
    ended: float
    spans: tuple[float, ...]
    marks: tuple[float, ...]
    window: tuple[float, ...]
    merged: float = 0.0
    merging: float = 0.0


@dataclass(frozen=True, slots=True)
class Timed:
    """A simulated launch: `end` in cycles after the first CTA could start, the lives in order of their ends, raw counts. tensor: for each SM,
    begin, end, begin, ... of every stretch that its tensor cores were booked for."""

    end: float
    lives: tuple[Life, ...]
    counts: dict[str, float]
    busy: dict[str, float]
    tensor: Sequence[Sequence[float]] = ()


class Gpu:
    """One launch of `made` on `machine`: constructing it wires the parts, `run` lets time pass. held: what L2 holds before it, if anything."""

    def __init__(self, machine: Machine, made: Stream, slots_per_sm: int, l2: str, scale: float = 1.0, held: Sequence[Half] | None = None) -> None:
        self.machine, self.stream = machine, made
        self.clock = Clock()
        self.memory = Memory(machine, l2, scale, held)
        self.gpcs = [Gpc(h % machine.halves, machine.gpc_rate_per_sm * n) for h, n in zip(machine.gpc_half, machine.gpc_sms, strict=True)]
        self.sms = [Sm(i, self.gpcs[g], machine) for i, g in enumerate(g for g, n in enumerate(machine.gpc_sms) for _ in range(n))]
        self.executor = Executor(self.clock, machine, self.memory, made, HANDLERS)
        self.slots_per_sm = slots_per_sm
        self.replace = Server(1.0 / machine.per_cta if machine.per_cta else float("inf"))
        self.lives: list[Life] = []
        self.ended = 0.0

    def run(self, ctas: Sequence[int], dealt: Sequence[int], ages: Sequence[float] = ()) -> Timed:
        """Simulate the blocks `ctas`: the first ones go to the SMs `dealt`, a freed slot takes the next. ages: loop steps that came before the first, second,
        ... wave of them; the last is that of all further waves."""
        slots = max(1, len(dealt))
        if self.stream.pipeline is not None:
            for i, place in enumerate(dealt[: len(ctas)]):
                self.clock.start(worker(self, self.sms[place], ctas[i::slots]))
            ctas = ()
        queue = iter([(number, ages[min(i // slots, len(ages) - 1)] if ages else i // slots * float(self.stream.trips)) for i, number in enumerate(ctas)])
        for sm, first in zip(dealt, queue, strict=False):
            self.clock.start(self._slot(self.sms[sm], first, queue))
        self.clock.run()
        counts = self._counts()
        end = max(self.ended, self.memory.last + self.machine.l2_latency + self.machine.far_latency)
        return Timed(end, tuple(self.lives), counts, self._busy(), self.executor.tensor_times)

    def _slot(self, sm: Sm, first: tuple[int, float], queue: Iterator[tuple[int, float]]) -> Generator[float, None, None]:
        """Blocks that live one after the other in one slot of an SM."""
        clock, made = self.clock, self.stream
        yield self.machine.start_spread * noise(first[0])
        following: tuple[int, float] | None = first
        sm.resident += 1
        while following is not None:
            number, age = following
            block = made.env(number)
            begun = clock.now
            if not sm.warm:
                sm.warm = True
                yield begun + self.machine.cold_fetch
            cta = Cta(number, sm, begun, [Placed(site, block, made.var, self.machine) for site in made.sites], age)
            cta.spend(NO_INSTRUCTION, clock.now)
            yield from self.executor.run(cta)
            self.finish(cta, cta.t)
            following = next(queue, None)
            if following is not None:
                yield max(self.replace.book(clock.now, 1.0), clock.now + self.machine.cta_change)
        sm.resident -= 1

    def finish(self, cta: Cta, ended: float) -> None:
        """Note the life of `cta`, which is over at `ended`."""
        life, marks, window = tuple(cta.life), tuple(cta.marks), tuple(cta.window)
        self.lives.append(Life(cta.number, cta.sm.index, cta.begun, ended, life, marks, window, cta.merged, cta.merging))
        self.ended = max(self.ended, ended)

    def _counts(self) -> dict[str, float]:
        x, m = self.executor, self.memory
        return {
            "instructions": x.instructions,
            "tensor_fma": x.tensor_fma,
            "l1_load_sectors": x.load_sectors,
            "l1_store_sectors": x.store_sectors,
            "shared_wavefronts": x.wavefronts,
            "spill_bytes": x.local_bytes,
            "merged_sectors": m.merged_sectors,
            "l2_read_sectors": m.read_sectors,
            "l2_write_sectors": m.write_sectors,
            "l2_hit_sectors": m.hit_sectors,
            "fabric_sectors": m.fabric_sectors,
            "dram_read_bytes": m.dram_read,
            "dram_write_bytes": m.dram_write,
            "l2_dirty_bytes": sum(h.dirty for h in m.halves),
        }

    def _busy(self) -> dict[str, float]:
        """Cycles that each kind of server was busy, per server of that kind."""
        n = len(self.sms)
        per_sm = {k: sum(getattr(sm, k).busy for sm in self.sms) / n for k in ("tensor", "issue", "l1", "shared", "fill", "store")}
        return per_sm | {"l2_read": self.memory.read.busy, "l2_write": self.memory.write.busy, "dram": self.memory.dram.busy}


__all__ = ["REASONS", "Gpu", "Life", "Timed"]
