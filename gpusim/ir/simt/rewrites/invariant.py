"""What is the same in every iteration of a loop is computed once, in front of it (loop-invariant code motion).

What nvcc does: the same for pure operations, also from inside an If of the loop; not for predicates, of which there are few: they are
compared again. A load moves only from arrays that the kernel never writes, out of loops that surely run, from where it surely runs.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Break, Continue, For, If, Imm, Load, Op, Reg, Return, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.rewrites.alias import written
from gpusim.ir.simt.rewrites.cse import VOLATILE
from gpusim.ir.simt.rewrites.names import exposed
from gpusim.ir.simt.rewrites.unroll import trips
from gpusim.ir.simt.walk import assigned, contains, reads, walk, with_bodies, writes

DIVISIONS = frozenset("div rem floordiv mod".split())
Body = tuple[Stmt, ...]


def invariant(program: SimtProgram, facts: LaunchFacts) -> SimtProgram:
    made: Counter[int] = Counter(reg.id for stmt in walk(program.body) for reg in writes(stmt))
    mover = _Mover(made, written(program, facts))
    return replace(program, body=mover.body(program.body))


class _Mover:
    def __init__(self, made: Counter[int], changing: frozenset[int]) -> None:
        self.made, self.changing = made, changing

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            stmt = with_bodies(stmt, self.body)
            if isinstance(stmt, (For, While)):
                moved, stmt = self.loop(stmt)
                out += moved
            out.append(stmt)
        return tuple(out)

    def loop(self, stmt: For | While) -> tuple[list[Stmt], For | While]:
        """What moves in front, and the loop without it."""
        inside = assigned((stmt,))
        whole = stmt.body if isinstance(stmt, For) else (*stmt.head, *stmt.body)
        pass_ = _Pass(self, inside, exposed(whole))
        pass_.loads = isinstance(stmt, For) and bool(trips(stmt))
        if isinstance(stmt, For):
            return pass_.moved, replace(stmt, body=pass_.kept(stmt.body))
        return pass_.moved, replace(stmt, head=pass_.kept(stmt.head), body=pass_.kept(stmt.body))


class _Pass:
    """One loop. `inside`: registers that it assigns; those of moved statements leave the set."""

    def __init__(self, mover: _Mover, inside: set[int], early: set[int]) -> None:
        self.mover, self.inside, self.early = mover, inside, early
        self.moved: list[Stmt] = []
        self.loads = False

    def kept(self, body: Body) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, If):
                out.append(self.branch(stmt))
            elif self.fixed(stmt):
                self.moved.append(stmt)
                self.inside -= {reg.id for reg in writes(stmt)}
            else:
                out.append(stmt)
        return tuple(out)

    def branch(self, stmt: If) -> If:
        loads, self.loads = self.loads, False
        stmt = replace(stmt, then=self.kept(stmt.then), orelse=self.kept(stmt.orelse))
        self.loads = loads and not contains((stmt,), Break, Continue, Return)
        return stmt

    def fixed(self, stmt: Stmt) -> bool:
        """Whether it gives the same in every iteration, may run though the loop does not, and has nobody to disturb."""
        if isinstance(stmt, Op):
            movable = stmt.op != "mov" and stmt.op not in VOLATILE and stmt.dst.dtype != "bool" and not _may_divide_by_zero(stmt)
        elif isinstance(stmt, Load):
            movable = self.loads and stmt.buffer.id not in self.mover.changing and stmt.buffer.space == "global"
        else:
            return False
        single = all(self.mover.made[reg.id] == 1 and reg.id not in self.early for reg in writes(stmt))
        return movable and single and not any(self.varies(value) for value in reads(stmt))

    def varies(self, value: Value) -> bool:
        return isinstance(value, Reg) and value.id in self.inside


def _may_divide_by_zero(op: Op) -> bool:
    return op.op in DIVISIONS and not (isinstance(op.args[1], Imm) and op.args[1].value)
