"""The memory pipeline that the sub-cores of an SM share: shared memory, L1, shuffles, constants loaded by index.

L1 and shared memory are one memory of 32 banks. A load takes as many cycles as the worst bank has words to give, or as the worst bank of tags has
lines to look up, and one cycle more when a line that it hits is still on its way (tests/hardware/data/l1-tags.md).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any

from gpusim.devices.simt.asynchronous import cluster_part
from gpusim.devices.simt.constant import ConstantPath
from gpusim.devices.simt.costs import Issue
from gpusim.devices.simt.memory import MemoryPath
from gpusim.devices.simt.spin import READ, SWAP
from gpusim.lower.simt.code import Instr
from gpusim.parts.tags import tag_cycles
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Touch

if TYPE_CHECKING:
    from gpusim.devices.simt.subcore import Warp

_NOTHING = Touch(-1, 0, (), 0)
LANES, WAVEFRONT = 32, 128

_SHARED = frozenset(("LDS", "LDSM", "STS", "ATOMS", "ATOMS.CAS", "ATOMS.POPC"))
#: lanes of half a warp
_HALF = 16
#: bits of a load that one lane gets back in a cycle: micro.json latency/shared, one lane: 23, 23 and 24 cycles for 4, 8 and 16 bytes
_LANE_BITS = 64


class SharedPipe:
    """One data stage that takes a wavefront a cycle, in the order in which instructions are issued. A sub-core may have
    `depth` cycles of work waiting there; then it issues no more of it."""

    __slots__ = (
        "free", "busy", "depth", "memory", "position", "handlers", "per_wavefront", "copy_latency", "constant", "width", "register", "machine", "remote",
    )  # fmt: skip

    def __init__(self, machine: Machine, memory: MemoryPath, position: dict[int, int]) -> None:
        simt = machine.simt
        self.free = self.busy = 0.0
        self.depth = simt.queue
        self.memory, self.position = memory, position
        self.copy_latency = machine.cp_async_latency
        self.per_wavefront = simt.latency_per_wavefront
        self.width = machine.shared_rate
        self.register = simt.interval.get("STS.64", simt.interval["lsu"]) - simt.interval["lsu"]
        self.constant = ConstantPath(machine)
        self.machine, self.remote = machine, 0.0
        handlers: dict[str, Callable[[Warp, Issue, Touch, float], float]] = {
            "LDS": self._shared_load,
            "LDSM": self._shared_load,
            "STS": self._shared_store,
            "ATOMS": self._shared_atomic,
            "ATOMS.CAS": self._shared_atomic,
            SWAP: self._swap,
            "ATOMS.POPC": self._shared_store,
            "LDG": self._load,
            "LDGSTS": self._copy,
            "LDGDEPBAR": self._commit,
            "STG": self._store,
            "STL": self._local,
            "LDL": self._local,
            "ATOMG": self._atomic,
            "RED": self._atomic,
            "LD": self._cluster_load,
            "ST": self._cluster_store,
            "ATOM": self._cluster_load,
        }
        self.handlers = handlers

    def issue(self, warp: Warp, ins: Issue, t: float) -> tuple[float, float]:
        """(when the sub-core may send the next such instruction, when the result is there)."""
        instr = ins[12]
        touch = self.touch(warp, ins)
        if instr.op in ("LDC", "ULDC"):
            return self.constant.load(ins, touch, t, self.depth)
        handler = self.handlers.get(instr.op)
        if handler is None:
            done = self._stage(t, max(1, touch.wavefronts)) + ins[4] - 1
        elif not touch.lanes and (instr.access is not None or instr.op == "LDS"):
            return t + 1, t + 1  # no lane takes part: under a false predicate
        elif instr.op == READ and touch.words:
            touch = Touch(touch.access, touch.lanes, (), warp.spin.start(touch))
            done = self._shared_load(warp, ins, touch, t)
            warp.spin.read = self.free
        else:
            done = handler(warp, ins, touch, t)
        return max(t + ins[3], t + self._port(instr.op, touch), self.free - self.depth), done

    def _port(self, op: str, touch: Touch) -> float:
        """Cycles that the sub-core is busy with the wavefronts of one access to shared memory; other sub-cores' go in between."""
        return self.per_wavefront * max(touch.wavefronts, touch.same) if op in _SHARED else 0.0

    def touch(self, warp: Warp, ins: Issue) -> Touch:
        """What the instruction touches in the warp's present block."""
        access = ins[12].access
        return _NOTHING if access is None else warp.path.touches[warp.at][self.position[access]]

    def take(self, t: float, cycles: float) -> float:
        """Work of so many cycles for the memory pipeline that arrives at t: when it is through."""
        return self._stage(t, cycles)

    def _stage(self, t: float, cycles: float) -> float:
        """Book the data stage; returns when the last wavefront is through."""
        self.busy += cycles
        self.free = end = (self.free if self.free > t else t) + cycles
        return end

    def _shared_load(self, _warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        waves = max(1, touch.wavefronts)
        return self._stage(t, waves) - waves + ins[4] + (waves - 1) * self.per_wavefront + self._return(ins[12], touch.lanes)

    def _return(self, instr: Instr, lanes: int) -> int:
        """Further cycles until all of a wide load is in registers: a cycle takes one wavefront, and 8 bytes a lane. Matrices go back as they come."""
        if instr.bits <= 32 or instr.op == "LDSM":
            return 0
        return max(ceil(lanes * instr.bits / 8 / self.width), -(-instr.bits // _LANE_BITS)) - 1

    def _shared_store(self, _warp: Warp, _ins: Issue, touch: Touch, t: float) -> float:
        return self._stage(t, touch.wavefronts)

    def _shared_atomic(self, _warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        """Lanes that want one bank come one after the other, the halves of a warp too."""
        waves = max(touch.wavefronts, touch.same)
        steps = waves - 1 + (touch.lanes > _HALF)
        return self._stage(t, waves) - waves + ins[4] + steps * self.per_wavefront

    def _swap(self, warp: Warp, ins: Issue, _touch: Touch, t: float) -> float:
        """One wavefront, however many lanes there are. It has more registers to send than the read before it, so it comes later."""
        end = self._stage(t, 1)
        warp.spin.swap(end + ins[3] - self.register)
        return end - 1 + ins[4]

    def _cluster_load(self, _warp: Warp, _ins: Issue, touch: Any, t: float) -> float:
        """Shared memory of the cluster. The SM gets as many requests from others as it makes, so each takes its own data stage twice."""
        clusters = cluster_part(self.machine)
        waves = max(touch.wavefronts, touch.same)
        far = touch.remote > 0
        end = self._stage(t, waves * 2 if far else waves)
        if not far:
            return end - waves + clusters.own_latency + (waves - 1) * self.per_wavefront
        self.remote = max(self.remote, t) + waves * WAVEFRONT / clusters.remote_bytes_per_cycle * min(1.0, touch.lanes / LANES)
        first = max(end - waves * 2, self.remote - WAVEFRONT / clusters.remote_bytes_per_cycle * min(1.0, touch.lanes / LANES))
        return first + clusters.remote_latency + (waves - 1) * self.per_wavefront

    def _cluster_store(self, warp: Warp, ins: Issue, touch: Any, t: float) -> float:
        warp.drained = max(warp.drained, self._cluster_load(warp, ins, touch, t))
        return t + 1

    def _load(self, _warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        cycles = max(1, touch.wavefronts, tag_cycles({s >> 2 for s in touch.sectors}))
        looked = self._stage(t, cycles) - 1
        done, left = self.memory.load(touch, looked, ins[12].cached)
        if not left and done > looked + self.memory.l1_latency:
            self._stage(t, 1)
        return done + (-(-ins[12].bits // _LANE_BITS) - 1)

    def _copy(self, warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        done = self._load(warp, ins, touch, t) + self.copy_latency
        warp.copies = max(warp.copies, done)
        return done

    def _commit(self, warp: Warp, _ins: Issue, _touch: Touch, t: float) -> float:
        warp.groups.append(warp.copies)
        return t + 1

    def _local(self, _warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        """Through the L1, which keeps what is written. A word of all lanes is a line. Spilled registers are taken to be there."""
        lines = max(1, len({s >> 2 for s in touch.sectors}))
        start = self._stage(t, lines) - lines
        if ins[12].op == "STL" or not touch.sectors:
            self.memory.l1.write(touch.sectors)
            return start + ins[4]
        done, _left = self.memory.load(touch, start)
        return done - self.memory.l1_latency + ins[4]

    def _store(self, warp: Warp, _ins: Issue, touch: Touch, t: float) -> float:
        lines = max(1, len({s >> 2 for s in touch.sectors}))
        done = self.memory.store(touch, self._stage(t, lines))
        warp.drained = max(warp.drained, done)
        return done

    def _atomic(self, warp: Warp, ins: Issue, touch: Touch, t: float) -> float:
        lines = max(1, len({s >> 2 for s in touch.sectors}))
        done = self.memory.atomic(touch, self._stage(t, lines))
        if not ins[5]:
            warp.drained = max(warp.drained, done)
        return done
