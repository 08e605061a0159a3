"""Small Ifs lose their branch.

What nvcc does, as its machine code shows: a body of up to LIMIT instructions is issued under a predicate, by all lanes in one go. One that
loads from global memory may be twice as long, because a branch would hold up the loads of the lanes behind it. Integer arithmetic in such a
body runs without the predicate, in front, where neighbours can share it. An If that only holds another If becomes one condition. If both
sides give one variable a value that is there already, it is a selection. Loops, barriers, exchange between lanes, calls and early exits
keep their branch. So does an If at the very end: the lanes that it leaves out just exit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from gpusim.ir.simt.nodes import AsyncCopy, Atomic, If, Imm, Load, Op, Reg, SimtProgram, Stmt, Store, Value
from gpusim.ir.simt.rewrites.constants import is_integer
from gpusim.ir.simt.rewrites.cse import VOLATILE
from gpusim.ir.simt.rewrites.invariant import DIVISIONS
from gpusim.ir.simt.rewrites.names import Supply
from gpusim.ir.simt.walk import walk, with_bodies, writes

LIMIT = 7
LIMIT_LOADS = 16
NEVER = 1000
# instructions, where it is not one; more than a few of them are sequences with branches of their own
_COSTS = {
    **dict.fromkeys("floordiv mod div rem".split(), 16),
    **dict.fromkeys("sqrt rsqrt rcp".split(), 8),
    **dict.fromkeys("exp exp2 log log2 log10 fdividef tanh".split(), 6),
    **dict.fromkeys("expm1 log1p sin cos tan asin acos atan sinh cosh asinh acosh atanh erf erfc gamma lgamma pow atan2 hypot fmod".split(), 24),
}
Body = tuple[Stmt, ...]


def predicate(program: SimtProgram) -> SimtProgram:
    made: Counter[int] = Counter(reg.id for stmt in walk(program.body) for reg in writes(stmt))
    walk_ = _Predicator(made, Supply(program))
    body = walk_.body(program.body, last=True)
    notes = tuple(n for n in dict.fromkeys(walk_.notes) if n not in program.notes)
    return replace(program, body=body, registers=walk_.fresh.registers, notes=program.notes + notes)


def cost(body: Iterable[Stmt]) -> int:
    """About how many instructions; NEVER and more if it cannot do without a branch."""
    return sum(_cost(stmt) for stmt in body)


def _cost(stmt: Stmt) -> int:
    if isinstance(stmt, Op):
        return _operation(stmt)
    if isinstance(stmt, If):
        return 1 + cost(stmt.then) + cost(stmt.orelse) if stmt.predicated else NEVER
    if isinstance(stmt, (Load, Store)):
        return 1 if stmt.buffer.space == "shared" else 2
    return 3 if isinstance(stmt, (Atomic, AsyncCopy)) else NEVER


def _operation(op: Op) -> int:
    if op.op == "cvt" and is_integer(op.dst.dtype) and is_integer(op.args[0].dtype):
        return 0
    if op.op in ("add", "sub") and is_integer(op.dst.dtype) and isinstance(op.args[1], Imm):
        return 0  # part of an address, mostly
    return _COSTS.get(op.op, 1)


class _Predicator:
    def __init__(self, made: Counter[int], fresh: Supply) -> None:
        self.made, self.fresh = made, fresh
        self.notes: list[str] = []

    def body(self, body: Body, last: bool = False) -> Body:
        """`last`: the kernel ends behind this body."""
        out: list[Stmt] = []
        for at, stmt in enumerate(body):
            if isinstance(stmt, If) and last and at == len(body) - 1 and not stmt.orelse:
                out.append(replace(stmt, then=self.body(stmt.then, last=True)))
                continue
            stmt = with_bodies(stmt, self.body)
            if isinstance(stmt, If):
                self.branch(stmt, out)
            else:
                out.append(stmt)
        return tuple(out)

    def branch(self, stmt: If, out: list[Stmt]) -> None:
        sides = (*stmt.then, *stmt.orelse)
        loads = any(isinstance(s, Load) and s.buffer.space == "global" for s in walk(sides))
        ahead: list[Stmt] = []
        then, orelse = (self.advanced(side, ahead) for side in (stmt.then, stmt.orelse))
        if max(cost((*then, *orelse)), cost(ahead)) > (LIMIT_LOADS if loads else LIMIT):
            out.append(stmt)
            return
        out += ahead
        stmt = self.joined(replace(stmt, then=then, orelse=orelse, predicated=True), out)
        chosen = self.selected(stmt)
        if chosen is None:
            self.notes.append(f"if at line {stmt.line} predicated")
            out.append(stmt)
        elif chosen:
            self.notes.append(f"if at line {stmt.line} is a selection")
            out += chosen

    def advanced(self, body: Body, out: list[Stmt]) -> Body:
        """Integer arithmetic goes to `out`; what is left of the body."""
        left: list[Stmt] = []
        stays: set[int] = set()
        for stmt in body:
            if isinstance(stmt, Op) and self.free(stmt) and not any(isinstance(v, Reg) and v.id in stays for v in stmt.args):
                out.append(stmt)
            else:
                left.append(stmt)
                stays.update(reg.id for inner in walk((stmt,)) for reg in writes(inner))
        return tuple(left)

    def free(self, op: Op) -> bool:
        """Whether it may run for all lanes."""
        if op.op == "mov" or op.op in VOLATILE or (op.op in DIVISIONS and not (isinstance(op.args[1], Imm) and op.args[1].value)):
            return False
        return self.made[op.dst.id] == 1 and (is_integer(op.dst.dtype) or op.dst.dtype == "bool")

    def joined(self, stmt: If, out: list[Stmt]) -> If:
        """An If that holds nothing but an If, as one condition."""
        inner = stmt.then[0] if len(stmt.then) == 1 else None
        if stmt.orelse or not isinstance(inner, If) or inner.orelse:
            return stmt
        both = self.fresh("bool")
        out.append(Op(both, "and", (stmt.cond, inner.cond), stmt.line))
        return replace(inner, cond=both)

    def selected(self, stmt: If) -> list[Stmt] | None:
        """The If as selections, or as boolean algebra; nothing at all if its sides are empty; None if it must stay."""
        then, orelse = _copies(stmt.then), _copies(stmt.orelse)
        if then is None or orelse is None:
            return None
        both = then.keys() == orelse.keys() and all(self.independent(values) for values in (then, orelse))
        single = not orelse and len(then) == 1 and all(reg.dtype == "bool" for reg in then)
        if not both and not single:
            return None
        return [Op(reg, "select", (stmt.cond, value, orelse.get(reg, reg)), stmt.line) for reg, value in then.items()]

    def independent(self, values: dict[Reg, Value]) -> bool:
        """Whether no copy reads what another one writes."""
        return not any(isinstance(v, Reg) and v.id in {reg.id for reg in values} for v in values.values())


def _copies(body: Body) -> dict[Reg, Value] | None:
    """Variable -> what it is set to, if the body does nothing else."""
    out: dict[Reg, Value] = {}
    for stmt in body:
        if not isinstance(stmt, Op) or stmt.op != "mov" or stmt.dst in out:
            return None
        out[stmt.dst] = stmt.args[0]
    return out
