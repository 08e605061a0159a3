"""What has been computed or loaded already is not computed or loaded again (common-subexpression elimination).

What nvcc does: the same, for pure operations and for loads that see no store in between, where the first stands on every way to the
second. `alias.py` says what a store may change.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import For, Load, Op, Reg, SimtProgram, While
from gpusim.ir.simt.rewrites.alias import Epochs
from gpusim.ir.simt.rewrites.fold import COMMUTATIVE, Folder
from gpusim.ir.simt.rewrites.forward import Scoped
from gpusim.ir.simt.rewrites.names import Supply

VOLATILE = frozenset(("clock", "globaltimer"))


def cse(program: SimtProgram, facts: LaunchFacts) -> SimtProgram:
    fresh = Supply(program)
    body = _Sharer(Epochs(program, facts), fresh).body(program.body)
    return replace(program, body=body, registers=fresh.registers)


class _Sharer(Folder):
    def __init__(self, epochs: Epochs, fresh: Supply) -> None:
        super().__init__(fresh)
        self.epochs = epochs
        self.available: Scoped[Hashable, tuple[tuple[Reg, int], ...]] = Scoped()
        self.pending: Hashable = None

    def push(self) -> None:
        super().push()
        self.available.push()

    def pop(self) -> None:
        super().pop()
        self.available.pop()

    def enter_loop(self, stmt: For | While) -> None:
        self.epochs.all()

    def simple(self, stmt: Any) -> Any:
        folded = self.folded(stmt) if type(stmt) is Op else stmt
        self.pending = None
        return self.operation(folded) if type(stmt) is Op else stmt

    def operation(self, op: Op) -> Op:
        if op.op == "mov" or op.op in VOLATILE:
            return op
        keys = [self.key(a) for a in op.args]
        if op.op in COMMUTATIVE and len(keys) == 2:
            keys.sort(key=repr)
        self.pending = (op.op, op.dst.dtype, *keys)
        held = self.held(self.pending)
        if held is None:
            return op
        self.pending = None
        return Op(op.dst, "mov", (held[0],), op.line)

    def held(self, key: Hashable) -> tuple[Reg, ...] | None:
        """Registers that still hold what this key stands for."""
        found = self.available.get(key)
        if found is None or any(self.version.get(reg.id, 0) != version for reg, version in found):
            return None
        return tuple([reg for reg, _ in found])

    def learn(self, stmt: Any) -> None:
        self.epochs.see(stmt)
        if type(stmt) is Op and self.pending is not None:
            self.available.set(self.pending, ((stmt.dst, self.version[stmt.dst.id]),))

    # loads: one statement may become several moves

    def emitted(self, stmt: Any) -> list[Any]:
        if not isinstance(stmt, Load):
            return super().emitted(stmt)
        key = ("load", stmt.buffer.space, stmt.buffer.id, self.epochs.of(stmt.buffer), self.key(self.resolve(stmt.index)), len(stmt.dst), stmt.cache)
        held = self.held(key)
        if held is not None:
            return [self.emit(Op(dst, "mov", (reg,), stmt.line)) for dst, reg in zip(stmt.dst, held, strict=True)]
        out = self.emit(stmt)
        self.available.set(key, tuple([(reg, self.version[reg.id]) for reg in stmt.dst]))
        return [out]
