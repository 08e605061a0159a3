"""A walk over a program in the order it runs, which knows at every place which registers hold equal values.

A register may be assigned many times, so what is known of it is tied to its version: a number that grows with every assignment. What is
learnt inside an If or a loop is forgotten behind it. Whatever a loop assigns is unknown from its begin on. Early exits need no care: a
statement runs only for lanes that ran those before it in the same list.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from gpusim.ir.simt.nodes import Break, Continue, For, If, Imm, Op, Reg, Return, Stmt, Value, While
from gpusim.ir.simt.walk import assigned, with_reads, writes

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Body = tuple[Stmt, ...]
_LEAVES = (Break, Continue, Return)


class Scoped(Generic[K, V]):
    """A dict that can be put back to what it was at the last `push`."""

    def __init__(self) -> None:
        self.now: dict[K, V] = {}
        self.undo: list[tuple[K, Any] | None] = []

    def get(self, key: K) -> V | None:
        return self.now.get(key)

    def set(self, key: K, value: V | None) -> None:
        self.undo.append((key, self.now.get(key)))
        if value is None:
            self.now.pop(key, None)
        else:
            self.now[key] = value

    def push(self) -> None:
        self.undo.append(None)

    def pop(self) -> None:
        while (step := self.undo.pop()) is not None:
            if step[1] is None:
                self.now.pop(step[0], None)
            else:
                self.now[step[0]] = step[1]


class Forward:
    """The walk. A rewrite overrides `simple`, which sees a statement whose operands are already replaced by the values they equal."""

    def __init__(self) -> None:
        self.version: dict[int, int] = {}
        self.clock = 0
        self.same: Scoped[int, tuple[Value, int]] = Scoped()
        self.definition: Scoped[int, tuple[Op, tuple[int, ...]]] = Scoped()

    # what is known

    def resolve(self, value: Value) -> Value:
        """The oldest register or the constant that is known to equal it."""
        if type(value) is Reg:
            known = self.same.get(value.id)
            if known is not None and (isinstance(known[0], Imm) or self.version.get(known[0].id, 0) == known[1]):
                return known[0]
        return value

    def equal(self, reg: Reg, value: Value) -> None:
        """From here on reg holds value."""
        self.same.set(reg.id, (value, self.version.get(value.id, 0) if isinstance(value, Reg) else 0))

    def assign(self, ids: Iterable[int]) -> None:
        for reg in ids:
            self.clock += 1
            self.version[reg] = self.clock
            if reg in self.same.now:
                self.same.set(reg, None)
            if reg in self.definition.now:
                self.definition.set(reg, None)

    def defined(self, value: Value) -> Op | None:
        """The operation that made this register, if computing it again here would give the same."""
        known = self.definition.get(value.id) if isinstance(value, Reg) else None
        if known is None:
            return None
        op, versions = known
        return op if versions == self.versions(op) else None

    def versions(self, op: Op) -> tuple[int, ...]:
        return tuple([self.version.get(a.id, 0) for a in op.args if type(a) is Reg])

    def key(self, value: Value) -> Hashable:
        """Equal for values that are known to be equal."""
        if isinstance(value, Imm):
            return repr(value.value), value.dtype
        return value.id, self.version.get(value.id, 0)

    # to be overridden

    def simple(self, stmt: Any) -> Any:
        """The statement to emit instead."""
        return stmt

    def learn(self, stmt: Any) -> None:
        """Called when the statement has been emitted and its registers assigned."""

    def enter_loop(self, stmt: For | While) -> None:
        """Called in front of a loop and behind it, when what it assigns is unknown."""

    # the walk

    def body(self, body: Body) -> Body:
        out: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, If):
                self.branch(stmt, out)
            elif isinstance(stmt, (For, While)):
                out.append(self.loop(stmt))
            else:
                out.extend(self.emitted(stmt))
                if isinstance(stmt, _LEAVES):
                    break
        return tuple(out)

    def emitted(self, stmt: Any) -> list[Any]:
        """What stands in place of a simple statement."""
        return [self.emit(stmt)]

    def emit(self, stmt: Any) -> Any:
        stmt = self.simple(with_reads(stmt, self.resolve))
        before = self.versions(stmt) if type(stmt) is Op else ()
        self.assign([reg.id for reg in writes(stmt)])
        if type(stmt) is Op:
            if stmt.op == "mov" and stmt.args[0].dtype == stmt.dst.dtype:
                if stmt.args[0] != stmt.dst:
                    self.equal(stmt.dst, stmt.args[0])
            else:
                self.definition.set(stmt.dst.id, (stmt, before))
        self.learn(stmt)
        return stmt

    def branch(self, stmt: If, out: list[Stmt]) -> None:
        cond = self.resolve(stmt.cond)
        if isinstance(cond, Imm):
            out.extend(self.body(stmt.then if cond.value else stmt.orelse))
            return
        then = self.scoped(stmt.then, cond, True)
        orelse = self.scoped(stmt.orelse, cond, False)
        changed = assigned((*then, *orelse))
        self.assign(changed)
        if then or orelse:
            out.append(replace(stmt, cond=cond, then=then, orelse=orelse))
        for side, left in ((then, False), (orelse, True)):
            if side and isinstance(side[-1], _LEAVES) and cond.id not in changed:
                self.equal(cond, Imm(left, "bool"))

    def scoped(self, body: Body, cond: Reg | None = None, value: bool = True) -> Body:
        self.push()
        if cond is not None:
            self.equal(cond, Imm(value, "bool"))
        out = self.body(body)
        self.pop()
        return out

    def push(self) -> None:
        self.same.push()
        self.definition.push()

    def pop(self) -> None:
        self.same.pop()
        self.definition.pop()

    def loop(self, stmt: Any) -> Stmt:
        changed = assigned((stmt,))
        if isinstance(stmt, For):
            stmt = with_reads(stmt, self.resolve)
        self.assign(changed)
        self.enter_loop(stmt)
        self.push()
        if isinstance(stmt, For):
            stmt = replace(stmt, body=self.body(stmt.body))
        else:
            head = self.body(stmt.head)
            cond = self.resolve(stmt.cond)
            if isinstance(cond, Reg):
                self.equal(cond, Imm(True, "bool"))
            stmt = replace(stmt, head=head, cond=cond, body=self.body(stmt.body))
        self.pop()
        self.assign(changed)
        self.enter_loop(stmt)
        return stmt
