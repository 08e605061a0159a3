"""Loops over ranges are unrolled.

What nvcc does, and here too: `unroll=0` (#pragma unroll) unrolls a loop of known trip count wholly; `unroll=n` makes n copies of the body per
iteration, and a loop for what is left over; `unroll=1` leaves the loop. Without a word (None) a loop of known, small trip count is
unrolled wholly: at most TRIPS iterations and STATEMENTS statements. A loop of unknown trip count stays as it is then, and so does every
while loop, and every loop that a Break or Continue leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from gpusim.ir.simt.nodes import Break, Continue, For, If, Imm, Op, Reg, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.rewrites.constants import bounds
from gpusim.ir.simt.rewrites.dead import dead
from gpusim.ir.simt.rewrites.fold import fold
from gpusim.ir.simt.rewrites.names import Supply, copied, private, read_counts
from gpusim.ir.simt.walk import bodies, with_bodies

TRIPS, STATEMENTS = 32, 512  # limits where the user says nothing
MOST = 1 << 16  # statements that unrolling may make of one loop
Body = tuple[Stmt, ...]


def unroll(program: SimtProgram) -> SimtProgram:
    """Unrolled from the outside in: bounds of an inner loop become constants in the copies of the outer one."""
    while True:
        walk = _Unroller(program)
        body = walk.body(program.body)
        if not walk.notes:
            return program
        notes = tuple(n for n in dict.fromkeys(walk.notes) if n not in program.notes)
        program = dead(fold(replace(program, body=body, registers=walk.fresh.registers, notes=program.notes + notes)))


def trips(loop: For) -> int | None:
    """Iterations, where constants say it."""
    start, stop, step = loop.start, loop.stop, loop.step
    if not (isinstance(start, Imm) and isinstance(stop, Imm) and isinstance(step, Imm)) or not step.value:
        return None
    return len(range(int(start.value), int(stop.value), int(step.value)))


def size(body: Iterable[Stmt]) -> int:
    """Statements, inner loops counted as often as they run where that is known and they will be unrolled."""
    total = 0
    for stmt in body:
        inside = sum(map(size, bodies(stmt)))
        total += 1 + inside * ((trips(stmt) or 1) if isinstance(stmt, For) and stmt.unroll != 1 else 1)
    return total


def leaves(body: Iterable[Stmt]) -> bool:
    """Whether a Break or Continue of this very loop stands in its body."""
    return any(isinstance(s, (Break, Continue)) or (isinstance(s, If) and (leaves(s.then) or leaves(s.orelse))) for s in body)


class _Unroller:
    def __init__(self, program: SimtProgram) -> None:
        self.fresh = Supply(program)
        self.total: Counter[int] = read_counts(program.body)
        self.notes: list[str] = []

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            copies = self.copies(stmt) if isinstance(stmt, For) else 1
            if isinstance(stmt, For) and copies == 0:
                out += self.wholly(stmt, trips(stmt) or 0)
            elif isinstance(stmt, For) and copies > 1:
                out += self.partly(stmt, copies)
            else:
                out.append(with_bodies(stmt, self.body) if isinstance(stmt, (If, For, While)) else stmt)
        return tuple(out)

    def copies(self, loop: For) -> int:
        """Copies of the body per iteration; 0: no loop is left."""
        count = trips(loop)
        if loop.unroll == 1 or self.total[loop.var.id] > read_counts(loop.body)[loop.var.id] or leaves(loop.body):
            return 1
        wanted = loop.unroll
        if count is not None:
            work = count * size(loop.body)
            small = count <= TRIPS and work <= STATEMENTS
            if work <= MOST and (wanted == 0 or (wanted is None and small) or (wanted is not None and wanted >= count)):
                return 0
        if wanted is None or wanted < 2 or not isinstance(loop.step, Imm) or int(loop.step.value) <= 0:
            return 1
        return wanted if wanted * size(loop.body) <= MOST else 1

    def wholly(self, loop: For, count: int) -> list[Stmt]:
        self.notes.append(f"loop at line {loop.line} unrolled wholly: {count} times")
        assert isinstance(loop.start, Imm) and isinstance(loop.step, Imm)
        at = [Imm(int(loop.start.value) + i * int(loop.step.value), loop.var.dtype) for i in range(count)]
        return self.repeated(loop, list(at))

    def repeated(self, loop: For, at: list[Value]) -> list[Stmt]:
        own = private(loop.body, self.total)
        out: list[Stmt] = []
        for value in at:
            out += copied(loop.body, {loop.var.id: value}, own, self.fresh)
        return out

    def partly(self, loop: For, copies: int) -> list[Stmt]:
        """Main loop of whole rounds, then a loop for the rest."""
        self.notes.append(f"loop at line {loop.line} unrolled {copies} times")
        assert isinstance(loop.step, Imm)
        step, dtype, line = int(loop.step.value), loop.var.dtype, loop.line
        setup, end, resume = self.split(loop, copies, step)
        counter = self.fresh(dtype, loop.var.name)
        at: list[Value] = [counter]
        body: list[Stmt] = []
        for i in range(1, copies):
            at.append(self.fresh(dtype, ""))
            body.append(Op(at[-1], "add", (counter, Imm(i * step, dtype)), line))  # type: ignore[arg-type]
        body += self.repeated(loop, at)
        main = For(counter, loop.start, end, Imm(copies * step, dtype), tuple(body), line, 1)
        count = trips(loop)
        rest = For(self.fresh(dtype, loop.var.name), resume, loop.stop, loop.step, (), line, 1 if count is None else 0)
        own = private(loop.body, self.total)
        rest = replace(rest, body=copied(loop.body, {loop.var.id: rest.var}, own, self.fresh))
        return [*setup, main] if count is not None and count % copies == 0 else [*setup, main, rest]

    def split(self, loop: For, copies: int, step: int) -> tuple[list[Stmt], Value, Value]:
        """Where the main loop ends, and where the rest resumes: at the start, if the main loop does not run."""
        dtype, line = loop.var.dtype, loop.line
        out: list[Stmt] = []

        def op(name: str, *args: Value) -> Reg:
            dst = self.fresh(dtype, "")
            out.append(Op(dst, name, args, line))
            return dst

        def imm(value: int) -> Imm:
            return Imm(min(value, bounds(dtype)[1]), dtype)

        span = op("sub", loop.stop, loop.start)
        if step == 1 and copies & (copies - 1) == 0:
            end = op("sub", loop.stop, op("and", span, imm(copies - 1)))
        else:
            rounds = op("div", op("add", span, imm(step - 1)), imm(step))
            whole = op("sub", rounds, op("mod", rounds, imm(copies)))
            end = op("add", loop.start, op("mul", whole, imm(step)))
        return out, end, op("max", loop.start, end)
