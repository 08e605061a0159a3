"""The loops of a program in one shape: what is tested, where, and what advances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import For, Imm, Op, Reg, Stmt, Value, While
from gpusim.ir.simt.rewrites.constants import evaluate
from gpusim.ir.simt.walk import assigned, reads, walk

_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))

Fresh = Callable[[str], Reg]  # a new register of this type
Uses = Counter[int]  # register -> how often it is read


@dataclass(frozen=True, slots=True)
class Loop:
    """setup: once, in front. test: before every look at `cond`. begin and step: first and last in every iteration."""

    setup: tuple[Op, ...]
    test: tuple[Stmt, ...]
    cond: Value
    begin: tuple[Op, ...]
    body: tuple[Stmt, ...]
    step: tuple[Op, ...]
    line: int


def uses(body: Iterable[Stmt]) -> Uses:
    """How often every register is read."""
    return Counter(v.id for stmt in walk(body) for v in reads(stmt) if isinstance(v, Reg))


def plain(stmt: While) -> Loop:
    return Loop((), stmt.head, stmt.cond, (), stmt.body, (), stmt.line)


def counted(stmt: For, total: Uses, fresh: Fresh, where: str) -> Loop:
    """A For with its counter. The counter is the user's variable unless somebody could see the difference: the variable keeps its last
    value after the loop, and assigning it in the body does not change the count. GpusimError: the step is 0."""
    changed = assigned(stmt.body)
    seen = stmt.var.id in changed or total[stmt.var.id] > uses(stmt.body)[stmt.var.id]
    counter = fresh(stmt.var.dtype) if seen else stmt.var
    setup: list[Op] = []
    stop, step = (_steady(value, stmt, changed, fresh, setup) for value in (stmt.stop, stmt.step))
    setup.append(Op(counter, "mov" if stmt.start.dtype == counter.dtype else "cvt", (stmt.start,), stmt.line))
    test, cond = _test(counter, stop, step, stmt.line, fresh, where)
    begin = (Op(stmt.var, "mov", (counter,), stmt.line),) if seen else ()
    return Loop(tuple(setup), test, cond, begin, stmt.body, (Op(counter, "add", (counter, step), stmt.line),), stmt.line)


def _steady(value: Value, stmt: For, changed: set[int], fresh: Fresh, setup: list[Op]) -> Value:
    """A bound in the type of the counter that the body cannot change: bounds are evaluated once."""
    dtype = stmt.var.dtype
    if isinstance(value, Imm):
        return Imm(value.value, dtype)
    if value.dtype == dtype and value.id not in changed and value.id != stmt.var.id:
        return value
    copy = fresh(dtype)
    setup.append(Op(copy, "mov" if value.dtype == dtype else "cvt", (value,), stmt.line))
    return copy


def _test(counter: Reg, stop: Value, step: Value, line: int, fresh: Fresh, where: str) -> tuple[tuple[Op, ...], Reg]:
    """Whether there is another iteration. A step of unknown sign needs both comparisons."""
    going = fresh("bool")
    if isinstance(step, Imm):
        if step.value == 0:
            raise GpusimError("the step of a range is 0", where=f"{where}:{line}", hint="give a step other than 0")
        return (Op(going, "lt" if step.value > 0 else "gt", (counter, stop), line),), going
    up, below, above = fresh("bool"), fresh("bool"), fresh("bool")
    ops = (
        Op(up, "gt", (step, Imm(0, step.dtype)), line),
        Op(below, "lt", (counter, stop), line),
        Op(above, "gt", (counter, stop), line),
        Op(going, "select", (up, below, above), line),
    )
    return ops, going


def folded(stmt: Stmt, known: dict[int, Imm]) -> Imm | None:
    """The constant that a statement computes, given the constants so far."""
    if not isinstance(stmt, Op):
        return None
    args = [known.get(v.id) if isinstance(v, Reg) else v for v in stmt.args]
    found = tuple(a for a in args if a is not None)
    return evaluate(stmt.op, found, stmt.dst.dtype) if len(found) == len(args) else None


def with_known(stmt: Stmt, known: dict[int, Imm]) -> Stmt:
    """A compare with its constants in place: the test in front of a loop compares with where the counter begins."""
    if not isinstance(stmt, Op) or stmt.op not in _COMPARES:
        return stmt
    args = tuple(known.get(v.id, v) if isinstance(v, Reg) else v for v in stmt.args)
    return stmt if all(isinstance(v, Imm) for v in args) else replace(stmt, args=args)


def certain(loop: Loop, known: dict[int, Imm], total: Uses) -> bool:
    """Whether the first test is known to be true, and nothing but the loop's condition reads what it computes: then it need not run."""
    known, made = dict(known), set[int]()
    for stmt in loop.test:
        value = folded(stmt, known)
        if value is None or not isinstance(stmt, Op):
            return False
        known[stmt.dst.id] = value
        made.add(stmt.dst.id)
    cond = loop.cond if isinstance(loop.cond, Imm) else known.get(loop.cond.id)
    inside = uses(loop.test)
    if isinstance(loop.cond, Reg):
        inside[loop.cond.id] += 1
    return cond is not None and bool(cond.value) and all(total[reg] <= inside[reg] for reg in made)
