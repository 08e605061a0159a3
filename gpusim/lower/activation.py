"""Arithmetic on the result of a matrix product before it is stored: activations, scales, a bias, a residual sum."""

from __future__ import annotations

from math import prod

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Load, Loop, Map
from gpusim.ir.program import Program
from gpusim.lower.mixed import pipes
from gpusim.lower.vector import piece_bytes
from gpusim.spec.resolve import Machine


def with_activation(body: tuple[fx.Effect, ...], program: Program, machine: Machine) -> tuple[fx.Effect, ...]:
    """`body` with what stands behind the loop of `program`: loads (of a bias, scales, a residual) before the wait for the last product, the instructions
    of the maps right behind it. Casts are part of the epilogue's own rule."""
    behind = program.body[next(i for i, op in enumerate(program.body) if isinstance(op, Loop)) + 1 :]
    loads = [fx.Load(op.box, piece_bytes(op.box, program.tensor(op.box.tensor))) for op in behind if isinstance(op, Load)]
    work = _work(program, [op for op in behind if isinstance(op, Map)], machine)
    if work is None and not loads:
        return body
    last = max(i for i, e in enumerate(body) if isinstance(e, fx.WaitMatrix))
    waited = (*loads, body[last], *([fx.WaitLoads()] if loads else []))
    return (*body[:last], *waited, *([work] if work is not None else []), *body[last + 1 :])


def _work(program: Program, maps: list[Map], machine: Machine) -> fx.Issue | None:
    if not maps:
        return None
    types = tile_types(program)
    count = slots = wide = 0.0
    for op in maps:
        if op.fn not in pipes.MAPS:
            raise GpusimError(f"no timing yet for '{op.fn}' behind a matrix product.", where=program.name, hint=f"Known: {', '.join(pipes.MAPS)}.")
        of, n = pipes.MAPS[op.fn], prod(types[op.dst].shape) / (32 * program.warps)
        count += n * (of.fma + of.alu + of.xu + of.wide)
        wide += n * of.wide
        slots += n * (of.fma * machine.fma_slots + of.alu * machine.alu_slots + of.xu * machine.simt.interval["xu"] + of.wide)
    return fx.Issue(count, wide, slots / count)
