"""Registers of their own: for every loop's counter, and for what an unrolled copy computes only for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from gpusim.ir.simt.nodes import Break, Continue, For, If, Op, Reg, Return, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.walk import assigned, bodies, reads, walk, with_bodies, with_reads, with_writes, writes

Body = tuple[Stmt, ...]
Fresh = Callable[[str, str], Reg]  # type, name -> a new register


class Supply:
    """New registers behind those of a program."""

    def __init__(self, program: SimtProgram) -> None:
        self.registers = program.registers

    def __call__(self, dtype: str, name: str = "") -> Reg:
        self.registers += 1
        return Reg(self.registers - 1, dtype, name)


def own_counters(program: SimtProgram) -> SimtProgram:
    """Every For counts in a register that nothing else uses and copies it to the user's variable in each iteration. Copies that nobody
    needs go away later, and with them all doubt who else reads the variable."""
    fresh = Supply(program)

    def change(body: Body) -> Body:
        return tuple([one(with_bodies(stmt, change)) for stmt in body])

    def one(stmt: Stmt) -> Stmt:
        if not isinstance(stmt, For):
            return stmt
        counter = fresh(stmt.var.dtype, stmt.var.name)
        return replace(stmt, var=counter, body=(Op(stmt.var, "mov", (counter,), stmt.line), *stmt.body))

    body = change(program.body)
    return replace(program, body=body, registers=fresh.registers)


def read_counts(body: Iterable[Stmt]) -> Counter[int]:
    """Register -> how often it is read."""
    return Counter([v.id for stmt in walk(body) for v in reads(stmt) if isinstance(v, Reg)])


def exposed(body: Iterable[Stmt]) -> set[int]:
    """Registers that may be read in it before it assigns them."""
    found: set[int] = set()
    _exposed(body, set(), found)
    return found


def _exposed(body: Iterable[Stmt], made: set[int], found: set[int]) -> bool:
    """Adds to `made` what is surely assigned, to `found` what may be read before; whether lanes reach the end."""
    for stmt in body:
        if not isinstance(stmt, While):
            found.update([v.id for v in reads(stmt) if type(v) is Reg and v.id not in made])
        if isinstance(stmt, If):
            sides = [set(made), set(made)]
            ends = [_exposed(inner, side, found) for inner, side in zip(bodies(stmt), sides, strict=True)]
            reached = [side for side, end in zip(sides, ends, strict=True) if end]
            if not reached:
                return False
            made |= set.intersection(*reached)
        elif isinstance(stmt, For):
            _exposed(stmt.body, made | {stmt.var.id}, found)
        elif isinstance(stmt, While):
            _exposed(stmt.head, made, found)
            found.update([v.id for v in reads(stmt) if type(v) is Reg and v.id not in made])
            _exposed(stmt.body, set(made), found)
        elif isinstance(stmt, (Break, Continue, Return)):
            return False
        else:
            made.update([reg.id for reg in writes(stmt)])
    return True


def private(body: Body, total: Counter[int]) -> set[int]:
    """Registers whose values live only within one run of this body. `total`: reads in the whole program."""
    inside = read_counts(body)
    return {reg for reg in assigned(body) - exposed(body) if total[reg] == inside[reg]}


def copied(body: Body, values: dict[int, Value], renamed: set[int], fresh: Fresh) -> Body:
    """The body with `values` read in place of some registers, and new registers in place of `renamed` ones."""
    names: dict[int, Reg] = {}

    def read(value: Value) -> Value:
        if type(value) is not Reg:
            return value
        return values.get(value.id) or (write(value) if value.id in renamed else value)

    def write(reg: Reg) -> Reg:
        if reg.id not in renamed:
            return reg
        if reg.id not in names:
            names[reg.id] = fresh(reg.dtype, reg.name)
        return names[reg.id]

    def change(body: Body) -> Body:
        return tuple([with_bodies(with_writes(with_reads(stmt, read), write), change) for stmt in body])

    return change(body)
