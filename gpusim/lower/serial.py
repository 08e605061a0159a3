"""The matrix loop without a pipeline: loads to registers, stores to shared memory, then the matrix instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpusim import effects as fx
from gpusim.ir.program import Program
from gpusim.lower import matrix, rules
from gpusim.lower.frame import Step, epilogue, lets
from gpusim.lower.vector import pitch_known
from gpusim.spec.resolve import Machine


def serial(program: Program, step: Step, register_limit: Callable[[int], int], machine: Machine) -> tuple[tuple[fx.Effect, ...], int]:
    """Load to registers, store to shared memory, compute: nothing overlaps inside a CTA."""
    acc, limit, for_two = step.tile.accumulators, register_limit(program.warps), register_limit(2 * program.warps)
    moves = [_move(step, i, program) for i in range(len(step.loads))]
    wanted, rounds = _registers(acc, moves, limit, for_two, program.params.get("registers"))
    spills = max(0, wanted - limit)
    share, held = spills / rounds, spills * 4 * 32 * step.tile.warps
    narrow, vectors = sum(m.narrow for m in moves), sum(m.vectors for m in moves)
    passes, stores = sum(rules.STAGING_PASSES * m.stored / 128 for m in moves), sum(m.stores for m in moves)
    loads: list[fx.Effect] = [fx.Issue(rules.NARROW_INSTRUCTIONS * narrow, slots=machine.alu_slots)] if narrow else []
    loads += [fx.Issue(rules.SERIAL_ADDRESSES * vectors, chain=1.0)]
    for part in range(rounds):
        loads += [fx.Local(rules.SPILL_LOADS * share, rules.SPILL_STORES * share, held)] if spills else []
        both = [fx.Load(ld.box, piece, part, rounds) for ld, piece in zip(step.loads, step.pieces, strict=True)]
        loads += [both[0], *([fx.Barrier()] if part == 0 else []), *both[1:]]
        loads += [fx.WaitLoads()] if narrow else [fx.Shared(passes / rounds, stores / rounds, arriving=True)]
    loads += [fx.Shared(passes, stores)] if narrow else []
    math = matrix.emit(step.tile, step.kind, machine, rules.SERIAL_AMONG * vectors)
    body: tuple[fx.Effect, ...] = (fx.Issue(rules.SERIAL_INSTRUCTIONS), *loads, fx.Fence(), fx.Barrier(), *math, fx.WaitMatrix(0))
    repeat = fx.Repeat(step.loop.var, step.loop.stop, body)
    start: tuple[fx.Effect, ...] = (*lets(program), fx.Issue(rules.prologue(acc, vectors, step.masked)))
    return (*start, repeat, *epilogue(program, step)), wanted


def _registers(acc: int, moves: list[Move], limit: int, for_two: int, given: int | None) -> tuple[int, int]:
    """(registers per thread wanted, bursts of loads). Loads that do not fit beside the accumulators wait for a later burst;
    addresses that do not fit are spilled, and then few loads can be in flight. given: what a compiler used, if that is known. At
    the limit that is no more than a lower bound of what it wanted, as it hides what was spilled, so there the estimate says how much."""
    kept = sum(m.kept for m in moves)
    wanted = rules.serial_registers(acc, kept, sum(m.addresses for m in moves), for_two)
    if given:
        wanted = given if given < limit else max(given, wanted)
    if wanted > limit and any(m.addresses > m.vectors for m in moves):
        return wanted, min(fx.MOST_PARTS, -(-sum(m.loaded for m in moves) // rules.SPILLED_WINDOW))
    held = min(wanted, limit)
    packed = sum(m.kept for m in moves if m.narrow)
    return held, min(fx.MOST_PARTS, rules.load_rounds(acc + packed, sum(m.vectors for m in moves), sum(m.loaded for m in moves), held))


@dataclass(frozen=True, slots=True)
class Move:
    """One tile through registers into shared memory, per thread: full `vectors` it holds; `narrow` loads instead of them
    (0: none); registers `loaded` by the loads and `kept` until the stores; `addresses` kept; `stores` to shared memory;
    `stored` bytes of the CTA's port time."""

    vectors: int
    narrow: int
    loaded: int
    kept: int
    addresses: int
    stores: int
    stored: int


def _move(step: Step, i: int, program: Program) -> Move:
    """Narrow loads are packed into vectors where the pitch is known; else every element keeps its address and is stored alone."""
    box, piece = step.loads[i].box, step.pieces[i]
    vectors = step.per_thread(i, rules.VECTOR_BYTES)
    size = box.shape[0] * box.shape[1] * step.tile.dtype.bytes
    if piece >= rules.VECTOR_BYTES:
        return Move(vectors, 0, 4 * vectors, 4 * vectors, 0, vectors, size)
    narrow = step.per_thread(i, piece)
    if pitch_known(program.tensor(box.tensor)):
        return Move(vectors, narrow, narrow, narrow * piece // 4, vectors, vectors, size)
    return Move(vectors, narrow, narrow, narrow, narrow, narrow, size * 4 // piece)
