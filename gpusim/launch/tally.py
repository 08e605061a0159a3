"""Counts that need no clock: instructions, multiply-adds, sectors requested, shared-memory passes of all CTAs.

They follow from the stream and the grid alone; the executor counts the same while it runs, and a law holds both together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusim import effects as fx
from gpusim.devices.stream import Placed, Site, Stream
from gpusim.ir.expr import evaluate
from gpusim.spec.resolve import Machine

Tally = dict[str, float]

KEYS = ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "l1_lines", "shared_wavefronts", "spill_bytes", "load_bytes", "store_bytes")


def tally(made: Stream, machine: Machine) -> Tally:
    """Totals over all CTAs and all loop steps."""
    ctas, trips = made.ctas, made.trips
    total = _Totals(made, machine)
    total.add(made.prologue, ctas, range(1))
    total.add(made.body, ctas, range(trips))
    total.add(made.epilogue, ctas, range(1))
    return total.counts


class _Totals:
    def __init__(self, made: Stream, machine: Machine) -> None:
        self.made, self.machine = made, machine
        self.warps = made.warps
        self.counts: Tally = dict.fromkeys(KEYS, 0.0)
        self.placed = [self._classes(site) for site in made.sites]

    def _classes(self, site: Site) -> list[tuple[Placed, int]]:
        """The distinct places of a site over the grid, with how many CTAs share each."""
        env = grid_env(self.made)
        origins = [np.broadcast_to(evaluate(o, env | {self.made.var: 0}), (self.made.ctas,)) for o in site.box.origin]
        _, first, counts = np.unique(np.stack(origins), axis=1, return_index=True, return_counts=True)
        return [(Placed(site, self.made.env(int(i)), self.made.var, self.machine), int(c)) for i, c in zip(first, counts, strict=True)]

    def add(self, effects: tuple[tuple[Any, int], ...], ctas: int, steps: range) -> None:
        for effect, site in effects:
            if isinstance(effect, fx.Copy | fx.Load | fx.Store):
                self._access(effect, site, ctas, steps)
            else:
                self._compute(effect, ctas * len(steps))

    def _access(self, e: Any, site: int, ctas: int, steps: range) -> None:
        ahead = e.ahead if isinstance(e, fx.Copy) else 0
        run = range(steps.start + ahead, min(steps.stop + ahead, self.made.trips))
        kind = "store" if isinstance(e, fx.Store) else "load"
        if isinstance(e, fx.Copy) and e.engine:
            self._engine_copy(e, site, ctas, run)
            return
        share = 1 / e.parts if isinstance(e, fx.Load) else 1
        if isinstance(e, fx.Copy):
            self.counts["instructions"] += e.among.count * self.warps * ctas * len(steps)
        for placed, sharers in self.placed[site]:
            count = sharers * share
            whole = min(len(run), max(0, int(min(placed.steps, run.stop)) - run.start))
            parts = [(placed.touched(run.start), whole)] if whole else []
            parts += [(placed.touched(k), 1) for k in run[whole:]]
            for touched, times in parts:
                self.counts[f"l1_{kind}_sectors"] += touched.sectors * times * count
                self.counts["l1_lines"] += touched.lines * times * count
                self.counts[f"{kind}_bytes"] += touched.unique * times * count
                self.counts["instructions"] += touched.instructions * times * count

    def _engine_copy(self, e: fx.Copy, site: int, ctas: int, run: range) -> None:
        """Every CTA of those that share the box asks for its part, with one instruction, and receives all; L1 tags have no part in it."""
        self.counts["instructions"] += ctas * len(run)
        for placed, sharers in self.placed[site]:
            for k in run:
                touched = placed.touched(k)
                self.counts["l1_load_sectors"] += touched.sectors * sharers / e.multicast
                self.counts["load_bytes"] += touched.unique * sharers

    def _compute(self, e: Any, times: int) -> None:
        c = self.counts
        if isinstance(e, fx.Issue):
            c["instructions"] += e.count * self.warps * times
        elif isinstance(e, fx.Shared):
            c["instructions"] += e.count * self.warps * times
            c["shared_wavefronts"] += e.wavefronts * times
        elif isinstance(e, fx.Local):
            c["instructions"] += (e.loads + e.stores) * self.warps * times
            c["spill_bytes"] += (e.loads + e.stores) * self.warps * self.machine.line * times
        elif isinstance(e, fx.Matrix):
            c["tensor_fma"] += e.count * e.m * e.n * e.k * times
            c["shared_wavefronts"] += wavefronts(e, self.machine) * times
            own = e.loads * self.warps + e.count if e.kind == "mma.sync" else e.among * self.warps
            c["instructions"] += own * times


def wavefronts(e: fx.Matrix, machine: Machine) -> float:
    """Shared-memory passes of one Matrix effect."""
    if e.kind != "wgmma":
        return e.wavefronts
    unit = machine.wgmma
    assert unit is not None
    return e.count * (unit.operand_base + unit.operand_per_n * e.n)


def grid_env(made: Stream) -> dict[str, Any]:
    """Program ids and lets of all blocks at once: int64 arrays [ctas]."""
    rest = np.arange(made.ctas, dtype=np.int64)
    env: dict[str, Any] = {}
    for axis, extent in enumerate(made.grid):
        env[f"pid{axis}"], rest = rest % extent, rest // extent
    for let in made.lets:
        env[let.name] = evaluate(let.value, env)
    return env
