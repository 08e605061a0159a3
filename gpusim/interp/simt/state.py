"""The state of one chunk of CTAs: registers, coordinates, and how to say which lane did wrong."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.simt.compile import Site
from gpusim.interp.simt.groups import Group, Space
from gpusim.interp.simt.launch import Launch
from gpusim.trace.simt import Work

Array = Any
CLOCK_STEP = 64  # values know no time: a clock is a counter that moves on at every reading, about as fast as a loop around it would


class State:
    def __init__(self, launch: Launch, ctas: Array) -> None:
        self.launch, self.ctas = launch, ctas
        self.geometry = launch.geometry
        self.space = Space(len(ctas), launch.geometry.threads)
        registers = launch.program.registers
        self.regs: list[Any] = [None] * registers
        self.owned = [False] * registers
        for number, value in launch.params.items():
            self.regs[number] = value
        self.counts = launch.counts
        self.changes = 0
        self.recorded_rows = np.array([c in launch.record for c in ctas.tolist()], bool)
        self.record_rows = np.flatnonzero(self.recorded_rows)
        self.touches: dict[int, Any] = {}
        self.work: Array | None = None if launch.works is None else np.zeros((self.space.ctas, self.space.warps), np.int64)
        self.specials: dict[Any, Any] = {}

    def issued(self, g: Group, instructions: int) -> None:
        """Every warp of g issues so many."""
        assert self.work is not None
        if g.lanes is not None:
            self.work.reshape(-1)[g.warp_ids] += instructions
        elif g.cols is None:
            self.work[slice(None) if g.rows is None else g.rows] += instructions
        else:
            self.work[np.ix_(np.arange(self.space.ctas) if g.rows is None else g.rows, g.warp_ids)] += instructions

    def finish_work(self) -> None:
        """Tell the launch how much each CTA did."""
        if self.work is not None and self.launch.works is not None:
            self.launch.works.append(Work(self.ctas, self.work.sum(axis=1), self.work.max(axis=1)))

    def fetch(self, g: Group, number: int, dtype: Any) -> Array:
        """A register in g's layout; zero if nothing was assigned."""
        value = self.regs[number]
        return np.zeros((1, 1), dtype) if value is None else g.get(value)

    def keep(self, g: Group, number: int, value: Array) -> None:
        if g.full:
            self.regs[number], self.owned[number] = value, False
            return
        old = self.regs[number]
        if old is None:
            old = np.zeros((1, 1), value.dtype)
        self.regs[number] = g.put(old, self.owned[number], value)
        self.owned[number] = True

    def special(self, g: Group, name: str, dtype: Any) -> Array:
        """A coordinate (tid.x, ctaid.y, ...) in g's layout."""
        key = (name, dtype)
        if name in ("clock", "globaltimer"):
            self.launch.clock += CLOCK_STEP
            return np.full((1, 1), self.launch.clock).astype(dtype)
        if key not in self.specials:
            self.specials[key] = np.asarray(self._coordinate(name)).astype(dtype)
        return g.get(self.specials[key])

    def _coordinate(self, name: str) -> Array:
        what, _, axis = name.partition(".")
        i = "xyz".index(axis) if axis else 0
        grid, block = self.geometry.grid, self.geometry.block
        if what == "tid":
            return _axis(np.arange(self.geometry.threads), block, i)[None]
        if what == "ctaid":
            return _axis(self.ctas, grid, i)[:, None]
        if what in ("ntid", "nctaid"):
            return np.array([[block[i] if what == "ntid" else grid[i]]])
        threads = np.arange(self.geometry.threads)[None]
        return {"laneid": threads & 31, "warpid": threads >> 5, "smid": np.zeros((1, 1), np.int64)}[what]

    def lane_name(self, cta_row: int, tid: int) -> str:
        cta = int(self.ctas[cta_row])
        g, b = self.geometry.grid, self.geometry.block
        block = tuple(int(_axis(np.int64(cta), g, i)) for i in range(3))
        thread = tuple(int(_axis(np.int64(tid), b, i)) for i in range(3))
        return f"block {block}, thread {thread}, warp {tid >> 5}, lane {tid & 31}"

    def where(self, g: Group, flags: Array) -> tuple[int, int, tuple[int, int]]:
        """(row of the chunk, thread, position in g's layout) of the first lane in `flags`."""
        pos = int(np.flatnonzero(np.broadcast_to(flags, g.shape))[0])
        r, k = divmod(pos, g.shape[1])
        cta = g.cta[0, k] if g.lanes is not None else g.cta[r, 0]
        return int(cta), int(g.tid[0, k]), (r, k)

    def fail(self, line: int, what: str, lane: str, hint: str) -> NoReturn:
        raise self.error(line, what, lane, hint)

    def error(self, line: int, what: str, lane: str, hint: str) -> GpusimError:
        source = self.launch.source(line)
        text = f"kernel {self.launch.program.name}: {what}" + (f" by {lane}" if lane else "") + (f"\n    {source}\n" if source else ".")
        return GpusimError(text, where=self.launch.at(line), hint=hint)

    def divisor(self, site: Site, g: Group, value: Array) -> None:
        if not value.all():
            cta, tid, _ = self.where(g, value == 0)
            self.launch.note("zero", site.line, f"integer division by zero gave 0 (first by {self.lane_name(cta, tid)})")


def _axis(linear: Array, size: tuple[int, int, int], i: int) -> Array:
    return (linear // (1, size[0], size[0] * size[1])[i]) % size[i]


def at(value: Array, position: tuple[int, int]) -> Any:
    """The element of a value for one place of a group's layout."""
    r, k = position
    return value[r if value.shape[0] > 1 else 0, k if value.shape[1] > 1 else 0]
