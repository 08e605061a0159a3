"""Effect -> cycles of a core, by what it waits for. Pure.

A core issues to all its units in one instruction, and a compiler overlaps what is independent. So within one effect the busiest unit counts; effects
follow one another.
"""

from __future__ import annotations

from gpusim.effects import Lanes, Passes
from gpusim.parts.systolic import Array, Product, product
from gpusim.spec.resolve_tpu import TpuMachine

#: what a core does with its time. The first five are work of a step; step: scalar work of the grid; then waiting for copies in and out
WORK = ("mxu", "weights", "fill_drain", "vector", "vmem")
REASONS = (*WORK, "step", "copy_in", "copy_out")

Spans = dict[str, float]


def array(m: TpuMachine, fmt: str) -> Array:
    """The arrays of a core at the rate of a format."""
    return Array(m.mxus, m.dim, m.rows_per_cycle[fmt], m.weight_rows, m.double_buffered)


def passes(effect: Passes, m: TpuMachine) -> Product:
    """The product on the arrays of a core."""
    return product(array(m, effect.fmt), effect.m, effect.k, effect.n)


def cycles(effect: Passes | Lanes, m: TpuMachine) -> Spans:
    """Kind of WORK -> cycles."""
    return _product(effect, m) if isinstance(effect, Passes) else _lanes(effect, m)


def _product(effect: Passes, m: TpuMachine) -> Spans:
    """Vector memory and the adding of partial sums go on under the passes; only what is longer shows."""
    p = passes(effect, m)
    spans = {"mxu": p.stream, "weights": p.starve, "fill_drain": p.latency}
    beside = {"vmem": effect.moved / m.vmem_rate, "vector": effect.adds / m.alus}
    longest = max(beside, key=beside.__getitem__)
    return spans | {longest: max(0.0, beside[longest] - p.stream - p.starve)}


def _lanes(effect: Lanes, m: TpuMachine) -> Spans:
    vector = max(effect.alu / m.alus, effect.transcendental / m.transcendental, effect.cross_lane / m.cross_lane)
    vmem = effect.moved / m.vmem_rate
    return {"vmem": vmem} if vmem > vector else {"vector": vector}
