"""Effects of a CTA as phases of each of its warpgroups, in cycles of what an SM shares.

While matrix instructions run, they read and write accumulators in the register file, and the vector instructions of other warps are dispatched more
slowly: measured one pipe at a time, and the mixture follows from the sum over its instructions (`Wgmma.beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusim import effects as fx
from gpusim.devices.cta import LG, MEMBAR, SHORT
from gpusim.parts.tensor_core import mma_sync_cycles, product_cycles, wgmma_cycles
from gpusim.spec.resolve import Machine

#: what vector work takes of a sub-core, and of the SM's shared memory
RESOURCES = ("dispatch", "alu", "xu", "tensor", "shared", "lines")
WARPS = 4
#: cycles of dispatch for an instruction, measured with independent ones: 1.19 with one warp on a sub-core, 1.06 with two (decide.json overlap, FFMA alone)
DISPATCH = 1.12


@dataclass(frozen=True, slots=True)
class Busy:
    """Vector work: cycles that it holds each of RESOURCES `alone` and `beside` matrix instructions, `latency` that nothing hides, `count` instructions;
    `stolen`: tensor cycles that it takes from matrix instructions beside it."""

    alone: tuple[float, ...]
    beside: tuple[float, ...]
    latency: float
    count: float
    stolen: float = 0.0


@dataclass(frozen=True, slots=True)
class Multiply:
    """Asynchronous products: tensor `cycles`, of which `share` multiply (the rest waits for operands), `shared` passes of shared memory a cycle,
    and how many `instructions` they are."""

    cycles: float
    share: float
    shared: float
    instructions: float

    @property
    def each(self) -> float:
        """Cycles of one instruction."""
        return self.cycles / self.instructions


@dataclass(frozen=True, slots=True)
class WaitMultiply:
    """Until all products of the warpgroup are done and `drain` cycles more."""

    drain: float


@dataclass(frozen=True, slots=True)
class Room:
    """Until at most `most` matrix instructions of the SM are outstanding."""

    most: float


@dataclass(frozen=True, slots=True)
class Meet:
    """Until all warpgroups of the CTA are here, and `cycles` more."""

    cycles: float


@dataclass(frozen=True, slots=True)
class Pause:
    """`cycles` that go to `reason`."""

    cycles: float
    reason: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """`bytes` asked for by the warpgroup; they land `latency` cycles after they could leave L2 (`miss` more where DRAM has them). `group`: they
    count for WaitLanded as one copy; otherwise for WaitLoaded. `issue`: cycles that
    the load-store unit takes its instructions."""

    bytes: float
    latency: float
    group: bool
    issue: float


@dataclass(frozen=True, slots=True)
class WaitLanded:
    """Until at most `pending` copies have not landed."""

    pending: int


@dataclass(frozen=True, slots=True)
class WaitLoaded:
    """Until all loads have landed."""


Phase = Busy | Multiply | WaitMultiply | Room | Meet | Pause | Fetch | WaitLanded | WaitLoaded


def phases(effects: Iterable[Any], machine: Machine, warps: int, element: Mapping[str, int]) -> tuple[Phase, ...]:
    """What each warpgroup of a CTA of `warps` warps does. element: bytes of an element, by tensor. Commit is part of its copy."""
    make = _Maker(machine, warps, element)
    return tuple(p for e in effects if type(e) in make.table for p in make.table[type(e)](e))


class _Maker:
    """groups: warpgroups of the CTA; share: warps of one of them on each sub-core."""

    def __init__(self, machine: Machine, warps: int, element: Mapping[str, int]) -> None:
        self.machine, self.warps, self.element = machine, warps, element
        self.groups, self.share = max(1, warps // WARPS), min(warps, WARPS) / machine.subcores
        self.table: dict[type, Callable[[Any], tuple[Phase, ...]]] = {
            fx.Vector: self.vector,
            fx.Matrix: self.matrix,
            fx.WaitMatrix: lambda e: (WaitMultiply(machine.wgmma.latency if machine.wgmma else 0.0),),
            fx.Barrier: lambda e: (Meet(machine.barrier_base + machine.barrier_per_warp * warps),),
            fx.Fence: lambda e: (Pause(machine.fence, MEMBAR),),
            fx.Shared: lambda e: (Pause(e.wavefronts * 128 / machine.shared_rate + machine.shared_latency, SHORT),),
            fx.Copy: self.copy,
            fx.Load: self.load,
            fx.Local: self.local,
            fx.Store: self.store,
            fx.WaitCopies: lambda e: (WaitLanded(e.pending),),
            fx.WaitLoads: lambda e: (WaitLoaded(),),
        }

    def vector(self, e: fx.Vector) -> tuple[Phase, ...]:
        m, s = self.machine, self.share
        change = m.simt.pipe_change * e.changes
        xu = m.simt.interval["xu"]
        alone = (s * DISPATCH * (e.count + change), s * m.alu_slots * (e.alu + e.tests), s * xu * e.xu, 0.0, 0.0, 0.0)
        beside, stolen = alone, 0.0
        if m.wgmma and m.wgmma.beside:
            b = m.wgmma.beside
            dispatch = b["fma"] * e.fma + b["other"] * (e.alu + e.xu) + b["wide"] * e.wide + e.uniform + e.tests
            beside = (s * dispatch, s * (b["alu"] * e.alu + m.alu_slots * e.tests), s * b["xu"] * e.xu, 0.0, 0.0, 0.0)
            stolen = s * b["steal"] * e.dense
        return (Busy(alone, beside, e.latency, e.count, stolen),)

    def matrix(self, e: fx.Matrix) -> tuple[Phase, ...]:
        if e.kind != "wgmma":
            return self.mma_sync(e)
        m, unit = self.machine, self.machine.wgmma
        assert unit is not None
        count = e.count / self.groups
        each = wgmma_cycles(m, e.fmt, e.m, e.n, e.k, e.registers)
        ports = unit.operand_per_n * e.n + (0.0 if e.registers else unit.operand_base)
        made = Multiply(count * each, product_cycles(m, e.fmt, e.m, e.n, e.k) / each, ports / each, count)
        return (made, Room(unit.queue))

    def mma_sync(self, e: fx.Matrix) -> tuple[Phase, ...]:
        """Warps multiply and load operands in turn; they go on when the last product is there."""
        m, unit = self.machine, self.machine.mma_sync
        tensor = e.count / self.groups * mma_sync_cycles(m, e.fmt, e.m, e.n, e.k)
        issued = e.loads + e.count / self.warps
        taken = (self.share * issued, 0.0, 0.0, tensor, e.wavefronts / self.groups * 128 / m.shared_rate, 0.0)
        return (Busy(taken, taken, m.shared_latency + unit.latency, issued),)

    def copy(self, e: fx.Copy) -> tuple[Phase, ...]:
        return (self.fetch(e, True, self.machine.l2_latency + self.machine.cp_async_latency, 1.0),)

    def load(self, e: fx.Load) -> tuple[Phase, ...]:
        return (self.fetch(e, False, self.machine.l2_latency, 1.0 / e.parts),)

    def fetch(self, e: fx.Copy | fx.Load, group: bool, latency: float, share: float) -> Fetch:
        """What one of the warpgroups asks for."""
        size = share * e.box.shape[0] * e.box.shape[-1] * self.element[e.box.tensor] / self.groups
        if isinstance(e, fx.Copy) and e.engine:
            return Fetch(size, latency, group, 0.0)
        return Fetch(size, latency, group, size / (e.piece * 32 * self.machine.subcores) * self.machine.simt.interval["lsu"])

    def local(self, e: fx.Local) -> tuple[Phase, ...]:
        """Spilled registers: a line a warp and access through the L1's tag stage."""
        m, each = self.machine, e.loads + e.stores
        lines = each * self.warps / self.groups / m.l1_line_rate
        taken = (self.share * each, 0.0, 0.0, 0.0, 0.0, lines)
        return (Busy(taken, taken, m.simt.latency["LDL"], each),)

    def store(self, e: fx.Store) -> tuple[Phase, ...]:
        """Stores of a loop: the warps go on when they have left the SM."""
        size = e.box.shape[0] * e.box.shape[-1] * self.element[e.box.tensor] / self.groups
        return (Pause(size / self.machine.store_rate, LG),)
