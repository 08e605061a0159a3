"""Tile IR -> effects of one CTA on a GPU: the pipelined matrix loop, its prologue and its epilogue."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.ops import Cast, Dot, Full, Let, Load, Loop, Store
from gpusim.ir.program import Program
from gpusim.lower import matrix, rules
from gpusim.lower.lowered import Footprint, Lowered
from gpusim.lower.vector import piece_bytes, pitch_known
from gpusim.spec.resolve import Machine


@dataclass(frozen=True, slots=True)
class Step:
    """What the loop does in one step, in numbers the rules need."""

    loop: Loop
    loads: tuple[Load, ...]
    pieces: tuple[int, ...]
    tile: matrix.Tile
    kind: str
    bytes: int
    masked: bool

    def per_thread(self, i: int, width: int) -> int:
        """Accesses of `width` bytes per thread that load i takes."""
        box, of = self.loads[i].box, self.tile.dtype
        return max(1, box.shape[0] * box.shape[1] * of.bytes // (width * 32 * self.tile.warps))


def lower(program: Program, machine: Machine, shared_limit: int, register_limit: int) -> Lowered:
    """`program` for `machine`. `shared_limit`: bytes a CTA may have; `register_limit`: registers per thread.

    Raises GpusimError for programs this lowering does not know, tiles that do not fit, formats the device lacks.
    """
    step = _find_step(program, machine)
    stages = _stages(step, machine, shared_limit)
    made = _pipelined(program, step, stages, machine) if stages > 1 else _serial(program, step, register_limit, machine)
    body, wanted = made
    acc = step.tile.accumulators
    if acc + 24 > register_limit:
        raise GpusimError(
            f"tile {step.tile.m}x{step.tile.n} with {program.warps} warps needs {acc} accumulators per thread; a thread has {register_limit} registers.",
            where=program.name,
            hint=f"Use at least {2 * program.warps * acc // register_limit} warps, or a tile of at most {(register_limit - 24) * 32 * program.warps} elements.",
        )
    foot = Footprint(program.warps, min(wanted, register_limit), max(0, wanted - register_limit), stages * step.bytes)
    return Lowered(program, body, foot, stages, step.kind)


def _find_step(program: Program, machine: Machine) -> Step:
    """The one loop with a Dot; anything else has no lowering yet."""
    loops = [op for op in program.body if isinstance(op, Loop)]
    stranger = next((op for op in program.body if not isinstance(op, Let | Loop | Full | Cast | Store)), None)
    inner = loops[0].body if len(loops) == 1 else ()
    dots = [op for op in inner if isinstance(op, Dot)]
    if stranger or len(dots) != 1 or any(not isinstance(op, Load | Dot) for op in inner):
        what = type(stranger).__name__ if stranger else f"{len(loops)} loops and {len(dots)} Dots"
        raise GpusimError(f"no timing for this program yet ({what}).", where=program.name, hint="Timing knows one loop of Loads feeding one Dot.")
    loads = tuple(op for op in inner if isinstance(op, Load))
    by_name = {ld.dst: ld for ld in loads}
    a, b = by_name[dots[0].a], by_name[dots[0].b]
    t = program.tensor(a.box.tensor)
    tile = matrix.Tile(a.box.shape[0], b.box.shape[1], a.box.shape[1], program.warps, t.dtype)
    size = sum(ld.box.shape[0] * ld.box.shape[1] for ld in loads) * t.dtype.bytes
    pieces = tuple(piece_bytes(ld.box, program.tensor(ld.box.tensor)) for ld in loads)
    return Step(loops[0], loads, pieces, tile, matrix.choose(tile, machine), size, any(ld.box.masked for ld in loads))


def _stages(step: Step, machine: Machine, shared_limit: int) -> int:
    """The pipeline depth that is emitted: 1 where copies cannot be asynchronous."""
    deepest = shared_limit // step.bytes
    if deepest < 1:
        t = step.tile
        fitting = shared_limit // (t.dtype.bytes * (t.m + t.n)) // 16 * 16
        hint = f"BK of at most {fitting} fits." if fitting >= 16 else "Use a smaller tile."
        what = f"tile {t.m}x{t.n}x{t.k} needs {step.bytes} bytes of shared memory per stage; a CTA may have {shared_limit}."
        raise GpusimError(what, where=machine.name, hint=hint)
    asked = step.loop.stages
    if asked is not None and asked > deepest:
        raise GpusimError(
            f"{asked} stages of {step.bytes} bytes need {asked * step.bytes} bytes of shared memory; a CTA may have {shared_limit}.",
            where=machine.name,
            hint=f"At most {deepest} stages of this tile fit.",
        )
    asynchronous = machine.cp_async and min(step.pieces) >= rules.SMALLEST_ASYNC_BYTES
    return min(asked or min(deepest, rules.MOST_STAGES), deepest) if asynchronous else 1


def _pipelined(program: Program, step: Step, stages: int, machine: Machine) -> tuple[tuple[fx.Effect, ...], int]:
    """Copies run `stages` - 1 steps ahead of the matrix instructions."""
    tile, copies = step.tile, [step.per_thread(i, p) for i, p in enumerate(step.pieces)]
    total, acc = sum(copies), tile.accumulators
    mmas = matrix.mmas_per_warpgroup(tile, step.kind)
    wide = rules.wide_multiplies(stages, copies[-1]) if step.kind == "wgmma" else 0
    counts = rules.step(total, mmas, wide, step.masked)
    copy = _copies(step, stages - 1, counts.after, counts.mask, wide)
    head: tuple[fx.Effect, ...] = (fx.WaitCopies(stages - 2), fx.Barrier(), fx.Issue(counts.before))
    math: tuple[fx.Effect, ...] = matrix.emit(tile, step.kind, machine, counts.between)
    if step.kind == "wgmma":
        body: tuple[fx.Effect, ...] = (*head, *math, fx.WaitMatrix(1), fx.Barrier(), *copy)
    else:
        body = (*head, *math, *copy, fx.WaitMatrix(0))
    first: tuple[fx.Effect, ...] = tuple(e for s in range(stages - 1) for e in _copies(step, s, 0.0, 0.0, 0))
    before = rules.prologue(acc, total * (stages - 1), step.masked)
    start = (*_lets(program), fx.Issue(rules.BEFORE_FIRST_COPY * before), *first, fx.Issue((1 - rules.BEFORE_FIRST_COPY) * before))
    repeat = fx.Repeat(step.loop.var, step.loop.stop, body)
    return (*start, repeat, *_epilogue(program, step)), rules.registers(acc, total)


def _copies(step: Step, ahead: int, instructions: float, mask: float, wide: float) -> tuple[fx.Effect, ...]:
    """The copies of one stage, `instructions` (and `mask` compares and selects) spread evenly among them."""
    n = len(step.loads)
    among = fx.Issue((instructions + mask) / n, wide / n, (instructions + rules.MASK_SLOTS * mask) / max(instructions + mask, 1.0))
    made: list[fx.Effect] = [fx.Copy(ld.box, p, ahead, among) for ld, p in zip(step.loads, step.pieces, strict=True)]
    return (*made, fx.Commit())


def _serial(program: Program, step: Step, register_limit: int, machine: Machine) -> tuple[tuple[fx.Effect, ...], int]:
    """Load to registers, store to shared memory, compute: nothing overlaps inside a CTA."""
    acc = step.tile.accumulators
    moves = [_move(step, i, program) for i in range(len(step.loads))]
    data = sum(m.data for m in moves)
    narrow = any(m.narrow for m in moves)
    demand = rules.serial_registers(acc, data, sum(m.addresses for m in moves))
    wanted = demand if narrow else min(demand, register_limit)
    spills = max(0, wanted - register_limit)
    rounds = rules.load_rounds(acc, data, min(wanted, register_limit), bool(spills))
    share, held = spills / rounds, spills * 4 * 32 * step.tile.warps
    loads: list[fx.Effect] = [fx.Issue(rules.NARROW_INSTRUCTIONS * sum(m.narrow for m in moves))] if narrow else []
    for part in range(rounds):
        loads += [fx.Local(rules.SPILL_LOADS * share, rules.SPILL_STORES * share, held)] if spills else []
        both = [fx.Load(ld.box, piece, part, rounds) for ld, piece in zip(step.loads, step.pieces, strict=True)]
        loads += [both[0], *([fx.Barrier()] if part == 0 else []), *both[1:], fx.WaitLoads()]
    passes = sum(rules.STAGING_PASSES * m.stored / 128 for m in moves)
    store = fx.Shared(passes, sum(m.stores for m in moves))
    math = matrix.emit(step.tile, step.kind, machine)
    body: tuple[fx.Effect, ...] = (fx.Issue(rules.SERIAL_INSTRUCTIONS), *loads, store, fx.Fence(), fx.Barrier(), *math, fx.WaitMatrix(0))
    repeat = fx.Repeat(step.loop.var, step.loop.stop, body)
    start: tuple[fx.Effect, ...] = (*_lets(program), fx.Issue(rules.prologue(acc, sum(m.vectors for m in moves), step.masked)))
    return (*start, repeat, *_epilogue(program, step)), wanted


@dataclass(frozen=True, slots=True)
class Move:
    """One tile through registers into shared memory, per thread: full `vectors` it holds, `narrow` loads instead of them
    (0: none), `data` registers, `addresses` kept, `stores` to shared memory; `stored` bytes of the CTA's port time."""

    vectors: int
    narrow: int
    data: int
    addresses: int
    stores: int
    stored: int


def _move(step: Step, i: int, program: Program) -> Move:
    """Narrow loads are packed into vectors where the pitch is known; else every element keeps its address and is stored alone."""
    box, piece = step.loads[i].box, step.pieces[i]
    vectors = step.per_thread(i, rules.VECTOR_BYTES)
    size = box.shape[0] * box.shape[1] * step.tile.dtype.bytes
    if piece >= rules.VECTOR_BYTES:
        return Move(vectors, 0, 4 * vectors, 0, vectors, size)
    narrow = step.per_thread(i, piece)
    if pitch_known(program.tensor(box.tensor)):
        return Move(vectors, narrow, narrow * piece // 4, vectors, vectors, size)
    return Move(vectors, narrow, narrow, narrow, narrow, size * 4 // piece)


def _lets(program: Program) -> tuple[Let, ...]:
    return tuple(op for op in program.body if isinstance(op, Let))


def _epilogue(program: Program, step: Step) -> tuple[fx.Effect, ...]:
    """Wait for the last matrix instruction, pack, regroup rows through shared memory, store."""
    acc = step.tile.accumulators
    stores = [op for op in program.body if isinstance(op, Store)]
    out: list[fx.Effect] = [fx.WaitMatrix(0), fx.Issue(rules.epilogue(acc))]
    for st in stores:
        t = program.tensor(st.box.tensor)
        staged = st.box.shape[0] * st.box.shape[1] * t.dtype.bytes
        out += [fx.Shared(2 * staged / 128, acc / 4)]
        out += [fx.Barrier()] * rules.epilogue_barriers(acc, step.tile.warps)
        out += [fx.Store(st.box, piece_bytes(st.box, t))]
    return tuple(out)
