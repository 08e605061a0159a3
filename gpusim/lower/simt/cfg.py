"""From structured statements to blocks.

Loops get the form that compilers emit: a guard in front, the body, the test at the bottom with the branch back. So an iteration of a
loop whose body is straight is one block. The guard is left out where constants prove that the loop runs at least once.

Blocks are numbered in the order they are opened here: what an If holds stands before what follows the If, a loop before what follows
the loop. Lanes that leave early (Break, Continue) go to a later block and wait there, as "lowest block first" asks. A Return ends its
lanes in a block where it stands: they wait for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import prod

from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import (
    AsyncCopy,
    Atomic,
    Break,
    BulkCopy,
    Continue,
    For,
    If,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Reg,
    Return,
    Simple,
    SimtProgram,
    Stmt,
    Store,
    Value,
    While,
)
from gpusim.ir.simt.walk import assigned, contains, itemsize, memory, writes
from gpusim.lower.simt.code import Access, Block, Branch, Code, End, Exit, Jump, targets
from gpusim.lower.simt.early import early
from gpusim.lower.simt.loops import Loop, certain, counted, folded, plain, uses, with_known
from gpusim.lower.simt.merged import merged
from gpusim.lower.simt.preheaders import preheaders
from gpusim.lower.simt.tidy import moved, tidy


def build(program: SimtProgram) -> Code:
    """The program's blocks, without instructions, numbered as `code.py` says. Registers are added for loop counters.

    `shared_bytes` is what static shared arrays need. GpusimError: a loop whose step is the constant 0; Break, Continue outside a loop.
    """
    builder = _Builder(program)
    builder.statements(program.body)
    tidied, registers = merged(tidy(builder.finished()), builder.registers)
    blocks, accesses = _with_accesses(early(preheaders(tidied)))
    static = max((b.offset + itemsize(b.dtype) * prod(b.shape) for b in program.buffers if b.space == "shared" and b.shape is not None), default=0)
    return Code(replace(program, registers=registers), tuple(blocks), tuple(accesses), shared_bytes=static, notes=program.notes)


@dataclass(slots=True)
class _Draft:
    """A block while it grows. Until all are there, targets are labels."""

    id: int
    line: int = 0
    ops: list[Simple | If] = field(default_factory=list)
    end: End = Exit()


@dataclass(frozen=True, slots=True)
class _Targets:
    """Labels that Break and Continue of the innermost loop go to."""

    after: int
    latch: int


class _Builder:
    """One walk over the statements. `open` is the block that grows, None behind a jump."""

    def __init__(self, program: SimtProgram) -> None:
        self.program = program
        self.registers = program.registers
        self.drafts: list[_Draft] = [_Draft(0)]
        self.open: _Draft | None = self.drafts[0]
        self.places: list[int] = []  # label -> block
        self.wanted: set[int] = set()  # labels that some block ends at
        self.loops: list[_Targets] = []
        self.known: dict[int, Imm] = {}
        self.uses = uses(program.body)

    def finished(self) -> list[Block]:
        self.close(Exit())
        return [Block(d.id, tuple(d.ops), moved(d.end, self.places.__getitem__), line=d.line) for d in self.drafts]

    # blocks

    def label(self) -> int:
        self.places.append(-1)
        return len(self.places) - 1

    def place(self, label: int, line: int = 0) -> None:
        """Open the block of this label; what is open runs into it. A label that nobody wants opens nothing."""
        self.close(Jump(label))
        if label in self.wanted:
            self.open = _Draft(len(self.drafts), line)
            self.places[label] = self.open.id
            self.drafts.append(self.open)

    def close(self, end: End) -> None:
        if self.open is not None:
            self.open.end = end
            self.wanted.update(targets(end))
            self.open = None

    def fresh(self, dtype: str) -> Reg:
        self.registers += 1
        return Reg(self.registers - 1, dtype)

    # statements

    def statements(self, body: Iterable[Stmt]) -> None:
        for stmt in body:
            if self.open is None:
                return
            self.statement(stmt)

    def statement(self, stmt: Stmt) -> None:
        if isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, For):
            self.loop(counted(stmt, self.uses, self.fresh, self.program.file))
        elif isinstance(stmt, While):
            self.loop(plain(stmt))
        elif isinstance(stmt, Return):
            self.close(Exit())
        elif isinstance(stmt, (Break, Continue)):
            self.leave(stmt)
        else:
            self.simple(stmt)

    def simple(self, stmt: Simple | If) -> None:
        assert self.open is not None
        self.open.ops.append(stmt)
        self.open.line = self.open.line or stmt.line
        value = folded(stmt, self.known)
        self.forget((stmt,))
        if value is not None:
            self.known[writes(stmt)[0].id] = value

    def forget(self, body: Iterable[Stmt]) -> None:
        for reg in assigned(body):
            self.known.pop(reg, None)

    def leave(self, stmt: Break | Continue) -> None:
        if not self.loops:
            word = type(stmt).__name__.lower()
            raise GpusimError(f"{word} outside of a loop", where=f"{self.program.file}:{stmt.line}", hint=f"put the {word} inside a for or while loop")
        self.close(Jump(self.loops[-1].after if isinstance(stmt, Break) else self.loops[-1].latch))

    def branch(self, stmt: If) -> None:
        if isinstance(stmt.cond, Imm):
            self.statements(stmt.then if stmt.cond.value else stmt.orelse)
        elif stmt.predicated and not contains((stmt,), For, While, Break, Continue, Return):
            self.simple(stmt)
        else:
            self.sides(stmt)

    def sides(self, stmt: If) -> None:
        yes, no, join = self.label(), self.label(), self.label()
        self.close(Branch(stmt.cond, yes, no if stmt.orelse else join, stmt.line))
        known = self.known
        for label, body in ((yes, stmt.then), (no, stmt.orelse)):
            self.known = dict(known)
            if label in self.wanted:
                self.place(label, body[0].line if body else stmt.line)
                self.statements(body)
            self.close(Jump(join))
        self.place(join)
        self.known = known
        self.forget((stmt,))

    def loop(self, loop: Loop) -> None:
        top, after, latch = self.label(), self.label(), self.label()
        self.statements(loop.setup)
        if not certain(loop, self.known, self.uses):
            for stmt in loop.test:
                self.statement(with_known(stmt, self.known))
            self.close(_either(loop.cond, top, after, loop.line))
        self.forget((*loop.test, *loop.begin, *loop.body, *loop.step))
        known = dict(self.known)
        self.loops.append(_Targets(after, latch))
        self.place(top, loop.line)
        self.statements((*loop.begin, *loop.body))
        self.loops.pop()
        if latch in self.wanted:
            self.place(latch, loop.line)
        self.statements((*loop.step, *loop.test))
        self.close(_either(loop.cond, top, after, loop.line))
        self.place(after)
        self.known = known


def _either(cond: Value, yes: int, no: int, line: int) -> End:
    if isinstance(cond, Imm):
        return Jump(yes if cond.value else no)
    return Branch(cond, yes, no, line)


def _with_accesses(blocks: list[Block]) -> tuple[list[Block], list[Access]]:
    """Every memory statement gets an Access, in the order of the blocks."""
    accesses: list[Access] = []
    out: list[Block] = []
    for block in blocks:
        begin = len(accesses)
        accesses += [_access(stmt, block.id) for stmt in memory(block.ops)]
        out.append(replace(block, accesses=tuple(range(begin, len(accesses)))))
    return out, accesses


def _access(stmt: Load | Store | Atomic | AsyncCopy | BulkCopy | Mbarrier | LdMatrix, block: int) -> Access:
    """A copy is listed with what it reads; `ldmatrix` with the bytes that a lane receives."""
    if isinstance(stmt, BulkCopy):
        return Access("bulk", stmt.source.space, stmt.source.name, itemsize(stmt.source.dtype), block, stmt.line)
    if isinstance(stmt, Mbarrier):
        return Access("mbarrier", stmt.buffer.space, stmt.buffer.name, itemsize(stmt.buffer.dtype), block, stmt.line)
    if isinstance(stmt, AsyncCopy):
        return Access("copy", stmt.source.space, stmt.source.name, stmt.count * itemsize(stmt.source.dtype), block, stmt.line)
    if isinstance(stmt, LdMatrix):
        return Access("ldmatrix", stmt.buffer.space, stmt.buffer.name, 4 * len(stmt.dst), block, stmt.line)
    kind, elements = "load", 1
    if isinstance(stmt, Load):
        elements = len(stmt.dst)
    elif isinstance(stmt, Store):
        kind, elements = "store", len(stmt.values)
    else:
        kind = "red" if stmt.dst is None else "atomic"
    return Access(kind, stmt.buffer.space, stmt.buffer.name, elements * itemsize(stmt.buffer.dtype), block, stmt.line)
