"""Which lanes run next: those at the lowest block, so that lanes meet again at the immediate post-dominator.

Lanes that spin on memory without any effect let the others run in turn; lanes at a barrier wait for the live lanes of their CTA, or of all
CTAs where it is a barrier of the grid. No CTA may end without the latter: the hardware counts CTAs there.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpusim.interp.simt import recording
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Piece, constant
from gpusim.interp.simt.flow import Flow
from gpusim.interp.simt.groups import Group, union
from gpusim.interp.simt.machine import Machine
from gpusim.interp.simt.waits import Waits
from gpusim.ir.simt.nodes import Barrier, Reg
from gpusim.lower.simt.code import Branch, Jump

Array = Any
Key = tuple[int, int]  # block, piece of it
# Lanes in a loop that waits for memory give others a turn after PATIENCE passes in which nobody's memory and none of their registers changed,
# or, if a register counts the passes, after LONG. Nobody is served by GIVE_UP of the former or HOPELESS of the latter: a deadlock.
PATIENCE = {"atomic": 4, "load": 32}
LONG = {"atomic": 256, "load": 65536}
GIVE_UP = 2000
HOPELESS = 300_000


class Scheduler:
    def __init__(self, machine: Machine, flow: Flow) -> None:
        self.m, self.flow = machine, flow
        self.compiled = machine.launch.compiled
        self.blocks = self.compiled.code.blocks
        self.pending: dict[Key, list[Group]] = {}
        self.parked: dict[Key, list[Group]] = {}
        self.live = np.full(machine.space.ctas, machine.space.threads, np.int64)
        self.strayed: Array | None = None
        self.idle_passes, self.spun, self.seen = 0, 0, 0
        self.next_look = 0
        self.waits = Waits(machine)
        self.snapshots: dict[int, tuple[int, dict[int, Array]]] = {}
        self.last: Key = (-1, 0)

    def run(self) -> None:
        self._push((0, 0), Group(self.m.space))
        while self.pending:
            key = self._choose()
            self.last = key
            group = union(self.m.space, self.pending.pop(key))
            self._run(key, group)
            for ready in self.waits.released():
                self._push(*ready)
        self.waits.check()
        if self.parked:
            self._never_met()
        self.m.check_landed()

    def _push(self, key: Key, group: Group) -> None:
        self.pending.setdefault(key, []).append(group)

    def _choose(self) -> Key:
        lowest = min(self.pending)
        kind = self.flow.waiting[lowest[0]]
        if self.m.changes != self.seen:
            self.seen, self.idle_passes, self.spun, self.next_look = self.m.changes, 0, 0, 0
            return lowest
        if not kind or len(self.pending) == 1 or not self.spun and self.idle_passes < LONG[kind]:
            return lowest
        return min((k for k in self.pending if k > self.last), default=lowest)

    def _run(self, key: Key, g: Group) -> None:
        block, part = key
        if part == 0:
            self._enter(block, g)
        pieces = self.compiled.pieces[block]
        cond = pieces[part].run(self.m, g)
        while pieces[part].barrier is not None:
            if self.waits.concerns(pieces[part]):
                through = self.waits.through((block, part), pieces[part], g)
            else:
                through = g if self._barrier((block, part), pieces[part], g) else None
            if through is None:
                return
            g, part = through, part + 1
            cond = pieces[part].run(self.m, g)
        end = self.blocks[block].end
        if isinstance(end, Jump):
            self.m.counts.arrivals[end.to] += g.warps
            self._push((end.to, 0), g)
        elif isinstance(end, Branch):
            assert cond is not None
            for target, lanes in zip((end.yes, end.no), g.split(cond != 0 if cond.dtype != np.bool_ else cond), strict=True):
                if lanes is not None:
                    self.m.counts.arrivals[target] += lanes.warps
                    self._push((target, 0), lanes)
        else:
            self._exit(block, g)

    def _enter(self, block: int, g: Group) -> None:
        counts = self.m.counts
        counts.warps[block] += g.warps
        counts.lanes[block] += g.size
        if self.m.work is not None:
            self.m.issued(g, len(self.blocks[block].instrs))
        if len(self.m.record_rows):
            recording.begin(self.m, g, block)
        if self.parked and self.blocks[block].ops:
            self.strayed = g.mask.copy() if self.strayed is None else self.strayed | g.mask
        self._watch(block, g)

    def _watch(self, block: int, g: Group) -> None:
        """Count passes of lanes that spin; error when nobody can make progress any more."""
        kind = self.flow.waiting[block]
        if not kind:
            self.idle_passes, self.spun, self.next_look = 0, 0, 0
            return
        self.idle_passes += 1
        if self.idle_passes < max(PATIENCE[kind], self.next_look) or block not in self.flow.carried:
            return
        self.spun = self.spun + 1 if self._same_state(block, g) else 0
        if self.spun > GIVE_UP or self.idle_passes > HOPELESS:
            self._deadlock(block, g)

    def _same_state(self, block: int, g: Group) -> bool:
        """The lanes of g come to the end of the loop with the registers of the last time. If not, look again later, ever more rarely."""
        now = {r: np.array(g.get(self.m.regs[r])) for r in self.flow.carried[block] if self.m.regs[r] is not None}
        size, before = self.snapshots.get(block, (0, {}))
        self.snapshots[block] = (g.size, now)
        if size != g.size:
            return False
        if before.keys() == now.keys() and all(np.array_equal(before[r], v) for r, v in now.items()):
            return True
        self.next_look = self.idle_passes * 2
        del self.snapshots[block]
        return False

    def _exit(self, block: int, g: Group) -> None:
        self.live = self.live - g.per_cta
        self.m.changes += 1
        self.m.ended(g)
        if not self.parked:
            return
        if self.strayed is not None:
            for key, groups in self.parked.items():
                waiting = self._concerned(key, sum(p.per_cta for p in groups))
                bad = self.strayed[g.flat].reshape(g.shape) & waiting[g.cta]
                if bad.any():
                    self._divergent(key, f"{self.m.lane_name(*self.m.where(g, bad)[:2])} exits without it")
        self._release()

    def _concerned(self, key: Key, arrived: Array) -> Array:
        """CTAs that wait at this barrier with those of which lanes have arrived."""
        return np.ones(len(arrived), bool) if self._of_grid(key) else arrived > 0

    def _of_grid(self, key: Key) -> bool:
        barrier = self.compiled.pieces[key[0]][key[1]].barrier
        return isinstance(barrier, Barrier) and barrier.kind == "grid"

    def _complete(self, key: Key, arrived: Array) -> Array:
        """CTAs that may go on if so many of their lanes are at this barrier."""
        here = (arrived == self.live) & (arrived > 0)
        return np.full(len(here), here.all()) if self._of_grid(key) else here

    def _barrier(self, key: Key, piece: Piece, g: Group) -> bool:
        """True if all live lanes of g's CTAs are here; else the lanes that must wait are put aside."""
        arrived = g.per_cta
        if not self.parked and self._complete(key, arrived)[arrived > 0].all():
            self._pass(piece, g)
            return True
        self.parked.setdefault(key, []).append(g)
        if self.strayed is not None:
            self.strayed = self.strayed & ~g.mask
        self._missing(key, g)
        self._release()
        return False

    def _pass(self, piece: Piece, g: Group) -> None:
        barrier = piece.barrier
        assert isinstance(barrier, Barrier)
        self.m.shadow.next_epoch(g)
        self.m.changes += 1
        if not barrier.op or barrier.dst is None or barrier.value is None:
            return
        value = barrier.value
        dtype = DTYPES[value.dtype]
        flags = self.m.fetch(g, value.id, dtype) if isinstance(value, Reg) else constant(value, dtype)
        flags = g.whole(flags != 0)
        if g.lanes is None:
            count, total = flags.sum(axis=1, keepdims=True), np.array([[g.shape[1]]])
        else:
            count = np.bincount(g.cta[0], flags[0], g.space.ctas).astype(np.int64)[g.cta]
            total = g.per_cta[g.cta]
        answer = {"count": count, "and": count == total, "or": count > 0}[barrier.op]
        self.m.keep(g, barrier.dst.id, answer.astype(DTYPES[barrier.dst.dtype]))

    def _release(self) -> None:
        """Let the CTAs go whose live lanes have all arrived at one barrier."""
        for key in list(self.parked):
            group = union(self.m.space, self.parked.pop(key))
            complete = self._complete(key, group.per_cta)[group.cta]
            ready, rest = group.split(complete)
            if rest is not None:
                self.parked[key] = [rest]
            if ready is not None:
                self._pass(self.compiled.pieces[key[0]][key[1]], ready)
                self._push((key[0], key[1] + 1), ready)
        if not self.parked:
            self.strayed = None

    def _missing(self, key: Key, g: Group) -> None:
        """Live lanes of g's CTAs that can not come to this barrier any more and do something else."""
        here = self._concerned(key, g.per_cta)
        for (block, part), groups in self.pending.items():
            comes = block == key[0] and part <= key[1] or key[0] in self.flow.reach[block]
            if comes or part == 0 and self.flow.idle[block]:
                continue
            for other in groups:
                flags = here[other.cta]
                if flags.any():
                    cta, tid, _ = self.m.where(other, flags)
                    line = self.blocks[block].line
                    self._divergent(key, f"{self.m.lane_name(cta, tid)} went on{f' to line {line}' if line else ''} without it")

    def _divergent(self, key: Key, who: str) -> NoReturn:
        site = self.compiled.pieces[key[0]][key[1]].site
        assert site is not None
        all_of = "blocks of the grid" if self._of_grid(key) else "threads of the block"
        self.m.fail(site.line, f"barrier under divergence: {who}; not all {all_of} reach it", "", "Move it out of the branch.")

    def _never_met(self) -> NoReturn:
        keys = sorted(self.parked)
        lines = [self.compiled.pieces[b][p].barrier for b, p in keys]
        first = self.parked[keys[0]][0]
        who = self.m.lane_name(*self.m.where(first, np.ones((1, 1), bool))[:2])
        if self._of_grid(keys[0]) and not self.live.all():
            gone = self.m.lane_name(int(np.argmin(self.live)), 0).split(", thread")[0]
            self._divergent(keys[0], f"{who} waits here, but {gone} has ended without it")
        others = ", ".join(f"line {x.line}" for x in lines[1:] if x is not None) or "another barrier"
        self._divergent(keys[0], f"{who} waits here while others wait at {others}")

    def _deadlock(self, block: int, g: Group) -> NoReturn:
        cta, tid, _ = self.m.where(g, np.ones((1, 1), bool))
        site = next((s for s in self.compiled.sites if s.block == block), None)
        line = site.line if site else self.blocks[block].line
        others = sorted({self.blocks[b].line for b, _ in self.pending} | {x.line for k in self.parked if (x := self.compiled.pieces[k[0]][k[1]].barrier)})
        what = "deadlock: lanes wait in this loop for a change of memory that nobody can make any more"
        if others:
            what += f"; the other lanes are at {', '.join(f'line {n}' for n in others)}"
        what += ", first waiting lane: " + self.m.lane_name(cta, tid)
        self.m.fail(line, what, "", "Let the lane that holds the lock release it before others of its warp or block wait.")
