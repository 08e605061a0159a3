"""Tile IR -> effects of one CTA on a GPU: the pipelined matrix loop, its prologue and its epilogue."""

from __future__ import annotations

from collections.abc import Callable

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Cast, Dot, Full, Index, Let, Load, Loop, Map, Store
from gpusim.ir.program import Program
from gpusim.lower import matrix, rules
from gpusim.lower.activation import with_activation
from gpusim.lower.frame import Step, epilogue, lets
from gpusim.lower.lowered import Footprint, Lowered
from gpusim.lower.serial import serial
from gpusim.lower.vector import piece_bytes
from gpusim.spec.resolve import Machine

#: warps a CTA can have
WARPS = (1, 2, 4, 8, 16, 32)


def lower(program: Program, machine: Machine, shared_limit: int, register_limit: Callable[[int], int]) -> Lowered:
    """`program` for `machine`. `shared_limit`: bytes a CTA may have; `register_limit`: registers a thread may have in a CTA
    of so many warps.

    Raises GpusimError for programs this lowering does not know, tiles that do not fit, formats the device lacks.
    """
    step = _find_step(program, machine)
    _powers_of_two(program, step)
    stages = _stages(step, machine, shared_limit)
    limit = register_limit(program.warps)
    _fits(program, step, register_limit)
    body, wanted = _pipelined(program, step, stages, machine) if stages > 1 else serial(program, step, register_limit, machine)
    foot = Footprint(program.warps, min(wanted, limit), max(0, wanted - limit), stages * step.bytes)
    return Lowered(program, with_activation(body, program, machine), foot, stages, step.kind, _notes(program, step, machine))


def _fits(program: Program, step: Step, register_limit: Callable[[int], int]) -> None:
    """GpusimError if the accumulators do not fit the registers, with the remedies that work."""
    t, elements = step.tile, step.tile.m * step.tile.n
    room = {w: register_limit(w) - rules.LEAST_BESIDES for w in WARPS}
    if t.accumulators <= register_limit(t.warps) - rules.LEAST_BESIDES:
        return
    enough = next((w for w in WARPS if w > t.warps and elements <= 32 * w * room[w]), None)
    most = (register_limit(t.warps) - rules.LEAST_BESIDES) * 32 * t.warps
    tile = f"with {t.warps} warps a tile of at most {most} elements, such as {_smaller(t.m, t.n, most)}."
    raise GpusimError(
        f"tile {t.m}x{t.n} with {t.warps} warps needs {t.accumulators} accumulators per thread; a thread may have {register_limit(t.warps)} registers.",
        where=program.name,
        hint=f"Use at least {enough} warps, or {tile}" if enough else f"Use {tile}",
    )


def _powers_of_two(program: Program, step: Step) -> None:
    """GpusimError for a tile that warps cannot share: its sides are powers of two, at least 16 (8 along k where no matrix unit
    multiplies)."""
    t = step.tile
    shallowest = 8 if step.kind == "simt" else 16
    if t.k < shallowest or any(side < 16 for side in (t.m, t.n)) or any(side & (side - 1) for side in (t.m, t.n, t.k)):
        what = f"tile {t.m}x{t.n}x{t.k} cannot be divided among warps."
        raise GpusimError(what, where=program.name, hint="Give three powers of two from 16 up, such as 128x128x64.")


def _smaller(m: int, n: int, most: int) -> str:
    """The largest tile that halves the longer side until at most `most` elements are left."""
    while m * n > most:
        m, n = (m // 2, n) if m >= n else (m, n // 2)
    return f"{m}x{n}"


def _notes(program: Program, step: Step, machine: Machine) -> tuple[str, ...]:
    """Why copies are narrow, if they are."""
    full = min(rules.VECTOR_BYTES, min(ld.box.shape[-1] for ld in step.loads) * step.tile.dtype.bytes)
    if min(step.pieces) >= full:
        return ()
    names = " and ".join(ld.box.tensor for ld, piece in zip(step.loads, step.pieces, strict=True) if piece < full)
    lost = " and without a pipeline" if machine.cp_async and min(step.pieces) < rules.SMALLEST_ASYNC_BYTES else ""
    why = f"a row length or pitch is no multiple of {rules.SPECIALISED_MULTIPLE} elements"
    return (f"copies of {names} move {min(step.pieces)} bytes a lane{lost}, because {why}: pad the rows (ld=padded).",)


def _find_step(program: Program, machine: Machine) -> Step:
    """The one loop with a Dot; anything else has no lowering yet."""
    loops = [op for op in program.body if isinstance(op, Loop)]
    known = (Let, Loop, Full, Index, Cast, Store, Map)
    behind = program.body[program.body.index(loops[0]) + 1 :] if loops else ()
    stranger = next((op for op in program.body if not isinstance(op, known) and not (isinstance(op, Load) and op in behind)), None)
    inner = loops[0].body if len(loops) == 1 else ()
    dots = [op for op in inner if isinstance(op, Dot)]
    # fp32 is multiplied as tf32 without an instruction
    same = {op.dst: op.src for op in inner if isinstance(op, Cast) and op.dtype.name == "tf32"}
    if stranger or len(dots) != 1 or any(not isinstance(op, Load | Dot) and getattr(op, "dst", "") not in same for op in inner):
        what = type(stranger).__name__ if stranger and len(loops) == 1 else f"{len(loops)} loops and {len(dots)} Dots"
        raise GpusimError(f"no timing for this program yet ({what}).", where=program.name, hint="Timing knows one loop of Loads feeding one Dot.")
    loads = tuple(op for op in inner if isinstance(op, Load))
    by_name = {ld.dst: ld for ld in loads}
    operands = [by_name.get(same.get(name, name)) for name in (dots[0].a, dots[0].b)]
    if operands[0] is None or operands[1] is None:
        raise GpusimError("no timing for a product of what was not loaded in the same step.", where=program.name, hint="Values can be computed.")
    a, b = operands[0].box, operands[1].box
    of = tile_types(program)[dots[0].a].dtype
    tile = matrix.Tile(a.tile[0], b.tile[1], a.tile[1], program.warps, of)
    size = sum(ld.box.shape[0] * ld.box.shape[1] for ld in loads) * of.bytes
    pieces = tuple(piece_bytes(ld.box, program.tensor(ld.box.tensor)) for ld in loads)
    return Step(loops[0], loads, pieces, tile, matrix.choose(tile, machine), size, any(ld.box.masked for ld in loads))


def _stages(step: Step, machine: Machine, shared_limit: int) -> int:
    """The pipeline depth that is emitted: 1 where copies cannot be asynchronous."""
    deepest = shared_limit // step.bytes
    if deepest < 1:
        t = step.tile
        fitting = 1 << (shared_limit // (t.dtype.bytes * (t.m + t.n))).bit_length() - 1
        hint = f"{t.m}x{t.n}x{fitting} is the largest that fits." if fitting >= 16 else "Use a smaller tile."
        what = f"tile {t.m}x{t.n}x{t.k} needs {step.bytes} bytes of shared memory per stage; a CTA may have {shared_limit}."
        raise GpusimError(what, where=machine.name, hint=hint)
    if not machine.cp_async or min(step.pieces) < rules.SMALLEST_ASYNC_BYTES:
        return 1
    asked = step.loop.stages
    if asked is not None and asked > deepest:
        raise GpusimError(
            f"{asked} stages of {step.bytes} bytes need {asked * step.bytes} bytes of shared memory; a CTA may have {shared_limit}.",
            where=machine.name,
            hint=f"At most {deepest} stages of this tile fit.",
        )
    return asked or min(deepest, rules.MOST_STAGES)


def _pipelined(program: Program, step: Step, stages: int, machine: Machine) -> tuple[tuple[fx.Effect, ...], int]:
    """Copies run `stages` - 1 steps ahead of the matrix instructions."""
    tile, copies = step.tile, [step.per_thread(i, p) for i, p in enumerate(step.pieces)]
    total, acc = sum(copies), tile.accumulators
    mmas = matrix.mmas_per_warpgroup(tile, step.kind)
    wide = rules.wide_multiplies(stages, copies[-1]) if step.kind == "wgmma" else 0
    counts = rules.step(total, mmas, wide, step.masked)
    copy = _copies(step, stages - 1, counts.after, counts.mask, wide, machine)
    head: tuple[fx.Effect, ...] = (fx.WaitCopies(stages - 2), fx.Barrier(), fx.Issue(counts.before))
    math: tuple[fx.Effect, ...] = matrix.emit(tile, step.kind, machine, counts.between)
    if step.kind == "wgmma":
        body: tuple[fx.Effect, ...] = (*head, *math, fx.WaitMatrix(1), fx.Barrier(), *copy)
    else:
        body = (*head, *math, *copy, fx.WaitMatrix(0))
    first: tuple[fx.Effect, ...] = tuple(e for s in range(stages - 1) for e in _copies(step, s, 0.0, 0.0, 0, machine))
    before = rules.prologue(acc, total * (stages - 1), step.masked)
    start = (*lets(program), fx.Issue(rules.BEFORE_FIRST_COPY * before), *first, fx.Issue((1 - rules.BEFORE_FIRST_COPY) * before))
    repeat = fx.Repeat(step.loop.var, step.loop.stop, body)
    return (*start, repeat, *epilogue(program, step)), program.params.get("registers") or rules.registers(acc, total)


def _copies(step: Step, ahead: int, instructions: float, mask: float, wide: float, machine: Machine) -> tuple[fx.Effect, ...]:
    """The copies of one stage, `instructions` (and `mask` compares and selects) spread evenly among them."""
    n = len(step.loads)
    among = fx.Issue((instructions + mask) / n, wide / n, (instructions + machine.alu_slots * mask) / max(instructions + mask, 1.0))
    made: list[fx.Effect] = [fx.Copy(ld.box, p, ahead, among) for ld, p in zip(step.loads, step.pieces, strict=True)]
    return (*made, fx.Commit())
