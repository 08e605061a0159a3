"""Arithmetic on the result of a matrix product before it is stored: activations, scales, residual sums without loads."""

from __future__ import annotations

from math import prod

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Loop, Map
from gpusim.ir.program import Program
from gpusim.lower.mixed import pipes
from gpusim.spec.resolve import Machine


def with_activation(body: tuple[fx.Effect, ...], program: Program, machine: Machine) -> tuple[fx.Effect, ...]:
    """`body` with the instructions of the maps behind the loop, right behind the wait for the last product. Casts are part of the epilogue's own rule."""
    work = _work(program, machine)
    if work is None:
        return body
    last = max(i for i, e in enumerate(body) if isinstance(e, fx.WaitMatrix))
    return (*body[: last + 1], work, *body[last + 1 :])


def _work(program: Program, machine: Machine) -> fx.Issue | None:
    at = next(i for i, op in enumerate(program.body) if isinstance(op, Loop))
    maps = [op for op in program.body[at + 1 :] if isinstance(op, Map)]
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
