"""One CTA in time: a handler per effect, each moves the CTA's own clock and books what it shares.

A handler runs ahead of the simulation clock as long as nothing shared is touched; before it touches something shared (the
memory system, a tensor core that other CTAs use) the CTA waits until the simulation has come as far (`SYNC`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

import simpy

from gpusim import effects as fx
from gpusim.devices.memory import Memory
from gpusim.devices.stream import Placed, Stream
from gpusim.engine.clock import until
from gpusim.engine.noise import noise
from gpusim.parts.sm import Sm
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles
from gpusim.spec.resolve import Machine

#: stall reasons with Nsight's names; the spans of a CTA tile its life
REASONS = (
    "selected",
    "wait",
    "barrier",
    "long_scoreboard",
    "short_scoreboard",
    "lg_throttle",
    "math_pipe_throttle",
    "gmma",
    "membar",
    "drain",
    "no_instruction",
)
SELECTED, WAIT, BARRIER, LONG, SHORT, LG, MATH, GMMA, MEMBAR, DRAIN, NO_INSTRUCTION = range(len(REASONS))


#: share of a sub-core's issue slots that the other CTAs of the SM can take from one
MOST_TAKEN = 0.9
#: a tile is cut into at most this many parts that are looked up apart
MOST_PARTS = 64


class Cta:
    """What one CTA remembers: its clock `t`, its tiles, copies and matrix groups not yet waited for, its spans, and the
    sectors it asked for that were merged (`merging`: of them, those in the steady window)."""

    __slots__ = ("number", "sm", "t", "placed", "landing", "loaded", "groups", "matrix", "life", "begun", "marks", "window", "merged", "merging")

    def __init__(self, number: int, sm: Sm, t: float, placed: list[Placed]) -> None:
        self.number, self.sm, self.t, self.placed = number, sm, t, placed
        self.begun = t
        self.landing = self.loaded = 0.0
        self.groups: deque[float] = deque()
        self.matrix: deque[float] = deque()
        self.life = [0.0] * len(REASONS)
        self.marks: list[float] = []
        self.window: list[float] = []
        self.merged = self.merging = 0.0

    def spend(self, reason: int, end: float) -> None:
        """The time until `end` (if that is later) went to `reason`."""
        if end > self.t:
            self.life[reason] += end - self.t
            self.t = end


class Executor:
    """Runs the CTAs of one stream on one machine."""

    def __init__(self, env: simpy.Environment, machine: Machine, memory: Memory, made: Stream) -> None:
        self.env, self.machine, self.memory, self.stream = env, machine, memory, made
        self.warps = made.warps
        self.jitter = min(1.0, machine.copy_jitter * (made.trips / len(made.steps)) ** 0.5)
        self.per_subcore = max(1.0, self.warps / machine.subcores)
        self.barrier_cycles = machine.barrier_base + machine.barrier_per_warp * self.warps
        self.instructions = self.tensor_fma = self.wavefronts = self.load_sectors = self.store_sectors = self.local_bytes = 0.0
        self.handlers: dict[type, Callable[[Cta, Any, int, int], None]] = {
            fx.Issue: self._issue,
            fx.Matrix: self._matrix,
            fx.WaitMatrix: self._wait_matrix,
            fx.Copy: self._copy,
            fx.Commit: self._commit,
            fx.WaitCopies: self._wait_copies,
            fx.Barrier: self._barrier,
            fx.Fence: self._fence,
            fx.Load: self._load,
            fx.WaitLoads: self._wait_loads,
            fx.Shared: self._shared,
            fx.Local: self._local,
            fx.Store: self._store,
        }
        self.prologue = self._compile(made.prologue)
        self.body = self._compile(made.body)
        self.epilogue = self._compile(made.epilogue)

    def _compile(self, effects: tuple[tuple[Any, int], ...]) -> list[tuple[bool, Any, Any, int]]:
        """(wait for the simulation first?, handler, effect, site): shared things are touched in time order."""
        out, before = [], None
        for effect, site in effects:
            shared = isinstance(effect, fx.Matrix | fx.Load | fx.Store | fx.Local | fx.Shared)
            first_copy = isinstance(effect, fx.Copy) and not isinstance(before, fx.Copy)
            out.append((shared or first_copy, self.handlers[type(effect)], effect, site))
            before = effect
        return out

    def run(self, cta: Cta) -> Generator[Any, Any, None]:
        """The life of `cta`, as a simpy process body."""
        env = self.env
        for sync, handler, effect, site in self.prologue:
            if sync and cta.t > env.now:
                yield until(env, cta.t)
            handler(cta, effect, site, 0)
        opens, closes = self.stream.window
        for j in range(len(self.stream.steps)):
            cta.marks.append(cta.t)
            if j == opens:
                cta.window, cta.merging = [-spent for spent in cta.life], -cta.merged
            elif j == closes:
                cta.window, cta.merging = [spent + before for spent, before in zip(cta.life, cta.window, strict=True)], cta.merging + cta.merged
            for sync, handler, effect, site in self.body:
                if sync and cta.t > env.now:
                    yield until(env, cta.t)
                handler(cta, effect, site, j)
        cta.marks.append(cta.t)
        for sync, handler, effect, site in self.epilogue:
            if sync and cta.t > env.now:
                yield until(env, cta.t)
            handler(cta, effect, site, 0)
        if cta.t > env.now:
            yield until(env, cta.t)

    # ---- instructions ----
    def _issue(self, cta: Cta, e: fx.Issue, site: int, j: int) -> None:
        self._instructions(cta, e.count, e.slots, e.wide, e.chain)

    def _instructions(self, cta: Cta, count: float, slots: float = 1.0, wide: float = 0.0, chain: float = fx.CHAIN) -> None:
        """A warp issues `count` instructions: dependent ones wait for each other, the warps of a sub-core take turns, and the
        other resident CTAs take their usual share of its slots (turns are so short that slots are shared, not queued for)."""
        m, sm = self.machine, cta.sm
        self.instructions += count * self.warps
        work = count * self.per_subcore * slots
        others = sm.issue.busy / (cta.t + 1.0) * (1.0 - 1.0 / sm.resident)
        sm.issue.busy += work
        alone = max(work, count * (1.0 + chain * (m.alu_latency - 1.0)))
        end = cta.t + max(alone, work / (1.0 - min(others, MOST_TAKEN)))
        selected = min(count, end - cta.t)
        cta.life[SELECTED] += selected
        cta.life[WAIT] += end - cta.t - selected
        if wide and m.wgmma and sm.tensor.free > cta.t:
            sm.tensor.free += wide * self.per_subcore * m.wgmma.wide_multiply_steal
        cta.t = end

    def _barrier(self, cta: Cta, e: fx.Barrier, site: int, j: int) -> None:
        cta.spend(BARRIER, cta.t + self.barrier_cycles)

    def _fence(self, cta: Cta, e: fx.Fence, site: int, j: int) -> None:
        cta.spend(MEMBAR, cta.t + self.machine.fence)

    # ---- matrix ----
    def _matrix(self, cta: Cta, e: fx.Matrix, site: int, j: int) -> None:
        self.tensor_fma += e.count * e.m * e.n * e.k
        if e.kind == "wgmma":
            self._wgmma(cta, e)
        else:
            self._mma_sync(cta, e)

    def _wgmma(self, cta: Cta, e: fx.Matrix) -> None:
        """Asynchronous; issue waits while the SM's queue of matrix instructions is full."""
        unit = self.machine.wgmma
        assert unit is not None
        each = wgmma_cycles(self.machine, e.fmt, e.m, e.n, e.k)
        end = cta.sm.tensor.book(cta.t, e.count * each)
        self.wavefronts += e.count * (unit.operand_base + unit.operand_per_n * e.n)
        cta.matrix.append(end + unit.latency)
        self._instructions(cta, e.among)
        cta.spend(MATH, end - unit.queue * each)

    def _mma_sync(self, cta: Cta, e: fx.Matrix) -> None:
        """Operands come from shared memory while earlier instructions multiply: a pipeline as slow as its slower part."""
        unit, m = self.machine.mma_sync, self.machine
        each = mma_sync_cycles(m, e.fmt, e.m, e.n, e.k)
        self.wavefronts += e.wavefronts
        begun = cta.t
        operands = cta.sm.shared.book(begun, e.wavefronts)
        end = max(operands, cta.sm.tensor.book(begun, e.count * each))
        cta.matrix.append(end + m.shared_latency + unit.latency)
        self._instructions(cta, e.loads + e.count / self.warps, chain=0.0)

    def _wait_matrix(self, cta: Cta, e: fx.WaitMatrix, site: int, j: int) -> None:
        while len(cta.matrix) > e.pending:
            cta.spend(GMMA, cta.matrix.popleft())

    # ---- global memory ----
    def _tile(self, cta: Cta, site: int, j: int) -> tuple[int, Any]:
        placed, k = cta.placed[site], self.stream.steps[j]
        touched = placed.touched(k)
        self.load_sectors += touched.sectors
        return (placed.key + k * placed.stride) * MOST_PARTS, touched

    def _copy(self, cta: Cta, e: fx.Copy, site: int, j: int) -> None:
        """Copies go out through the L1 tag stage; the warps are held while it is busy, and go on without the data."""
        if j + e.ahead >= len(self.stream.steps):
            self._instructions(cta, e.among.count, e.among.slots, e.among.wide)
            return
        key, touched = self._tile(cta, site, j + e.ahead)
        uneven = 1.0 + self.jitter * (2.0 * noise(cta.number << 20 | j << 4 | site) - 1.0)
        passed = cta.sm.l1.book(cta.t, touched.lines * uneven)
        cta.spend(LG, passed)
        self._instructions(cta, e.among.count, e.among.slots, e.among.wide)
        self.instructions += touched.instructions
        if touched.unique:
            landed = self._fetch(cta, key, touched.unique, touched.sectors, passed, self.machine.cp_async_latency)
            cta.landing = max(cta.landing, landed)

    def _fetch(self, cta: Cta, key: int, nbytes: float, sectors: float, issued: float, extra: float) -> float:
        """When the tile is in the SM; how much of it was merged is noted with the CTA."""
        before = self.memory.merged_sectors
        landed = self.memory.fetch(cta.sm, key, nbytes, sectors, self.env.now, issued, extra)
        cta.merged += self.memory.merged_sectors - before
        return landed

    def _commit(self, cta: Cta, e: fx.Commit, site: int, j: int) -> None:
        cta.groups.append(cta.landing)

    def _wait_copies(self, cta: Cta, e: fx.WaitCopies, site: int, j: int) -> None:
        while len(cta.groups) > e.pending:
            cta.spend(LONG, cta.groups.popleft())

    def _load(self, cta: Cta, e: fx.Load, site: int, j: int) -> None:
        """A part takes its share of the tile."""
        placed, k = cta.placed[site], self.stream.steps[j]
        touched, n = placed.touched(k), e.parts
        self.load_sectors += touched.sectors / n
        start = cta.t
        passed = cta.sm.l1.book(start, touched.lines / n)
        self._instructions(cta, touched.instructions / self.warps / n)
        cta.spend(LG, passed)
        if touched.unique:
            key = (placed.key + k * placed.stride) * MOST_PARTS + e.part * MOST_PARTS // n
            cta.loaded = max(cta.loaded, self._fetch(cta, key, touched.unique / n, touched.sectors / n, passed, 0.0))

    def _wait_loads(self, cta: Cta, e: fx.WaitLoads, site: int, j: int) -> None:
        cta.spend(LONG, cta.loaded)

    def _shared(self, cta: Cta, e: fx.Shared, site: int, j: int) -> None:
        self.wavefronts += e.wavefronts
        passed = cta.sm.shared.book(cta.t, e.wavefronts)
        self._instructions(cta, e.count)
        cta.spend(SHORT, passed + self.machine.shared_latency)

    def _local(self, cta: Cta, e: fx.Local, site: int, j: int) -> None:
        """Spilled registers: what does not fit L1 beside shared memory goes to L2 and back; stores are written through."""
        m, line = self.machine, self.machine.line
        loads, stores = e.loads * self.warps * line, e.stores * self.warps * line
        self.local_bytes += loads + stores
        room = max(0.0, m.l1_bytes - self.stream.shared_bytes)
        missing = loads if e.footprint > room else 0.0
        passed = cta.sm.l1.book(cta.t, (loads + stores) / line)
        self._instructions(cta, e.loads + e.stores)
        cta.spend(LG, passed)
        written = max(cta.sm.store.book(cta.t, stores), self.memory.write.book(cta.t, stores))
        cta.spend(LG, written)
        if missing:
            read = max(cta.sm.fill.book(cta.t, missing), self.memory.read.book(cta.t, missing))
            cta.spend(LONG, read + m.l2_latency)

    def _store(self, cta: Cta, e: fx.Store, site: int, j: int) -> None:
        placed = cta.placed[site]
        touched = placed.touched(0)
        self.store_sectors += touched.sectors
        cta.sm.l1.book(cta.t, touched.lines)
        self._instructions(cta, touched.instructions / self.warps)
        if touched.unique:
            cta.spend(DRAIN, self.memory.store(cta.sm, placed.key * MOST_PARTS, touched.unique, touched.sectors, cta.t))
