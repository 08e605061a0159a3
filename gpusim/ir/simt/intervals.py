"""Which values integers can have at a launch: an interval for every operation and its operands.

Known are the sizes of grid and block, the scalar arguments and shapes. Conditions narrow the ranges in what they guard and behind it. A
loop is gone through until the ranges at its begin are stable; a bound that still moves is given up, then narrowed once by the
loop's own test (widening and narrowing of abstract interpretation).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.growth import Env, constants, counter, grown, inside, join, widened
from gpusim.ir.simt.nodes import Break, Continue, For, If, Imm, Load, Op, Reg, Return, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.ranges import COMPARED, OPPOSITE, Range, fits, result, union, whole
from gpusim.ir.simt.rewrites.constants import bounds, is_integer
from gpusim.ir.simt.rewrites.names import exposed
from gpusim.ir.simt.walk import assigned, reads, writes

_ROUNDS, _STEPS = 4, 3  # looks at a loop until its ranges are given up; of those, how many try constants of the program


@dataclass(slots=True)
class Known:
    """Of one statement, over all the ways to it: range of what it assigns (None: no integer), ranges of its operands."""

    made: Range | None
    args: tuple[Range | None, ...]


@dataclass(slots=True)
class Analysis:
    """`at`: id of a statement object -> what is known there; absent for statements that no lane reaches."""

    at: dict[int, Known] = field(default_factory=dict)
    params: Env = field(default_factory=dict)


def analyse(program: SimtProgram, facts: LaunchFacts) -> Analysis:
    walk = _Walk(program, facts)
    walk.body(program.body, dict(walk.analysis.params), [], [])
    return walk.analysis


class _Walk:
    def __init__(self, program: SimtProgram, facts: LaunchFacts) -> None:
        self.analysis = Analysis()
        self.coordinates = facts.coordinates()
        self.constants = constants(program)
        self.recording = True
        self.clock = 0
        self.version: dict[int, int] = {}
        self.definition: dict[int, tuple[Op, int, tuple[int, ...]]] = {}
        for p in program.params:
            value = facts.params.get((p.arg, p.what))
            if value is not None and is_integer(p.reg.dtype) and fits((int(value), int(value)), p.reg.dtype):
                self.analysis.params[p.reg.id] = (int(value), int(value))

    def range(self, value: Value, env: Env) -> Range | None:
        if isinstance(value, Imm):
            return (int(value.value), int(value.value)) if not isinstance(value.value, float) else None
        known, limits = env.get(value.id), whole(value.dtype)
        return limits if known is None or limits is None else (max(known[0], limits[0]), min(known[1], limits[1]))

    # statements; an Env that is None: no lane gets here

    def body(self, body: tuple[Stmt, ...], env: Env | None, breaks: list[Env], continues: list[Env]) -> Env | None:
        for stmt in body if env is not None else ():
            if env is None:
                return None
            if isinstance(stmt, If):
                env = self.branch(stmt, env, breaks, continues)
            elif isinstance(stmt, For):
                env = self.counted(stmt, env)
            elif isinstance(stmt, While):
                env = self.tested(stmt, env)
            elif isinstance(stmt, (Break, Continue, Return)):
                if not isinstance(stmt, Return):
                    (breaks if isinstance(stmt, Break) else continues).append(env)
                return None
            else:
                self.simple(stmt, env)
        return env

    def simple(self, stmt: Any, env: Env) -> None:
        args = tuple([self.range(a, env) for a in reads(stmt)])
        made: Range | None = None
        if type(stmt) is Op:
            made = self.operation(stmt, self.chosen(stmt, env) if stmt.op == "select" else args)
        elif isinstance(stmt, Load) and stmt.buffer.data and is_integer(stmt.buffer.dtype):
            made = (min(stmt.buffer.data), max(stmt.buffer.data))
        versions = tuple([self.version.get(a.id, 0) for a in reads(stmt) if isinstance(a, Reg)]) if type(stmt) is Op else ()
        self.assign(writes(stmt), made, env)
        if type(stmt) is Op:
            self.definition[stmt.dst.id] = (stmt, self.version[stmt.dst.id], versions)
        self.record(stmt, made, args)

    def chosen(self, op: Op, env: Env) -> tuple[Range | None, ...]:
        """Operands of a selection: each only has the values for which it is chosen."""
        if not is_integer(op.dst.dtype):
            return (0, 1), None, None
        sides: list[Range | None] = []
        for value, truth in ((op.args[1], True), (op.args[2], False)):
            side = dict(env)
            if self.refine(op.args[0], truth, side):
                sides.append(self.again(value, side))
        return (0, 1), *((sides * 2)[:2] or (None, None))

    def again(self, value: Value, env: Env) -> Range | None:
        """The range of a value whose operands have been narrowed since it was computed."""
        op, old = self.defined(value), self.range(value, env)
        new = self.operation(op, tuple([self.range(a, env) for a in op.args])) if op is not None and op.args else None
        return old if new is None or old is None else (max(old[0], new[0]), min(old[1], new[1]))

    def operation(self, op: Op, args: tuple[Range | None, ...]) -> Range | None:
        if not is_integer(op.dst.dtype):
            return None
        if not op.args:
            place = self.coordinates.get(op.op)
            return place if place is not None and fits(place, op.dst.dtype) else bounds(op.dst.dtype)
        known = tuple([a for a in args if a is not None])
        return result(op.op, known, op.dst.dtype) if len(known) == len(args) else bounds(op.dst.dtype)

    def assign(self, regs: tuple[Reg, ...], made: Range | None, env: Env) -> None:
        for reg in regs:
            self.clock += 1
            self.version[reg.id] = self.clock
            if made is None:
                env.pop(reg.id, None)
            else:
                env[reg.id] = made

    def record(self, stmt: Stmt, made: Range | None, args: tuple[Range | None, ...]) -> None:
        if not self.recording:
            return
        old = self.analysis.at.get(id(stmt))
        if old is not None:
            made = union(old.made, made) if old.made and made else None
            args = tuple([union(a, b) if a and b else None for a, b in zip(old.args, args, strict=True)])
        self.analysis.at[id(stmt)] = Known(made, args)

    def branch(self, stmt: If, env: Env, breaks: list[Env], continues: list[Env]) -> Env | None:
        sides = []
        for body, truth in ((stmt.then, True), (stmt.orelse, False)):
            side = dict(env)
            sides.append(self.body(body, side if self.refine(stmt.cond, truth, side) else None, breaks, continues))
            self.forget(assigned(body))
        return join(sides)

    def forget(self, ids: set[int]) -> None:
        for reg in ids:
            self.clock += 1
            self.version[reg] = self.clock

    # loops

    def counted(self, stmt: For, env: Env) -> Env | None:
        start, stop, step = (self.range(v, env) or bounds(stmt.var.dtype) for v in (stmt.start, stmt.stop, stmt.step))
        var = counter(start, stop, step)
        # the counter passes its stop by less than a step
        past = union(var, (min(stop[0] + step[0], start[0]), max(stop[1] + step[1], start[1])))
        self.record(stmt, union(past, union(start, union(stop, step))), (start, stop, step))
        breaks: list[Env] = []

        def iteration(env: Env) -> Env | None:
            self.assign((stmt.var,), var if fits(var, stmt.var.dtype) else None, env)
            continues: list[Env] = []
            return join([self.body(stmt.body, env, breaks, continues), *continues])

        last = self.stable(stmt, stmt.body, env, iteration, breaks)
        return join([self.without(env, stmt), last, *breaks])

    def tested(self, stmt: While, env: Env) -> Env | None:
        breaks: list[Env] = []
        ends: list[Env] = []

        def iteration(env: Env) -> Env | None:
            continues: list[Env] = []
            tested = self.body(stmt.head, env, breaks, continues)
            ends.clear()
            if tested is None:
                return None
            left = dict(tested)
            if (not isinstance(stmt.cond, Imm) or not stmt.cond.value) and self.refine(stmt.cond, False, left):
                ends.append(left)
            if not self.refine(stmt.cond, True, tested):
                return None
            return join([self.body(stmt.body, tested, breaks, continues), *continues])

        self.stable(stmt, (*stmt.head, *stmt.body), env, iteration, breaks)
        return join([*ends, *breaks])

    def without(self, env: Env, stmt: Stmt) -> Env:
        return {reg: r for reg, r in env.items() if not isinstance(stmt, For) or reg != stmt.var.id}

    def stable(self, stmt: For | While, body: tuple[Stmt, ...], env: Env, iteration: Any, breaks: list[Env]) -> Env | None:
        """One recorded iteration from ranges that hold at the begin of all of them; what holds at its end."""
        changed = assigned((stmt,))
        early = exposed(body)
        carried = [reg for reg in changed if reg in early and reg in env]
        top = {reg: r for reg, r in env.items() if reg not in changed or reg in carried}
        top |= self.counting(stmt, top, set(carried))
        carried = [reg for reg in carried if reg in top and top[reg] == env[reg]] if isinstance(stmt, For) else carried
        recording, self.recording = self.recording, False
        for round_ in range(_ROUNDS + 1) if carried else ():
            breaks.clear()
            self.forget(changed)
            end = iteration(dict(top))
            moved = [reg for reg in carried if reg in top and end is not None and not inside(end.get(reg), top[reg])]
            if not moved or end is None:
                for reg in carried if end is not None else ():
                    if reg in top:
                        top[reg] = union(env[reg], end[reg])
                break
            for reg in moved:
                top.pop(reg) if round_ == _ROUNDS or reg not in end else top.update(
                    {reg: widened(top[reg], end[reg], self.constants if round_ < _STEPS else ())}
                )
        else:
            for reg in carried:
                top.pop(reg, None)
        self.recording = recording
        breaks.clear()
        self.forget(changed)
        end = iteration(dict(top))
        self.forget(changed)
        return end

    def counting(self, stmt: For | While, env: Env, carried: set[int]) -> Env:
        """Ranges of registers that grow by the same amount in every iteration of a For, whose number is known."""
        if not isinstance(stmt, For):
            return {}
        start, stop, step = (self.range(v, env) for v in (stmt.start, stmt.stop, stmt.step))
        if start is None or stop is None or step is None or step[0] <= 0:
            return {}
        times = max(0, -(-(stop[1] - start[0]) // step[0]))
        out: Env = {}
        for reg, by in grown(stmt.body, carried).items():
            amount = self.range(by, env)
            if amount is not None:
                out[reg] = (env[reg][0] + min(0, amount[0] * times), env[reg][1] + max(0, amount[1] * times))
        return out

    # conditions

    def defined(self, value: Value) -> Op | None:
        if not isinstance(value, Reg) or value.id not in self.definition:
            return None
        op, made, versions = self.definition[value.id]
        same = made == self.version.get(value.id) and versions == tuple([self.version.get(a.id, 0) for a in op.args if isinstance(a, Reg)])
        return op if same else None

    def refine(self, cond: Value, truth: bool, env: Env) -> bool:
        """Put into env what follows for the ranges from a condition; False if the condition cannot have this value."""
        op = self.defined(cond)
        if op is None:
            return True
        if op.op == "not":
            return self.refine(op.args[0], not truth, env)
        if (op.op == "and" and truth) or (op.op == "or" and not truth):
            return all(self.refine(arg, truth, env) for arg in op.args)
        if op.op not in COMPARED or not is_integer(op.args[0].dtype):
            return True
        a, b = (self.range(v, env) for v in op.args)
        if a is None or b is None:
            return True
        new = COMPARED[op.op if truth else OPPOSITE[op.op]](a, b)
        return all(self.limit(value, range_, env) for value, range_ in zip(op.args, new, strict=True))

    def limit(self, value: Value, new: Range, env: Env) -> bool:
        """value lies in `new`, and so does what it is a copy of; False if it cannot."""
        old = self.range(value, env)
        if old is None:
            return True
        new = (max(old[0], new[0]), min(old[1], new[1]))
        if new[0] > new[1]:
            return False
        if not isinstance(value, Reg):
            return True
        env[value.id] = new
        op = self.defined(value)
        source = self.range(op.args[0], env) if op is not None and op.args else None
        if op is None or source is None:
            return True
        if op.op in ("mov", "cvt") and fits(source, op.dst.dtype):
            return self.limit(op.args[0], new, env)
        if op.op in ("add", "sub") and isinstance(op.args[1], Imm):
            by = int(op.args[1].value) * (1 if op.op == "add" else -1)
            if fits((source[0] + by, source[1] + by), op.dst.dtype):
                return self.limit(op.args[0], (new[0] - by, new[1] - by), env)
        return True
