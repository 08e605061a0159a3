"""Tile IR -> effects of one CTA for loops with products and work on their results, in the order of the compiler.

A step of the pipelined loop: wait for the copies, barrier, first product, wait for all products (also the last one of the step before), work on its
result, second product, barrier, copies for a later step. So the work of a CTA never runs beside its own products; only other CTAs fill the gap.

With warps that only copy (FlashAttention-3) there are no barriers in the loop: a warpgroup multiplies the scores of the next step while it works on
those of this one, and another warpgroup's products fill what is left.
"""

from __future__ import annotations

from collections.abc import Callable

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.ops import Dot, Let, Load, Op, Reduce, Store, writes
from gpusim.ir.program import Program
from gpusim.lower import rules as common
from gpusim.lower.lowered import Footprint, Lowered
from gpusim.lower.matrix import Tile, choose
from gpusim.lower.mixed import memory, rules
from gpusim.lower.mixed.body import Body, body_of
from gpusim.lower.mixed.layout import Layout
from gpusim.lower.mixed.products import product
from gpusim.lower.mixed.work import NOTHING, SHUFFLES, Counter, plus, settled
from gpusim.lower.vector import piece_bytes
from gpusim.spec.resolve import Machine


def lower_mixed(program: Program, machine: Machine, shared_limit: int, register_limit: Callable[[int], int]) -> Lowered | None:
    """`program` for `machine`; None if it has no such loop. Limits and errors as of `lower.gpu_tile.lower`."""
    body = body_of(program)
    if body is None:
        return None
    first = body.dots[0]
    m, k = body.types[first.a].shape
    kind = choose(Tile(m, body.types[first.b].shape[1], k, program.warps, body.types[first.a].dtype), machine)
    if kind == "simt":
        what = f"no timing for products of {body.types[first.a].dtype} on the FMA pipe beside work on their results"
        raise GpusimError(f"{what}.", where=program.name, hint="Give bf16, fp16 or fp8; values can be computed in any format.")
    layout = Layout(m, program.warps, kind)
    stages = memory.stages_of(body, machine.cp_async, shared_limit)
    producers = int(program.params.get(PRODUCERS, 0)) if machine.bulk and kind == "wgmma" and stages > 1 else 0
    limit = min(register_limit(program.warps), rules.consumer_registers(program.warps, producers)) if producers else register_limit(program.warps)
    needs = memory.registers(body, layout, stages, limit)
    made = _Writer(body, layout, machine, stages, needs.spilled, producers > 0)
    held = (program.warps * min(needs.wanted, limit) + producers * rules.PRODUCER_REGISTERS) / (program.warps + producers)
    foot = Footprint(program.warps + producers, round(held), round(needs.spilled), memory.tiles(body).total(stages))
    return Lowered(program, made.program(), foot, stages, kind, ())


#: parameter of a program: warps that only copy, while the others compute (warp specialisation)
PRODUCERS = "producers"
#: bytes of one pass through shared memory
LINE = 128


class _Writer:
    """Writes the effects of one CTA, stretch by stretch."""

    def __init__(self, body: Body, layout: Layout, machine: Machine, stages: int, spilled: float, specialised: bool) -> None:
        self.body, self.layout, self.machine, self.stages = body, layout, machine, stages
        self.counter = Counter(body, layout)
        self.out: list[fx.Effect] = []
        self.spilled, self.specialised = spilled, specialised
        self.pending = self.late = NOTHING
        self.products = sum(self.matrix(d).count for d in body.dots) / layout.groups if layout.kind == "wgmma" else 0.0

    def program(self) -> tuple[fx.Effect, ...]:
        lets = tuple(op for op in self.body.before if isinstance(op, Let))
        loop = self.body.loop
        start = self._prologue()
        step = self._step()
        whole = (*start, fx.Repeat(loop.var, loop.stop - loop.start, step), *self._epilogue())
        outer = self.body.outer
        return (*lets, *whole) if outer is None else (*lets, fx.Repeat(outer.var, outer.stop - outer.start, whole))

    def matrix(self, dot: Dot) -> fx.Matrix:
        (m, k), n = self.body.types[dot.a].shape, self.body.types[dot.b].shape[1]
        return product(m, n, k, self.body.types[dot.a].dtype, self.layout, self.body.in_registers(dot), self.machine)

    # the loop

    def _step(self) -> tuple[fx.Effect, ...]:
        self.out = []
        ops = [op for op in self.body.loop.body if not isinstance(op, Load)]
        if self.stages > 1:
            self.out += [fx.WaitCopies(len(self.body.loads) * (self.stages - 2)), *([] if self.specialised else [fx.Barrier()])]
        self.out += [fx.Load(ld.box, piece_bytes(ld.box, self.body.program.tensor(ld.box.tensor))) for ld in self.body.aside]
        last = max(i for i, op in enumerate(ops) if isinstance(op, Dot))
        for i, op in enumerate(ops):
            self._op(op, op is ops[last], i > last)
        self._end()
        return tuple(self.out)

    def _op(self, op: Op, last: bool, behind: bool) -> None:
        """Work that no product of this step waits for is done behind the last one."""
        if isinstance(op, Dot):
            self._dot(op, last)
            return
        needed = writes(op) in self.body.needed
        if isinstance(op, Reduce):
            self.pending = plus(self.pending, self.counter.op(op))
            if needed:
                self.pending = plus(self.pending, self.counter.combine(op))
                self._flush(SHUFFLES * self.machine.simt.latency["SHFL"] + SHUFFLES * self.machine.alu_latency)
            else:
                self.late = plus(self.late, self.counter.combine(op))
        elif needed and not behind:
            self.pending = plus(self.pending, self.counter.op(op))
        else:
            self.late = plus(self.late, self.counter.op(op))

    def _dot(self, dot: Dot, last: bool) -> None:
        made = self.matrix(dot)
        if dot is self.body.dots[0]:
            if self.stages == 1:
                self._fetch(dot)
                self._stage(dot)
            self.pending = plus(self.pending, fx.Vector(uniform=rules.HEAD + rules.DESCRIPTOR * self.products, alu=rules.HEAD_ALU))
        else:
            if last:
                self._addresses(late=False)
                self._spills()
            self._flush(rules.RAMP if self.pending.xu else 0.0)
            if self.stages == 1:
                self._stage(dot)
        self._flush()
        self.out.append(made)
        if self.body.waits(dot) and not self.specialised:
            self.out.append(fx.WaitMatrix(0))
        if dot is self.body.dots[0] and self.body.aside:
            self.out.append(fx.WaitLoads())
        if self.stages == 1 and dot is self.body.dots[0]:
            for later in self.body.dots[1:]:
                self._fetch(later)

    def _flush(self, latency: float = 0.0) -> None:
        work, self.pending = settled(self.pending), NOTHING
        if work.count or latency:
            self.out.append(plus(work, fx.Vector(latency=latency)))

    def _addresses(self, late: bool) -> None:
        """64-bit addresses of the copies: some among the work, some among the copies."""
        if self.stages == 1 or self.specialised:
            return
        copies = sum(memory.per_thread(self.body, ld) for ld in self.body.loads)
        among = rules.LATE_SHARE * copies if copies >= rules.MANY_COPIES else min(copies, rules.LATE_FEW)
        if late:
            self.late = plus(self.late, fx.Vector(wide=among))
        else:
            self.pending = plus(self.pending, fx.Vector(wide=copies - among))

    def _store(self, st: Store) -> fx.Store:
        return fx.Store(st.box, piece_bytes(st.box, self.body.program.tensor(st.box.tensor)))

    def _spills(self) -> None:
        if self.spilled:
            held = round(self.spilled * 4 * 32 * self.layout.warps)
            self.out.append(fx.Local(rules.SPILL_LOADS * self.spilled, rules.SPILL_STORES * self.spilled, held))

    def _end(self) -> None:
        """Behind the last product: what it did not need, the barrier, and the copies of a later step."""
        self._addresses(late=True)
        self.late = plus(self.late, fx.Vector(uniform=rules.TAIL + rules.TAIL_DESCRIPTOR * self.products, alu=rules.TAIL_ALU))
        self.pending, self.late = self.late, NOTHING
        self._flush()
        self.out += [self._store(op) for op in self.body.loop.body if isinstance(op, Store)]
        if self.specialised:
            self.out += [fx.WaitMatrix(0), *self._copies(self.stages - 1)]
            return
        self.out += [fx.Barrier(), *self._copies(self.stages - 1)] if self.stages > 1 else [fx.WaitMatrix(0)]
        self.pending = fx.Vector(uniform=rules.END_UNIFORM, alu=rules.END_ALU)
        self._flush()

    def _copies(self, ahead: int) -> list[fx.Effect]:
        made: list[fx.Effect] = []
        for ld in self.body.loads:
            made += [fx.Copy(ld.box, piece_bytes(ld.box, self.body.program.tensor(ld.box.tensor)), ahead, engine=self.specialised), fx.Commit()]
        return made

    def _operands(self, dot: Dot) -> list[Load]:
        return [ld for ld in self.body.loads if ld.dst in (self.body.loaded(dot.a), self.body.loaded(dot.b)) and self.first_use(ld, dot)]

    def first_use(self, load: Load, dot: Dot) -> bool:
        return next(d for d in self.body.dots if load.dst in (self.body.loaded(d.a), self.body.loaded(d.b))) is dot

    def _fetch(self, dot: Dot) -> None:
        """Without a pipeline: load to registers. What a later product needs is asked for when the first one is done."""
        for ld in self._operands(dot):
            piece = piece_bytes(ld.box, self.body.program.tensor(ld.box.tensor))
            self.out += [fx.Vector(wide=memory.per_thread(self.body, ld), alu=rules.END_ALU), fx.Load(ld.box, piece)]

    def _stage(self, dot: Dot) -> None:
        """Then wait, store to shared memory when nobody reads it any more, make it visible, meet."""
        for ld in self._operands(dot):
            wavefronts = common.STAGING_PASSES * memory.load_bytes(self.body.program, ld) / LINE
            self.out += [fx.WaitLoads(), fx.Barrier(), fx.Shared(wavefronts, memory.per_thread(self.body, ld)), fx.Fence(), fx.Barrier()]

    # around it

    def _prologue(self) -> list[fx.Effect]:
        program, out = self.body.program, [fx.Vector(alu=rules.PROLOGUE)]
        made: list[fx.Effect] = [*out]
        for ld in (op for op in self.body.before if isinstance(op, Load)):
            piece, size = piece_bytes(ld.box, program.tensor(ld.box.tensor)), memory.load_bytes(program, ld)
            made += [fx.Load(ld.box, piece), fx.WaitLoads(), fx.Shared(size / 128, size / (piece * 32 * self.layout.warps))]
        for ahead in range(self.stages - 1):
            made += self._copies(ahead)
        return [*made, fx.Fence(), fx.Barrier()]

    def _epilogue(self) -> list[fx.Effect]:
        """The last products, work on the result, rows regrouped through shared memory, stores."""
        program = self.body.program
        work = settled(self.counter.all(op for op in self.body.after if not isinstance(op, Store)))
        made: list[fx.Effect] = [fx.WaitMatrix(0), plus(work, fx.Vector(alu=rules.EPILOGUE, latency=rules.RAMP))]
        for st in (op for op in self.body.after if isinstance(op, Store)):
            t = program.tensor(st.box.tensor)
            staged = st.box.shape[0] * st.box.shape[-1] * t.dtype.bytes
            made += [fx.Barrier(), fx.Shared(2 * staged / 128, staged / (16 * 32 * self.layout.warps)), fx.Barrier(), fx.Store(st.box, piece_bytes(st.box, t))]
        return made
