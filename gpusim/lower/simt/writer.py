"""The state of selection: the instructions of every block so far, which machine register holds what, and what has been computed where.

A register of the program with one definition is one machine register. One with several has a home register, which holds it between
blocks; inside a block every definition is a new machine register, and the last one is written home.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.lower.simt.code import Instr
from gpusim.lower.simt.expr import Numbers
from gpusim.lower.simt.flow import Flow, Guard
from gpusim.lower.simt.fuse import Fusion
from gpusim.lower.simt.places import Places
from gpusim.lower.simt.table import words


@dataclass(slots=True)
class Writer:
    """lists: instructions per block, without what controls the flow. known: a key -> (block, machine register) where it was computed.
    size: 32-bit registers of each machine register. late: what moves the pointers of a loop on, at the end of a block. tails: how
    blocks end. held: parameters that the block needs in registers. counts: zeros set in a block. sides: (register, condition) -> where
    one side of a predicated if wrote it. cluster: CTAs of a cluster at this launch."""

    flow: Flow
    numbers: Numbers
    fusion: Fusion
    divergent: frozenset[int]
    next: int
    lists: list[list[Instr]]
    block: int = 0
    part: int = 0
    guards: tuple[Guard, ...] = ()
    line: int = 0
    env: dict[int, int] = field(default_factory=dict)
    alias: dict[int, int] = field(default_factory=dict)
    known: dict[object, list[tuple[int, int]]] = field(default_factory=dict)
    size: dict[int, int] = field(default_factory=dict)
    params: dict[int, Reg] = field(default_factory=dict)
    late: dict[int, list[Instr]] = field(default_factory=dict)
    tails: dict[int, list[Instr]] = field(default_factory=dict)
    places: Places = field(kw_only=True)
    counts: dict[object, int] = field(default_factory=dict)
    held: frozenset[int] = frozenset()
    sides: dict[tuple[int, Value], int] = field(default_factory=dict)
    cluster: int = 1

    def fresh(self, size: int = 1) -> int:
        self.next += 1
        self.size[self.next - 1] = size
        return self.next - 1

    def emit(
        self, op: str, dst: Iterable[int] = (), srcs: Iterable[int] = (), at: int | None = None, access: int | None = None, bits: int = 32, cached: bool = True
    ) -> None:
        """Append an instruction to the current block under the conditions of the statement, or to block `at` without conditions."""
        read = (*srcs, *(self.conditions() if at is None else ()))
        self.lists[self.block if at is None else at].append(Instr(op, tuple(dst), read, self.line, access, bits, cached))

    def conditions(self) -> tuple[int, ...]:
        return tuple(m for cond, _ in self.guards for m in self.operands((cond,)))

    # what was computed before

    def find(self, key: object, at: int) -> int | None:
        """A machine register that holds `key` in block `at`."""
        return next((m for b, m in self.known.get(key, ()) if self.flow.dominates(b, at)), None)

    def remember(self, key: object, at: int, machine: int) -> None:
        self.known.setdefault(key, []).append((at, machine))

    def outside(self, leaves: Iterable[int]) -> int:
        """The block where something that rests on these registers is computed: in front of all loops that do not change them."""
        at = self.block
        registers = tuple(leaves)
        for loop in self.flow.loops[self.block]:
            if any(self.flow.changes(loop, r) for r in registers):
                break
            at = loop.entry
        return at

    # registers of the program

    def machine(self, reg: int, at: int | None = None) -> int:
        """The machine register that holds register `reg` of the program now (in another block `at`: its home)."""
        if reg in self.params:
            return self.parameter(reg, reg in self.held and at is None, at)
        here = at is None or at == self.block
        return self.alias.get(reg, self.env.get(reg, reg) if here else reg)

    def parameter(self, reg: int, in_register: bool = False, at: int | None = None) -> int:
        """The machine register with a parameter for an instruction in block `at` (None: the current one); `parameters.py` says where it is
        loaded."""
        at = self.block if at is None else at
        again = self.again(at)
        if not again and self.flow.loops[at] and self.flow.loops[at][0].header not in self.flow.nests:
            at = self.flow.loops[at][0].entry
        key = ("param", reg, in_register or bool(again), again)
        for kind in (in_register,) if in_register else (False, True):
            for block, machine in self.known.get(("param", reg, kind, again), ()):
                if self.flow.dominates(block, at) and self.flow.keeps(block, at, kind):
                    return machine
        size = words(self.params[reg].dtype)
        found = self.fresh(size if key[2] else 0)
        self.emit("LDC" if key[2] else "ULDC", (found,), (), at, bits=32 * max(1, size))
        self.remember(key, at, found)
        return found

    def again(self, at: int) -> tuple[Guard, ...]:
        """The conditions under which a constant is loaded right where it is needed: of a predicated access in a loop."""
        return self.guards if at == self.block and self.flow.loops[at] else ()

    def uniform(self, reg: int) -> bool:
        """Whether a uniform register holds `reg`: the counter of a loop that all lanes run alike."""
        return reg not in self.divergent and any(self.flow.loops[item.block] for item in self.flow.defs.get(reg, ()))

    def once(self, key: object, op: str, size: int = 1, leaves: Iterable[int] = (), srcs: Iterable[int] = ()) -> int:
        """Compute `key` by one instruction in front of the loops around, unless that has been done."""
        leaves = tuple(leaves)
        at = self.places.of(key, self.outside(leaves), leaves)
        found = self.find(key, at)
        if found is None:
            found = self.fresh(size)
            self.emit(op, (found,), srcs, at)
            self.remember(key, at, found)
        return found

    def operands(self, values: Iterable[Value], in_registers: frozenset[int] = frozenset(), at: int | None = None) -> tuple[int, ...]:
        """Machine registers that an instruction (of block `at`) reads for these values: through what is folded into it. in_registers: parameters
        that it does not read from uniform registers."""
        found: list[int] = []
        for value in values:
            if isinstance(value, Imm):
                continue
            item = self.flow.single(value.id) if value.id in self.fusion.folded else None
            if item is not None and isinstance(item.stmt, Op):
                found += self.operands(item.stmt.args, in_registers, at)
            elif value.id in self.params:
                found.append(self.parameter(value.id, value.id in in_registers, at))
            else:
                found.append(self.machine(value.id))
        return tuple(dict.fromkeys(found))

    def constant(self, value: Imm) -> int:
        """A constant in a register, set in front of all loops."""
        return self.once(("imm", value.value, value.dtype), "IMAD.MOV", size=max(1, words(value.dtype)))

    def define(self, reg: Reg) -> int:
        """A machine register for a new value of `reg`. Both sides of a predicated if write the same one: each lane keeps its side's value."""
        if self.flow.single(reg.id) is not None:
            self.size[reg.id] = words(reg.dtype)
            return reg.id
        side = (reg.id, self.guards[-1][0]) if self.guards else None
        other = self.sides.get(side) if side else None
        if other is not None and other == self.env.get(reg.id):
            return other
        machine = self.fresh(words(reg.dtype))
        self.env[reg.id] = machine
        self.size[reg.id] = words(reg.dtype)
        if side:
            self.sides[side] = machine
        return machine

    def kept(self, reg: Reg) -> tuple[int, ...]:
        """The old value of a register that is about to be written under a condition, for the other lanes; none if the other side of the
        condition writes it as well."""
        if not self.guards or len(self.flow.defs.get(reg.id, ())) < 2:
            return ()
        cond, truth = self.guards[-1]
        other = (*self.guards[:-1], (cond, not truth))
        if any(item.block == self.block and item.guards == other for item in self.flow.defs[reg.id]):
            return ()
        return (self.machine(reg.id),)

    def bind(self, reg: Reg, machine: int) -> None:
        """`reg` is what `machine` holds; no instruction."""
        if self.flow.single(reg.id) is not None:
            self.alias[reg.id] = machine
        else:
            self.env[reg.id] = machine

    # the end of a block

    def settle(self) -> None:
        """Bring registers that live on to their homes: the instruction that computes the value writes there, or a copy does."""
        rows = self.lists[self.block]
        for reg, machine in self.env.items():
            if machine != reg and self.flow.live_out[self.block] >> reg & 1 and not self._retarget(rows, reg, machine):
                rows.append(Instr("MOV", (reg,), (machine,), self.line))
                self.size.setdefault(reg, self.size.get(machine, 1))
        self.env = {}
        rows += self.late.pop(self.block, [])

    def afterwards(self, block: int, op: str, dst: Iterable[int], srcs: Iterable[int]) -> None:
        """Append at the end of a block that has not been left yet."""
        self.late.setdefault(block, []).append(Instr(op, tuple(dst), tuple(srcs), self.line))

    def _retarget(self, rows: list[Instr], home: int, machine: int) -> bool:
        at = next((i for i, row in enumerate(rows) if machine in row.dst), None)
        if any(m == machine and self._elsewhere(r) for r, m in self.alias.items()):
            return False
        if at is None or machine < self.flow.code.program.registers and not self._only_here(machine):
            return False
        if any(home in row.srcs or home in row.dst for row in rows[at + 1 :]) or any(m == machine and r != home for r, m in self.env.items()):
            return False
        for part, begin in ((rows, at), (self.tails.get(self.block, []), 0)):
            for i in range(begin, len(part)):
                if machine in part[i].dst or machine in part[i].srcs:
                    part[i] = replace(part[i], dst=_swap(part[i].dst, machine, home), srcs=_swap(part[i].srcs, machine, home))
        for entries in self.known.values():
            entries[:] = [(b, m) for b, m in entries if m != machine]
        self.size[home] = self.size.get(machine, 1)
        return True

    def _elsewhere(self, reg: int) -> bool:
        """Whether a register of the program is read outside of the current block."""
        return any(u.block != self.block for u in self.flow.uses.get(reg, ())) or bool(set(self.flow.cond_uses.get(reg, ())) - {self.block})

    def _only_here(self, reg: int) -> bool:
        """Whether a register of the program with one definition is read in the current block alone."""
        uses = self.flow.uses.get(reg, ())
        return self.flow.single(reg) is not None and all(u.block == self.block for u in uses) and not set(self.flow.cond_uses.get(reg, ())) - {self.block}


def _swap(registers: tuple[int, ...], old: int, new: int) -> tuple[int, ...]:
    return tuple(new if r == old else r for r in registers)
