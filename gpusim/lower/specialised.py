"""A warp-specialised product -> effects of one CTA: the consumers' way, with the copies where a consumer frees their stage.

The producer has nothing else to do, so a copy leaves when its stage is free and its warps have no code of their own here. The stream is that of one
consumer; cooperating ones run alike, and those that take turns meet in `devices/persistent.py`.
"""

from __future__ import annotations

from dataclasses import replace

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.ops import Cast, Dot, Load, Loop, Store
from gpusim.ir.pipeline import MOST_STAGES, Pipeline
from gpusim.ir.program import Program
from gpusim.lower import rules
from gpusim.lower.activation import with_activation
from gpusim.lower.frame import lets
from gpusim.lower.lowered import Footprint, Lowered
from gpusim.lower.matrix import WARPGROUP, WGMMA_K_BYTES, WGMMA_M
from gpusim.spec.resolve import Machine

#: bytes of shared memory through which a tile leaves, and for barriers (counters of seven library kernels: 16.1 to 16.5 KB besides the stages)
STAGING, BARRIERS = 16 << 10, 512
#: registers per thread at launch: three warpgroups share the register file (counters: 168 in all of them)
REGISTERS = {2: 255, 3: 168}
#: what a consumer may take from the producer: 240 a thread is the most that two of them find (setmaxnreg in steps of 8; 65536 registers)
MOST_REGISTERS = 240
#: instructions of a consumer's warp: before a tile, of a step, and
#: for each matrix instruction of it (counters, inst_executed over steps: 32 and 59 for 4 and 8 of them a warpgroup)
TILE, STEP, EACH = 150.0, 8.0, 2.5


def lower_specialised(program: Program, plan: Pipeline, machine: Machine, shared_limit: int) -> Lowered:
    """`program` for `machine`. Raises GpusimError for what the device lacks and stages that do not fit."""
    if machine.wgmma is None or machine.bulk is None:
        what = f"roles = '{plan.roles}' needs warpgroup instructions and a copy engine with mbarriers; {machine.name} lacks them."
        raise GpusimError(what, where=program.name, hint="Choose a GPU of compute capability 9.0, or roles='none'.")
    loop = next(op for op in program.body if isinstance(op, Loop))
    loads = [op for op in loop.body if isinstance(op, Load)]
    store = next(op for op in program.body if isinstance(op, Store))
    of = program.tensor(loads[0].box.tensor).dtype
    if of.matrix not in machine.wgmma.fma_per_cycle:
        known = ", ".join(machine.wgmma.fma_per_cycle)
        raise GpusimError(f"warpgroup instructions of this GPU multiply no {of}.", where=machine.name, hint=f"They multiply: {known}.")
    step = sum(ld.box.shape[0] * ld.box.shape[1] for ld in loads) * of.bytes
    _accumulators(program, plan, store)
    plan = replace(plan, stages=_stages(plan, step, machine, shared_limit))
    assert plan.stages is not None
    body = _body(program, plan, loop, loads, store)
    foot = Footprint(program.warps, REGISTERS[1 + plan.consumers], 0, plan.stages * step + STAGING + BARRIERS)
    return Lowered(program, with_activation(body, program, machine), foot, plan.stages, "wgmma")


def _accumulators(program: Program, plan: Pipeline, store: Store) -> None:
    """GpusimError if a consumer's sums do not fit its registers."""
    sharing = plan.consumers if plan.roles == "cooperative" else 1
    each = store.box.shape[0] * store.box.shape[1] // (32 * WARPGROUP * sharing)
    if each > MOST_REGISTERS - rules.LEAST_BESIDES:
        what = f"a consumer keeps {each} sums a thread; it may have {MOST_REGISTERS} registers, of which {rules.LEAST_BESIDES} are taken."
        more = "a smaller tile" if plan.roles == "cooperative" else "a smaller tile, or roles='cooperative', which halves it"
        raise GpusimError(what, where=program.name, hint=f"Use {more}.")


def _stages(plan: Pipeline, step: int, machine: Machine, shared_limit: int) -> int:
    """The depth that was asked for, or the deepest that fits. step: bytes of a stage."""
    deepest = (shared_limit - STAGING - BARRIERS) // step
    if 1 <= (plan.stages or 1) <= deepest:
        return plan.stages or min(deepest, MOST_STAGES)
    asked = plan.stages or 1
    what = f"{asked} stages of {step} bytes and {STAGING + BARRIERS} more need {asked * step + STAGING + BARRIERS} bytes of shared memory; "
    hint = f"At most {deepest} stages of this tile fit." if deepest else "Use a smaller tile."
    raise GpusimError(what + f"a CTA may have {shared_limit}.", where=machine.name, hint=hint)


def _body(program: Program, plan: Pipeline, loop: Loop, loads: list[Load], store: Store) -> tuple[fx.Effect, ...]:
    math = _math(program, plan, loop, loads)

    def copies(ahead: int) -> tuple[fx.Effect, ...]:
        shared_by = (plan.cluster[1], plan.cluster[0])
        made = [fx.Copy(ld.box, rules.VECTOR_BYTES, ahead, engine=True, multicast=n) for ld, n in zip(loads, shared_by, strict=True)]
        return (*made, fx.Commit())

    assert plan.stages is not None
    ahead = plan.stages - 1
    start = (fx.Issue(TILE), *(e for s in range(ahead) for e in copies(s)))
    step = (fx.WaitCopies(max(0, ahead - 1)), fx.Issue(STEP / 2), math, fx.WaitMatrix(1 if ahead else 0), *copies(ahead))
    return (*lets(program), *start, fx.Repeat(loop.var, loop.stop, step), *_epilogue(program, plan, store))


def _math(program: Program, plan: Pipeline, loop: Loop, loads: list[Load]) -> fx.Matrix:
    dot = next(op for op in loop.body if isinstance(op, Dot))
    assert dot.acc
    of = program.tensor(loads[0].box.tensor).dtype
    (bm, bk), (_, bn) = (ld.box.tile for ld in loads)
    rows, columns = (bm, bn) if plan.rows == "m" else (bn, bm)
    split = plan.roles == "cooperative" and plan.split == "columns"
    n, k = columns // 2 if split else columns, WGMMA_K_BYTES // of.bytes
    count = rows // WGMMA_M * (columns // n) * max(1, bk // k)
    each = count / (2 if plan.roles == "cooperative" else 1)
    return fx.Matrix("wgmma", of.matrix, WGMMA_M, n, k, count, among=STEP / 2 + EACH * each)


def _epilogue(program: Program, plan: Pipeline, store: Store) -> tuple[fx.Effect, ...]:
    """Pack, put into shared memory a part at a time, send away; the last part is still leaving when the CTA goes on."""
    t = program.tensor(store.box.tensor)
    elements = store.box.shape[0] * store.box.shape[1]
    nbytes = elements * t.dtype.bytes
    consumers = plan.consumers if plan.roles == "cooperative" else 1
    acc = elements / (32 * WARPGROUP * consumers)
    parts = max(1, -(-nbytes // STAGING))
    assert any(isinstance(op, Cast) for op in program.body)
    out: list[fx.Effect] = [fx.WaitMatrix(0), fx.Issue(rules.epilogue(int(acc))), fx.Shared(2 * nbytes / 128, acc / 4)]
    out += [fx.Barrier()] * (2 * parts)
    return (*out, fx.Fence(), fx.Store(store.box, rules.VECTOR_BYTES, 1 / parts))
