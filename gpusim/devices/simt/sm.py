"""One SM: CTAs in their slots, four sub-cores, the shared memory pipeline, barriers. `run_sm` is the entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import nextafter

from gpusim.devices.simt.asynchronous import AsyncUnit
from gpusim.devices.simt.barriers import Barriers, Cta
from gpusim.devices.simt.costs import (
    ASYNC,
    BARRIER,
    CLUSTER,
    COPIES,
    ENDING,
    FENCE,
    GRID,
    MATRICES,
    PIPES,
    PRODUCTS,
    ROUND,
    Compiled,
    Issue,
    caches,
    compile_code,
)
from gpusim.devices.simt.ledger import line_costs
from gpusim.devices.simt.matrix import Products
from gpusim.devices.simt.memory import MemoryPath, Surroundings
from gpusim.devices.simt.result import REASONS, CtaTimes, Moment, SmRun
from gpusim.devices.simt.room import Room, covered, places
from gpusim.devices.simt.shared import SharedPipe
from gpusim.devices.simt.spin import Spin
from gpusim.devices.simt.subcore import INF, SubCore, Warp
from gpusim.errors import GpusimError
from gpusim.lower.simt.code import Code
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import CtaPath

_DRAIN, _LONG, _BRANCH, _MATH, _MIO, _LG, _NO_INSTRUCTION = (
    REASONS.index(r) for r in ("drain", "long_scoreboard", "branch_resolving", "math_pipe_throttle", "mio_throttle", "lg_throttle", "no_instruction")
)
_LG_OPS = frozenset(("LDG", "STG", "LDL", "STL", "ATOMG", "RED"))

_GMMA = REASONS.index("gmma")

PathOf = Sequence[CtaPath] | Callable[[int], CtaPath | None]


def run_sm(
    code: Code,
    ctas: PathOf,
    ctas_per_sm: int,
    machine: Machine,
    memory: Surroundings | None = None,
    *,
    room: Room | None = None,
    timeline: bool = False,
) -> SmRun:
    """Time of the CTAs that one SM runs, in this order, at most `ctas_per_sm` whole ones at once; with `room`, a CTA starts where warps have ended.

    ctas: their paths, or a function that gives the i-th path and None behind the last. Raises GpusimError if warps wait for each
    other for ever, or for an instruction without a cost.
    """
    if ctas_per_sm < 1:
        raise GpusimError(f"ctas_per_sm is {ctas_per_sm}; an SM must hold at least one CTA")
    return Sm(compile_code(code, machine), ctas, ctas_per_sm, machine, memory or Surroundings(), room, timeline).run(code)


class Sm:
    """State of the run. `why`, `stalls`, `waited`, `throttle` are what the sub-cores read and write in their loop;
    woken: warps of other sub-cores became ready just now, so that the one that runs must look who is next."""

    def __init__(self, compiled: Compiled, ctas: PathOf, slots: int, machine: Machine, around: Surroundings, room: Room | None, timeline: bool) -> None:
        simt = machine.simt
        self.compiled, self.machine, self.slots, self.room = compiled, machine, slots, room
        self.paths = ctas if callable(ctas) else (lambda i: ctas[i] if i < len(ctas) else None)
        self.why = compiled.why
        self.stalls = [0.0] * len(REASONS)
        self.waited = [[0.0] * len(REASONS) for _ in compiled.lines]
        self.throttle = [_MIO if name in ("lsu", "adu") else _MATH for name in PIPES]
        self.memory = MemoryPath(machine, around)
        self.pipe = SharedPipe(machine, self.memory, compiled.position)
        self.barriers = Barriers(self, machine)
        self.asynchronous = AsyncUnit(machine, self.memory, self.pipe, self.barriers.resume)
        self.subcores = [SubCore(self) for _ in range(machine.subcores)]
        self.products = Products(machine)
        self.cores = {id(c): i for i, c in enumerate(self.subcores)}
        self.fetch, self.caches = simt.code_fetch, caches(compiled, machine)
        self.population = [0] * machine.subcores
        self.branch, self.diverged, self.switch = simt.branch, simt.branch + simt.split, simt.side_switch
        self.cross = simt.pipe_change
        self.between = max(machine.cta_change, 0.0)
        self.dispatch = machine.per_cta * around.active_sms
        self.dispatched = self.starting = -INF
        self.next_cta = self.age = self.running = 0
        self.upcoming = self.paths(0)
        self.woken = False
        self.life = 0.0
        self.done: list[Cta] = []
        self.owner: dict[int, Cta] = {}
        self.passes = [0] * len(compiled.blocks)
        self.lanes = [0] * len(compiled.blocks)
        self.moments: list[Moment] | None = [] if timeline else None

    def run(self, code: Code) -> SmRun:
        for _ in range(self.slots):
            self._launch(0.0)
        cores = self.subcores
        while True:
            (first, number), (rest, other) = sorted((c.time, i) for i, c in enumerate(cores))[:2]
            if first == INF:
                break
            cores[number].run(rest if number < other else nextafter(rest, 0.0))
        if self.running:
            raise GpusimError(
                f"{self.running} CTAs never end: their warps wait at barriers that not all warps of the CTA reach",
                hint="run with values first; the sanitizer names the line",
            )
        return self._result(code)

    def horizon(self, core: SubCore, limit: float) -> float:
        """How far `core` may run ahead of the others, which are at `limit`: nothing they do can make one of its warps ready before.

        A barrier takes its time behind the last arrival, and a new CTA the time of a change of CTAs behind the last exit.
        """
        far = limit + self.between if self.upcoming is not None else INF
        return min(far, limit + self.barriers.base) if core.parked else far

    def _launch(self, t: float) -> None:
        """Start the next CTA, not before t."""
        path = self.upcoming
        if path is None:
            return
        self.next_cta += 1
        self.upcoming = self.paths(self.next_cta)
        start = max(t, self.dispatched + self.dispatch) if self.next_cta > self.slots else t
        self.dispatched = start
        start = max(start, self.starting)
        self.starting = start + len(path.warps) * self.machine.simt.warp_launch
        cta = Cta(path.cta, start, len(path.warps))
        self.running += 1
        self.woken = True
        changed: dict[int, float] = {}
        where = places(self.population, self.next_cta, len(path.warps))
        for number, warp_path in enumerate(path.warps):
            warp = Warp(self.age, self.next_cta, path.cta, number, warp_path, self.compiled.registers, start)
            self.age += 1
            place = where[number]
            self.population[place] += 1
            self.owner[warp.age] = cta
            core = self.subcores[place]
            warp.subcore, warp.spin = place, Spin(changed)
            gap, _ = self.enter(warp, start, 0.0, 0)
            if gap >= 0:
                warp.ins = warp.code[0]
                warp.ready = start
                core.add(warp, start)

    def enter(self, warp: Warp, t: float, gap: float, why: int) -> tuple[float, int]:
        """Move `warp`, which issued the end of its block at t, to its next block with instructions: (cycles from t to the next issue, reason).
        A negative first value: the warp is gone."""
        path, at = warp.path, warp.at
        blocks, masks = path.blocks, path.masks
        mask = masks[at] if at >= 0 else 0
        jumped = at >= 0 and warp.ins[12].op == "BRA"
        while True:
            at += 1
            if at >= len(blocks):
                warp.at = at
                self._exit(warp, t)
                return -1.0, why
            block, now = blocks[at], masks[at]
            self.passes[block] += 1
            self.lanes[block] += now.bit_count()
            if self.moments is not None:
                self.moments.append(Moment(warp.cta, warp.number, t + 1, block, now))
            if now & ~mask and mask & ~now:
                gap, why = max(gap, self.switch), _BRANCH
            elif jumped:
                gap, why = max(gap, self.diverged if mask & ~now else self.branch), _BRANCH
            code = self.compiled.blocks[block]
            if code:
                if self.caches and not self.caches[warp.subcore].enter(block) and why == _BRANCH:
                    gap, why = gap + self.fetch, _NO_INSTRUCTION
                warp.at, warp.code, warp.pc = at, code, 0
                return gap, why
            mask = now

    def shared(self, core: SubCore, warp: Warp, ins: Issue, t: float) -> bool:
        """Issue an instruction that the SM's shared parts execute. True: the warp waits for others and comes back later."""
        if ins[0] in (BARRIER, GRID, CLUSTER):
            self.barriers.arrive(core, warp, ins, t, self.owner[warp.age])
            return True
        if ins[0] == ASYNC:
            return self.asynchronous.issue(core, warp, ins, t, self.owner[warp.age])
        if ins[0] == FENCE:
            core.advance(warp, t, self.asynchronous.fence(warp, t, ins[11]), ins[13])
            return True
        if ins[0] in (COPIES, PRODUCTS):
            groups, why = (warp.groups, _LONG) if ins[0] == COPIES else (warp.product_groups, _GMMA)
            done = max(groups[: len(groups) - ins[12].bits], default=t)
            core.advance(warp, t, max(ins[11], done - t), why)
            return True
        if ins[0] == ROUND:
            if warp.spin.waiting:
                warp.pc = self.compiled.restart[ins[8]] - 1
            core.advance(warp, t, ins[11], ins[13])
            return True
        if ins[0] == MATRICES:
            self.products.multiply(core, warp, ins, t)
            return False
        if ins[0] == ENDING:
            return False
        free, done = self.pipe.issue(warp, ins, t)
        core.free[ins[1]] = max(core.free[ins[1]], free)
        self.throttle[ins[1]] = _LG if ins[12].op in _LG_OPS else _MIO
        regs = warp.regs
        for d in ins[5]:
            regs[d] = done
        return False

    def _exit(self, warp: Warp, t: float) -> None:
        cta = self.owner.pop(warp.age)
        end = max(t + 1, warp.drained)
        gone = max(end, warp.last + self.machine.simt.warp_end)
        self.stalls[_DRAIN] += gone - warp.last
        self.stalls[_NO_INSTRUCTION] += self.machine.simt.warp_start
        self.life += gone - cta.start + self.machine.simt.warp_start
        cta.end, cta.gone = max(cta.end, end), max(cta.gone, gone)
        cta.alive -= 1
        self.population[warp.subcore] -= 1
        if cta.alive == 0:
            self.done.append(cta)
            self.running -= 1
            if self.room is None:
                self._launch(cta.end + self.between)
            while self.room is not None and self.upcoming is not None and self._fits(self.room, self.upcoming):
                self._launch(cta.end + self.between)
        elif cta.waiting and len(cta.waiting) == cta.alive:
            self.barriers.meet(cta)

    def _fits(self, room: Room, path: CtaPath) -> bool:
        return room.fits(self.population, self.running, places(self.population, self.next_cta + 1, len(path.warps)))

    def _result(self, code: Code) -> SmRun:
        issued = sum(n * len(b) for n, b in zip(self.passes, self.compiled.blocks, strict=True))
        self.stalls = [a + sum(row[i] for row in self.waited) for i, a in enumerate(self.stalls)]
        self.stalls[0] = float(issued)
        fetching = self.stalls[_BRANCH] * self.machine.simt.branch_fetch
        self.stalls[_BRANCH] -= fetching
        self.stalls[_NO_INSTRUCTION] += fetching
        busy = [sum(c.busy[p] for c in self.subcores) for p in range(len(PIPES))]
        return SmRun(
            cycles=max(max((c.end for c in self.done), default=0.0), self.memory.settled),
            ctas=tuple(sorted((CtaTimes(c.number, c.start, c.end) for c in self.done), key=lambda c: (c.start, c.cta))),
            instructions=issued,
            stalls={name: v for name, v in zip(REASONS, self.stalls, strict=True) if v},
            warp_cycles=self.life,
            lines=line_costs(self.compiled, self.passes, self.lanes, self.waited),
            busy={name: v for name, v in zip(PIPES, busy, strict=True) if v},
            wavefronts=self.pipe.busy,
            l1_hits=self.memory.l1.hits,
            l1_misses=self.memory.l1.misses,
            l2_sectors=self.memory.l2_sectors,
            l2_received=self.memory.l2_received,
            dram_sectors=self.memory.dram_sectors,
            active=covered((c.start - self.machine.simt.warp_start, c.gone + self.machine.simt.cta_end) for c in self.done),
            timeline=tuple(self.moments or ()),
        )
