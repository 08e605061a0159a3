"""The sequential grid of a core: its columns, block after block, as one sequence of steps, each with the blocks that it copies in and out.

An input block is copied when its box is another one than the same Load had before; else it stays where it is. An output block is copied when the
next one that the same Store writes is another. So blocks are revisited for nothing, as in Pallas.
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
    columns, count = found.columns, last - first
    read = np.zeros((count, len(columns)), dtype=np.int64)
    written = np.zeros_like(read)
    copies = 0
    for sizes, store in _moved(columns, count):
        (written if store else read)[...] += sizes
        copies += int(np.count_nonzero(sizes))
    work, nothing = np.zeros(read.shape), np.zeros(count)
    for i, column in enumerate(columns):
        work[:, i] = sum(column.work.values(), nothing)
    taken = _taken(columns, count)
    steps = _flat(read, written, work, taken, m)
    spent = {kind: float(sum(c.work[kind].sum() for c in columns if kind in c.work)) for kind in WORK}
    return Sequence(steps, int(read.sum()), int(written.sum()), copies, spent, found.totals, int(taken.sum()), count)


def _taken(columns: list[Column], count: int) -> Array:
    """Which columns are steps of the grid for which block. A block without a loop is one step."""
    taken = np.stack([c.taken for c in columns], axis=1)
    taken[:, 0] |= ~taken.any(axis=1)
    return taken


def _moved(columns: list[Column], count: int) -> Iterator[tuple[Array, bool]]:
    """For each Load and Store the bytes that move in each (block, column): 0 where the block stays."""
    for op in dict.fromkeys(op for c in columns for op in c.touched):
        key = np.zeros((count, len(columns)), dtype=np.uint64)
        size = np.zeros((count, len(columns)), dtype=np.int64)
        used = np.zeros((count, len(columns)), dtype=bool)
        store = False
        for i, column in enumerate(columns):
            if (touched := column.touched.get(op)) is not None:
                key[touched.rows, i], size[touched.rows, i], used[touched.rows, i] = touched.key, touched.size, True
                store = touched.store
        yield _changes(key, size, used, store), store


def _changes(key: Array, size: Array, used: Array, store: bool) -> Array:
    """`size` where the box is another one than before (Load) or than the next (Store), in the order block by block."""
    flat, at = key.reshape(-1), np.flatnonzero(used.reshape(-1))
    differs = flat[at][1:] != flat[at][:-1]
    edge = np.ones(1, dtype=bool)
    kept = np.concatenate((differs, edge) if store else (edge, differs))
    out = np.zeros(flat.shape, dtype=np.int64)
    out[at] = size.reshape(-1)[at] * kept
    return out.reshape(key.shape)


def _flat(read: Array, written: Array, work: Any, taken: Array, m: TpuMachine) -> tuple[Step, ...]:
    """The steps that do anything, block by block."""
    alive = (taken | (read > 0) | (written > 0) | (work > 0)).reshape(-1)
    pick = [a.reshape(-1)[alive].tolist() for a in (read.astype(float), written.astype(float), work, taken * m.step_overhead)]
    return tuple(map(Step, *pick))
