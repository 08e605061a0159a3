"""Shared memory and registers of a loop with products and work on their results."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpusim.errors import GpusimError
from gpusim.ir.ops import Load
from gpusim.ir.program import Program
from gpusim.lower import rules as common
from gpusim.lower.mixed import rules
from gpusim.lower.mixed.body import Body
from gpusim.lower.mixed.layout import LANES, Layout
from gpusim.lower.vector import piece_bytes


@dataclass(frozen=True, slots=True)
class Tiles:
    """Bytes in shared memory: `kept` for tiles that are loaded once, `step` for those of a step of the loop."""

    kept: int
    step: int
    largest: int

    def total(self, stages: int) -> int:
        """Without a pipeline one buffer serves all tiles of a step in turn."""
        return self.kept + (stages * self.step if stages > 1 else self.largest)


def load_bytes(program: Program, load: Load) -> int:
    return prod(load.box.shape) * program.tensor(load.box.tensor).dtype.bytes


def tiles(body: Body) -> Tiles:
    sizes = [load_bytes(body.program, ld) for ld in body.loads]
    operands = {body.loaded(name) for d in body.dots for name in (d.a, d.b)}
    kept = sum(load_bytes(body.program, op) for op in body.before if isinstance(op, Load) and op.dst in operands)
    return Tiles(kept, sum(sizes), max(sizes, default=0))


def per_thread(body: Body, load: Load) -> float:
    """Copies of a load that each thread makes."""
    piece = piece_bytes(load.box, body.program.tensor(load.box.tensor))
    return load_bytes(body.program, load) / (piece * LANES * body.program.warps)


def stages_of(body: Body, asynchronous: bool, limit: int) -> int:
    """The depth of the pipeline that is emitted. GpusimError if the tiles do not fit."""
    t, asked = tiles(body), body.loop.stages
    if not asynchronous:
        asked = 1
    deepest = max(1, (limit - t.kept) // t.step) if t.step else 1
    if t.total(asked or 1) > limit:
        what = f"{asked or 1} stages of {t.step} bytes and {t.kept} bytes kept need {t.total(asked or 1)} bytes of shared memory; a CTA may have {limit}."
        raise GpusimError(what, where=body.program.name, hint=f"At most {deepest} stages of this tile fit." if t.total(1) <= limit else "Use a smaller tile.")
    return asked or min(deepest, common.MOST_STAGES)


@dataclass(frozen=True, slots=True)
class Registers:
    """Of a thread: wanted before the limit, and how many of them are spilled."""

    wanted: float
    spilled: float


def registers(body: Body, layout: Layout, stages: int, limit: int) -> Registers:
    """Accumulators, scores, their packed form, and what goes around them. Where registers are short, half of the packed values take the place of the
    scores they are made of."""
    held = scores = 0.0
    for dot in body.dots:
        each = layout.elements(body.types[dot.acc].shape, dot.acc in body.divided)
        held += each
        scores += each * body.waits(dot)
    packed = sum(layout.elements(body.types[d.a].shape, False) * body.types[d.a].dtype.bytes / 4 for d in body.dots if body.in_registers(d))
    wanted = held + packed + rules.BESIDES + rules.SECOND_BLOCK * (layout.blocks > 1) + rules.MANY_SCORES * (scores >= 64) + rules.MASK * body.masked
    if stages == 1:
        wanted += rules.UNPIPELINED + rules.PASSING * tiles(body).largest / (4 * LANES * layout.warps)
    return Registers(wanted, max(0.0, wanted - packed / 2 - limit))
