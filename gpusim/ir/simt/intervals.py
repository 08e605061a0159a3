"""Which values integers can have at a launch: an interval for every operation and its operands.

Known are the sizes of grid and block, the scalar arguments and shapes. Conditions narrow the ranges in what they guard and behind it. A
loop is gone through until the ranges at its begin are stable; a bound that still moves is given up, then narrowed once by the
loop's own test (widening and narrowing of abstract interpretation).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Break, Continue, For, If, Imm, Load, Op, Reg, Return, SimtProgram, Stmt, Value, While
from gpusim.ir.simt.ranges import COMPARED, OPPOSITE, Range, fits, result, union, whole
from gpusim.ir.simt.rewrites.constants import bounds, is_integer
from gpusim.ir.simt.rewrites.names import exposed
from gpusim.ir.simt.walk import assigned, reads, walk, writes

Env = dict[int, Range]
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


def _coordinates(facts: LaunchFacts) -> dict[str, Range]:
    g = facts.geometry
    out: dict[str, Range] = {"laneid": (0, 31), "warpid": (0, g.warps - 1)}
    for axis, block, grid in zip("xyz", g.block, g.grid, strict=True):
        out |= {f"tid.{axis}": (0, block - 1), f"ntid.{axis}": (block, block), f"ctaid.{axis}": (0, grid - 1), f"nctaid.{axis}": (grid, grid)}
    return out


class _Walk:
    def __init__(self, program: SimtProgram, facts: LaunchFacts) -> None:
        self.analysis = Analysis()
        self.coordinates = _coordinates(facts)
        self.constants = _constants(program)
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
                sides.append(self.range(value, side))
        return (0, 1), *((sides * 2)[:2] or (None, None))

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
        var = _counter(start, stop, step)
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
            moved = [reg for reg in carried if reg in top and end is not None and not _inside(end.get(reg), top[reg])]
            if not moved or end is None:
                for reg in carried if end is not None else ():
                    if reg in top:
                        top[reg] = union(env[reg], end[reg])
                break
            for reg in moved:
                top.pop(reg) if round_ == _ROUNDS or reg not in end else top.update({reg: self.widened(top[reg], end[reg], round_)})
        else:
            for reg in carried:
                top.pop(reg, None)
        self.recording = recording
        breaks.clear()
        self.forget(changed)
        end = iteration(dict(top))
        self.forget(changed)
        return end

    def widened(self, old: Range, new: Range, round_: int) -> Range:
        """A bound that moved goes to the next constant of the program first, then to the end of 64 bits."""
        low, high = old
        if new[0] < low:
            below = bisect_right(self.constants, new[0])
            low = self.constants[below - 1] if below and round_ < _STEPS else -(1 << 63)
        if new[1] > high:
            above = bisect_left(self.constants, new[1])
            high = self.constants[above] if above < len(self.constants) and round_ < _STEPS else (1 << 63) - 1
        return low, high

    def counting(self, stmt: For | While, env: Env, carried: set[int]) -> Env:
        """Ranges of registers that grow by the same amount in every iteration of a For, whose number is known."""
        if not isinstance(stmt, For):
            return {}
        start, stop, step = (self.range(v, env) for v in (stmt.start, stmt.stop, stmt.step))
        if start is None or stop is None or step is None or step[0] <= 0:
            return {}
        times = max(0, -(-(stop[1] - start[0]) // step[0]))
        out: Env = {}
        for reg, by in _grown(stmt.body, carried).items():
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


def _constants(program: SimtProgram) -> list[int]:
    """0, and integers that the program compares with and their neighbours, sorted."""
    compared = [stmt for stmt in walk(program.body) if isinstance(stmt, Op) and stmt.op in COMPARED]
    found = {int(v.value) for stmt in compared for v in stmt.args if isinstance(v, Imm) and not isinstance(v.value, float)}
    return sorted({0} | {near for value in found for near in (value - 1, value, value + 1)})


def _grown(body: tuple[Stmt, ...], carried: set[int]) -> dict[int, Value]:
    """Carried registers whose only assignment in the body is, at its top level, reg + something that the body does not assign."""
    times = Counter(reg.id for stmt in walk(body) for reg in writes(stmt))
    sums = {stmt.dst.id: stmt for stmt in body if isinstance(stmt, Op) and stmt.op == "add" and times[stmt.dst.id] == 1}
    out: dict[int, Value] = {}
    for stmt in body:
        if not isinstance(stmt, Op) or stmt.dst.id not in carried or times[stmt.dst.id] != 1:
            continue
        source = stmt.args[0] if stmt.op == "mov" else stmt.dst
        made = sums.get(source.id) if isinstance(source, Reg) else None
        if made is not None and made.args[0] == stmt.dst and (isinstance(made.args[1], Imm) or times[made.args[1].id] == 0):
            out[stmt.dst.id] = made.args[1]
    return out


def join(envs: list[Env | None]) -> Env | None:
    """What holds whichever way lanes came."""
    reached = [env for env in envs if env is not None]
    if not reached:
        return None
    first, *others = reached
    for other in others:
        first = {reg: r if other[reg] == r else union(r, other[reg]) for reg, r in first.items() if reg in other}
    return first


def _inside(a: Range | None, b: Range) -> bool:
    return a is not None and b[0] <= a[0] and a[1] <= b[1]


def _counter(start: Range, stop: Range, step: Range) -> Range:
    """Values of a loop variable."""
    up = (start[0], max(start[1], stop[1] - 1))
    down = (min(start[0], stop[0] + 1), start[1])
    if step[0] > 0:
        return up
    return down if step[1] < 0 else union(up, down)
