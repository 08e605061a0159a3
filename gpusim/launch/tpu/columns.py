"""The iterations of a program for all blocks at once: which boxes each of them touches, and how long each of them computes.

A column is one iteration of an innermost loop; what a block does before its first loop or behind its last one belongs to the nearest column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.devices.tpu.cost import Spans, cycles, passes
from gpusim.effects import Lanes, Passes
from gpusim.errors import GpusimError
from gpusim.ir.blocks import Scalars, program_ids, run, value
from gpusim.ir.ops import Box, Load, Op, Store
from gpusim.ir.program import Tensor
from gpusim.lower.tpu.layout import block_units, round_up
from gpusim.lower.tpu.lower import TpuLowered
from gpusim.spec.resolve_tpu import TpuMachine

Array = np.ndarray[Any, Any]
#: spreads origins over 64 bits, so that different boxes have different keys
SPREAD = np.uint64(0x9E3779B97F4A7C15)
#: steps of a core that still fit a small machine's memory
MOST_STEPS = 1 << 23


@dataclass(frozen=True, slots=True)
class Touched:
    """What one Load or Store does in a column. rows: the blocks that execute it; key: tells boxes apart; size: bytes that lie in the tensor."""

    rows: Array
    key: Array
    size: Array
    store: bool


@dataclass
class Column:
    """loop: whether it is an iteration, and of which blocks (`taken`). work: kind -> cycles of every block, where there are any. touched: by id of
    the op."""

    taken: Array
    work: dict[str, Array] = field(default_factory=dict)
    loop: bool = False
    touched: dict[int, Touched] = field(default_factory=dict)


class Collector:
    """Visits the ops of the blocks `first` to `last`. Work of the vector unit gathers until a product or another set of blocks ends it: within it the
    units of a core overlap."""

    def __init__(self, lowered: TpuLowered, m: TpuMachine, first: int, last: int) -> None:
        self.lowered, self.m = lowered, m
        self.blocks = np.arange(first, last)
        self.tensors = {t.name: t for t in lowered.program.tensors}
        self.columns = [self._column()]
        self.totals: dict[str, float] = {}
        self.waiting: tuple[Array, Lanes] | None = None
        self.cost: dict[int, Spans] = {}
        body = lowered.program.body
        run(body, np.arange(len(self.blocks)), program_ids(lowered.program.grid, self.blocks), self.visit)
        self.flush()

    def _column(self) -> Column:
        return Column(np.zeros(len(self.blocks), dtype=bool))

    def visit(self, op: Op, rows: Array, scalars: Scalars) -> None:
        if id(op) in self.lowered.heads:
            self._begin(rows)
        if isinstance(op, Load | Store):
            tensor = self.tensors[op.box.tensor]
            origin = [value(o, scalars) for o in op.box.origin]
            limits = [None if e is None else value(e, scalars) for e in op.box.limits or (None,) * len(origin)]
            size = np.broadcast_to(_bytes(op.box, tensor, origin, limits, self.m), rows.shape)
            self.columns[-1].touched[id(op)] = Touched(rows, _key(origin, rows), size, isinstance(op, Store))
        work = self.lowered.work.get(id(op))
        if isinstance(work, Lanes):
            self._gather(rows, work)
        elif work is not None:
            self.flush()
            self._multiply(id(op), work, rows)

    def _begin(self, rows: Array) -> None:
        """The next iteration; it shares a column with what stood before the first one."""
        if self.columns[-1].loop:
            self.flush()
            self.columns.append(self._column())
            if len(self.columns) * len(self.blocks) > MOST_STEPS:
                what = f"{len(self.blocks)} blocks with {len(self.columns)} steps and more: that is too many to simulate, and slow on a TPU."
                raise GpusimError(what, where=self.lowered.program.name, hint="Use larger blocks: every step costs about a third of a microsecond.")
        self.columns[-1].loop = True
        self.columns[-1].taken[rows] = True

    def _gather(self, rows: Array, w: Lanes) -> None:
        if self.waiting is not None and self.waiting[0] is not rows:
            self.flush()
        had = self.waiting[1] if self.waiting is not None else Lanes()
        both = Lanes(had.alu + w.alu, had.transcendental + w.transcendental, had.cross_lane + w.cross_lane, had.moved + w.moved)
        self.waiting = rows, both

    def flush(self) -> None:
        """What the vector unit was given so far."""
        if self.waiting is None:
            return
        rows, work = self.waiting
        self.waiting = None
        self._spend(rows, cycles(work, self.m))
        self._count(len(rows), vector_operations=work.alu, transcendental_operations=work.transcendental, cross_lane_operations=work.cross_lane)
        self._count(len(rows), vmem_bytes=work.moved)

    def _multiply(self, op: int, work: Passes, rows: Array) -> None:
        if op not in self.cost:
            self.cost[op] = cycles(work, self.m)
        self._spend(rows, self.cost[op])
        p = passes(work, self.m)
        self._count(len(rows), mxu_passes=p.passes, tensor_fma=p.passes * p.rows * self.m.dim**2, vmem_bytes=work.moved, vector_operations=work.adds)

    def _spend(self, rows: Array, spans: Spans) -> None:
        work = self.columns[-1].work
        for kind, spent in spans.items():
            if spent:
                work.setdefault(kind, np.zeros(len(self.blocks)))[rows] += spent

    def _count(self, times: int, **amounts: float) -> None:
        for name, amount in amounts.items():
            if amount:
                self.totals[name] = self.totals.get(name, 0.0) + amount * times


def _key(origin: list[Any], rows: Array) -> Array:
    """A number for each block that differs where its box begins elsewhere."""
    key = np.zeros(len(rows), dtype=np.uint64)
    for start in origin:
        key = (key + np.asarray(start).astype(np.int64).astype(np.uint64)) * SPREAD + (key >> np.uint64(29))
    return key


def _bytes(box: Box, t: Tensor, origin: list[Any], limits: list[Any], m: TpuMachine) -> Any:
    """What of a box lies in its tensor, in whole pieces of the layout: arrays are padded in memory as they are on the chip."""
    inside: Any = t.dtype.bits // 8
    for start, extent, size, limit, unit in zip(origin, box.shape, t.shape, limits, block_units(box.shape, t.dtype, m), strict=True):
        end = round_up(size, unit) if limit is None else np.minimum(round_up(size, unit), -(-np.asarray(limit) // unit) * unit)
        held = np.minimum(np.asarray(start) + extent, end) - np.maximum(start, 0)
        inside = inside * np.clip(-(-held // unit) * unit, 0, None)
    return inside
