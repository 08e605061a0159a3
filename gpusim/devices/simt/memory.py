"""What an SM sees of memory: its L1, and its share of L2 and DRAM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gpusim.engine.noise import tail
from gpusim.errors import GpusimError
from gpusim.parts.crowded import CrowdedServer
from gpusim.parts.l1 import SectoredL1
from gpusim.parts.noc import offsets
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Touch

#: lines in flight that are kept before those that have arrived are forgotten
_MANY = 4096
#: bytes of a page of memory
PAGE = 2 << 20
#: bytes of an operand of an atomic
WORD = 4
#: cycles of DRAM's or of L2's intake's work that may wait before a store has to. Assumed: nothing measured says how much
WRITE_ROOM = 4000.0


#: where a sector is: near half, far half, DRAM behind the near half or behind the far half, on its way from there because somebody else asked before
NEAR, FAR, DRAM, FAR_DRAM, FLYING, FAR_FLYING = range(6)


def from_l2(_sector: int) -> int:
    """Every sector is in the near half."""
    return NEAR


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the launch around it means for one SM.

    sm: its number. active_sms: SMs that share L2 and DRAM with it. where: sector id -> level. per_read, per_stored: cycles that this SM's share of DRAM
    works for a sector from there, and for one that is stored or changed; per_step: that its share of L2 works for a step of an atomic.
    received: number of an Access -> share of its requests that L2 receives, where those of several SMs merge. in_gpc: SMs that share its
    GPC's port to L2 with it. evicting: cycles that reads from DRAM wait on average for dirty lines to leave. l1_bytes: what shared memory leaves.
    filled: sectors that are read from DRAM to fill up others, for each that a store writes in part.
    """

    sm: int = 0
    active_sms: int = 1
    where: Callable[[int], int] = from_l2
    per_read: float = 0.0
    per_stored: float = 0.0
    per_step: float = 0.0
    received: Mapping[int, float] = field(default_factory=dict)
    evicting: float = 0.0
    in_gpc: int = 1
    l1_bytes: int = 128 * 1024
    filled: float = 0.0


def _gpc_rate(machine: Machine, sm: int) -> float:
    """Bytes a cycle into the GPC that `sm` belongs to, with all groups of SMs in it that are dealt apart."""
    if sm >= machine.sms:
        raise GpusimError(f"SM {sm}; {machine.name} has {machine.sms}")
    groups = list(zip(machine.gpc_number, machine.gpc_sms, strict=True))
    mine = [number for number, size in groups for _ in range(size)][sm]
    return machine.gpc_rate or machine.gpc_rate_per_sm * sum(size for number, size in groups if number == mine)


def _twice(touch: Touch) -> int:
    """Sectors of a store that take two slots of L2's intake: all of one that writes no two of a line; of one that writes whole ones, those at its edges
    that it shares with the next warp's store. Evidence: stores of 128 bytes that begin one to seven words behind a line, 3 whole and 2 cut sectors, take
    7 / 4 of the time of aligned ones; such that begin one sector behind it 3.5 % more than those (micro.json global/offset)."""
    number = len(touch.sectors)
    if len({s >> 2 for s in touch.sectors}) == number:
        return number
    return touch.partial if touch.partial < number else 0


class MemoryPath:
    """The way of global requests from the L1 tag stage on. Times are SM cycles; `load` and the others are called in time order."""

    def __init__(self, machine: Machine, around: Surroundings) -> None:
        simt = machine.simt
        share, sector = max(1, around.active_sms), machine.sector
        self.l1 = SectoredL1.of(machine, around.l1_bytes)
        self.offset = offsets(machine, around.sm)
        self.where = around.where
        self.l1_latency = machine.l1_latency
        self.l2_latency = machine.l2_latency
        self.far_latency = far = machine.far_latency
        near = machine.dram_latency + around.evicting
        self.behind = {DRAM: near, FAR_DRAM: near + far, FLYING: near, FAR_FLYING: near + far}
        self.in_piece = (machine.dram.piece // sector).bit_length() - 1
        self.per_read, self.per_stored = around.per_read, around.per_stored
        self.in_page, self.per_page = (PAGE // sector).bit_length() - 1, simt.page
        self.spread = simt.dram_spread
        self.l2 = CrowdedServer(simt.l2_wait)
        self.dram = CrowdedServer(simt.dram_wait, share)
        self.out, self.taken_in = CrowdedServer(0.0), CrowdedServer(0.0, share)
        port = around.in_gpc * sector / _gpc_rate(machine, around.sm)
        self.per_filled, self.per_sector = sector / machine.fill_rate, max(port, share * sector / machine.l2_read_rate)
        self.received = around.received
        self.per_request = share / simt.l2_request_rate
        self.per_written = sector / machine.store_rate
        self.per_taken, self.filled = share * sector / machine.l2_write_rate, around.filled
        self.write_room = WRITE_ROOM
        self.changing = CrowdedServer(0.0)
        self.per_step = around.per_step or share / simt.atomic_rate
        self.atomic_latency = simt.atomic_latency
        self.per_turn = share / simt.atomic_step
        self.per_operand = share * WORD / machine.l2_read_rate
        self.l2_sectors = self.dram_sectors = 0
        self.l2_received = 0.0
        self.flying: dict[int, float] = {}

    def load(self, touch: Touch, t: float, cached: bool = True) -> tuple[float, bool]:
        """(time at which the last sector is there, whether it left the SM) for a load whose tag stage ends at t."""
        sectors = touch.sectors
        missing = self.l1.read(sectors) if cached else list(sectors)
        done = t + self.l1_latency
        flying = self.flying
        if flying and len(missing) < len(sectors):
            done = max(done, *[flying.get(s >> 2, 0.0) for s in sectors])
        if not missing:
            return done, False
        arrival = self._fetch(missing, max(t, self.out.free), self.received.get(touch.access, 1.0))
        self._remember(missing, arrival, t)
        return max(done, arrival), True

    def _remember(self, sectors: Sequence[int], arrival: float, now: float) -> None:
        """Lines on their way: who asks for one again waits for it."""
        flying = self.flying
        if len(flying) > _MANY:
            self.flying = flying = {line: time for line, time in flying.items() if time > now}
        for s in sectors:
            flying[s >> 2] = arrival

    def _fetch(self, sectors: Sequence[int], t: float, received: float) -> float:
        touched = {s >> 2 for s in sectors}
        lines = len(touched)
        self.l2_sectors += len(sectors)
        self.l2_received += len(sectors) * received
        where = self.where
        levels = [where(s) for s in sectors]
        through = self.l2.book(t, max(len(sectors) * max(self.per_filled, self.per_sector * received), lines * self.per_request * received))
        done = through + self.l2_latency + max(map(self.offset, touched))
        worst = max(levels)
        if worst == NEAR:
            return done
        if worst == FAR:
            return done + self.far_latency
        cold = {s >> self.in_piece: level for s, level in zip(sectors, levels, strict=True) if level >= DRAM}
        fetched = sum(DRAM <= level <= FAR_DRAM for level in levels)
        self.dram_sectors += fetched
        done += max(self.dram.book(through, fetched * self.per_read), self.taken_in.book(through, fetched * self.per_taken)) - through
        done += (len({s >> self.in_page for s in sectors}) - 1) * self.per_page
        return done + max(self.spread * (tail(piece) - 1.0) + self.behind[level] for piece, level in cold.items())

    def store(self, touch: Touch, t: float) -> float:
        """The time at which the store has left the SM. L2 takes in what is stored and what comes from DRAM at one rate, that both share: also what fills up
        sectors that were written in part. What is written back takes DRAM's time. Either holds the SM up only when `write_room` cycles of it wait."""
        self.l1.write(touch.sectors, not touch.partial)
        slots = len(touch.sectors) + _twice(touch)
        sent = self.out.book(t, len(touch.sectors) * self.per_written)
        sent = max(sent, self.taken_in.book(t, (slots + touch.partial * self.filled) * self.per_taken) - self.write_room)
        if self.per_stored:
            sent = max(sent, self.dram.book(t, len(touch.sectors) * self.per_stored) - self.write_room)
        return sent

    @property
    def settled(self) -> float:
        """When L2 has taken in all that this SM stored."""
        return self.taken_in.free

    def grid_barrier(self, ctas: int) -> float:
        """Cycles from the last arrival at a barrier of the grid until it is seen, for `ctas` CTAs on each SM.

        An atomic round trip to a counter in L2, where every CTA takes its turn, and the load that sees the last arrival. The fence behind
        it makes L1 forget what it holds.
        """
        self.l1.clear()
        return 2 * self.l2_latency + ctas * self.per_turn

    def atomic(self, touch: Touch, t: float) -> float:
        """The time at which old values are back: each sector takes a step in its slice of L2, where the line is at home, and lanes on one word as many
        as they are."""
        self.l1.drop(touch.sectors)
        steps = len(touch.sectors) + touch.same - 1
        done = self.changing.book(t, steps * self.per_step + touch.lanes * self.per_operand)
        if self.per_stored:
            done = max(done, self.dram.book(t, len(touch.sectors) * self.per_stored) - self.write_room)
        where = max(map(self.where, touch.sectors))
        away = self.far_latency if where == FAR else self.behind.get(where, 0.0)
        return done + self.l2_latency + self.atomic_latency + max(self.offset(s >> 2) for s in touch.sectors) + away
