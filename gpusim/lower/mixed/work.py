"""Vector instructions of tile ops, per warp: elements per lane times what the pipes table says of one element."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.ops import Cast, Full, Index, Let, Load, Map, Op, Reduce, Store, Transpose, Update
from gpusim.lower.mixed import pipes
from gpusim.lower.mixed.body import Body
from gpusim.lower.mixed.layout import Layout

#: shuffles that combine the four lanes of a row
SHUFFLES = 2
#: ops that cost nothing by themselves: constants and places are operands, renaming is free, stores and loads are counted where they stand
FREE = (Full, Index, Let, Load, Store, Transpose, Update)
NOTHING = fx.Vector()


def plus(a: fx.Vector, b: fx.Vector) -> fx.Vector:
    """Both, one after the other; latencies add up."""
    return fx.Vector(*(getattr(a, f.name) + getattr(b, f.name) for f in fields(fx.Vector)))


def settled(work: fx.Vector) -> fx.Vector:
    """`work` with its changes of pipe: products and comparisons of an element stand in turn, and what has no partner stands together."""
    others = work.alu + work.tests
    return replace(work, changes=min(work.fma, others), dense=max(0.0, work.fma - others - work.xu))


@dataclass(frozen=True, slots=True)
class Counter:
    """What the ops of `body` cost a warp under `layout`."""

    body: Body
    layout: Layout

    def op(self, op: Op) -> fx.Vector:
        """One op; of a reduction the part within a lane. GpusimError for ops that have no place in such a loop."""
        if isinstance(op, FREE):
            return NOTHING
        if isinstance(op, Map):
            return self._map(op)
        if isinstance(op, Cast):
            return self._times(pipes.CAST, op.src)
        if isinstance(op, Reduce) and op.fn in pipes.REDUCES and op.axis == 1:
            return self._times(pipes.REDUCES[op.fn], op.src)
        what = f"no timing yet for {type(op).__name__} beside a matrix product"
        raise GpusimError(f"{what}.", where=self.body.program.name, hint="Take it out of the kernel, or compute values without timing.")

    def combine(self, op: Reduce) -> fx.Vector:
        """The part of a reduction between the four lanes of a row: a shuffle and an operation for each row and half of the quad."""
        rows = SHUFFLES * self.layout.row_values
        of = pipes.REDUCES[op.fn]
        return fx.Vector(fma=rows * of.fma, alu=rows * (of.alu + 1))

    def all(self, ops: Iterable[Op]) -> fx.Vector:
        """The ops of a stretch, with their reductions whole."""
        total = NOTHING
        for op in ops:
            total = plus(total, self.op(op))
            if isinstance(op, Reduce):
                total = plus(total, self.combine(op))
        return total

    def _map(self, op: Map) -> fx.Vector:
        if op.dst in self.body.fused:
            return NOTHING
        if op.fn not in pipes.MAPS:
            raise GpusimError(f"no timing yet for '{op.fn}' beside a matrix product.", where=self.body.program.name, hint=f"Known: {', '.join(pipes.MAPS)}.")
        compared = all(a in self.body.places or self.body.types[a].dtype.name == "int32" for a in op.args)
        return self._times(pipes.COMPARE_PLACES if compared and op.fn in ("ge", "gt", "le", "lt") else pipes.MAPS[op.fn], op.dst)

    def _times(self, of: pipes.Pipes, tile: str) -> fx.Vector:
        n = self.layout.elements(self.body.types[tile].shape, tile in self.body.divided)
        return fx.Vector(fma=n * of.fma, alu=n * of.alu, xu=n * of.xu, wide=n * of.wide, tests=n * of.tests)
