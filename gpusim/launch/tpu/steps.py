"""The sequential grid of a core: its columns, block after block, as one sequence of steps, each with the blocks that it copies in and out.

An input block is copied when its box is another one than the same Load had before; else it stays where it is. An output block is copied when the
next one that the same Store writes is another. So blocks are revisited for nothing, as in Pallas. Blocks that the lowering puts together share their
steps, and copies of theirs that are asked for at once are one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.devices.tpu.core import Step
from gpusim.devices.tpu.cost import WORK
from gpusim.launch.tpu.columns import Array, Collector, Column
from gpusim.lower.tpu.lower import TpuLowered
from gpusim.spec.resolve_tpu import TpuMachine


@dataclass(frozen=True, slots=True)
class Sequence:
    """The grid of one core. read, written: bytes in all; copies: how many; work: kind -> cycles in all; grid_steps: steps of the grid, blocks: blocks."""

    steps: tuple[Step, ...]
    read: int
    written: int
    copies: int
    work: dict[str, float]
    totals: dict[str, float]
    grid_steps: int
    blocks: int


def shares(blocks: int, cores: int) -> list[tuple[int, int]]:
    """[first, last) of the blocks of each core: the grid is cut into as many pieces, as evenly as it goes."""
    edges = [round(blocks * i / cores) for i in range(cores + 1)]
    return [(a, b) for a, b in zip(edges, edges[1:], strict=False) if a < b]


def sequence(lowered: TpuLowered, m: TpuMachine, first: int, last: int) -> Sequence:
    """The steps of the blocks `first` to `last`."""
    found = Collector(lowered, m, first, last)
    columns, order = found.columns, _Order(last - first, len(found.columns), lowered.together)
    read, written = order.zeros(np.int64).sum(axis=2), order.zeros(np.int64).sum(axis=2)
    copies = 0
    for sizes, store in _moved(columns, order):
        (written if store else read)[...] += sizes
        copies += int(np.count_nonzero(sizes))
    work, taken = order.zeros(np.float64), order.zeros(np.bool_)
    for i, column in enumerate(columns):
        order.put(work, i, slice(None), sum(column.work.values(), np.zeros(last - first)))
        order.put(taken, i, slice(None), column.taken)
    taken[:, 0, 0] |= ~taken.any(axis=(1, 2))  # blocks without a loop are one step
    in_loop: Array = np.asarray(taken.any(axis=2))
    steps = _flat(read, written, work.sum(axis=2), in_loop, m)
    spent = {kind: float(sum(c.work[kind].sum() for c in columns if kind in c.work)) for kind in WORK}
    return Sequence(steps, int(read.sum()), int(written.sum()), copies, spent, found.totals, int(in_loop.sum()), last - first)


@dataclass(frozen=True, slots=True)
class _Order:
    """The order in time: `together` consecutive blocks side by side, column after column. Arrays are [groups, columns, blocks of a group]."""

    count: int
    columns: int
    together: int

    def zeros(self, of: Any) -> Array:
        return np.zeros((-(-self.count // self.together), self.columns, self.together), dtype=of)

    def put(self, into: Array, column: int, rows: Any, values: Any) -> None:
        """Set the values of the blocks at `rows` in a column."""
        at = np.arange(self.count)[rows]
        into[at // self.together, column, at % self.together] = values


def _moved(columns: list[Column], order: _Order) -> Iterator[tuple[Array, bool]]:
    """For each Load and Store the bytes that move in each (group, column): 0 where the blocks stay."""
    for op in dict.fromkeys(op for c in columns for op in c.touched):
        key, size, used = order.zeros(np.uint64), order.zeros(np.int64), order.zeros(np.bool_)
        store = False
        for i, column in enumerate(columns):
            if (touched := column.touched.get(op)) is not None:
                for into, values in ((key, touched.key), (size, touched.size), (used, True)):
                    order.put(into, i, touched.rows, values)
                store = touched.store
        yield _changes(key, size, used, store).sum(axis=2), store


def _changes(key: Array, size: Array, used: Array, store: bool) -> Array:
    """`size` where the box is another one than before (Load) or than the next (Store), in the order of time."""
    flat, at = key.reshape(-1), np.flatnonzero(used.reshape(-1))
    differs = flat[at][1:] != flat[at][:-1]
    edge = np.ones(1, dtype=bool)
    kept = np.concatenate((differs, edge) if store else (edge, differs))
    out = np.zeros(flat.shape, dtype=np.int64)
    out[at] = size.reshape(-1)[at] * kept
    return out.reshape(key.shape)


def _flat(read: Array, written: Array, work: Array, taken: Array, m: TpuMachine) -> tuple[Step, ...]:
    """The steps that do anything, group by group."""
    alive = (taken | (read > 0) | (written > 0) | (work > 0)).reshape(-1)
    pick = [a.reshape(-1)[alive].tolist() for a in (read.astype(float), written.astype(float), work, taken * m.step_overhead)]
    return tuple(map(Step, *pick))
