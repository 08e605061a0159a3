"""A variable that is used again for something else becomes a register of its own, as register allocation by webs does.

Definitions that can reach one use belong together; what does not belong together gets different registers. So most registers have one
definition, and selection can see through them. A definition under a condition keeps the old value in the other lanes: it belongs to
what it overwrites.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from gpusim.ir.simt.nodes import If, Reg, Simple, Value
from gpusim.ir.simt.walk import bodies, reads, walk, with_bodies, with_reads, with_writes, writes
from gpusim.lower.simt.code import Block, Branch, Code
from gpusim.lower.simt.flow import successors


def split(code: Code) -> Code:
    """`code` with one register for every web. Values stay the same."""
    several = _several(code)
    if not several:
        return code
    webs = _Webs(code, several)
    return replace(code, blocks=tuple(map(webs.renamed, code.blocks)), program=replace(code.program, registers=webs.registers))


def _several(code: Code) -> frozenset[int]:
    """Registers that are written in several places."""
    once: set[int] = {p.reg.id for p in code.program.params}
    twice: set[int] = set()
    for block in code.blocks:
        for stmt in walk(block.ops):
            for reg in writes(stmt):
                (twice if reg.id in once else once).add(reg.id)
    return frozenset(twice - {p.reg.id for p in code.program.params})


@dataclass(slots=True)
class _Webs:
    """Definitions are numbered in the order of the blocks; number -1 - r is what register r holds before any."""

    code: Code
    several: frozenset[int]
    registers: int = 0
    parent: dict[int, int] = field(default_factory=dict)
    reach: list[dict[int, frozenset[int]]] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    names: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.registers = self.code.program.registers
        self._number()
        self._flow()
        for block in self.code.blocks:
            self._through(block, lambda reg, found: self._join(found))
        self._name()

    def _number(self) -> None:
        count = 0
        for block in self.code.blocks:
            self.first.append(count)
            count += sum(reg.id in self.several for stmt in walk(block.ops) for reg in writes(stmt))

    def _flow(self) -> None:
        """Which definitions reach the begin of every block. Blocks are numbered so that few need a second look in that order."""
        blocks = self.code.blocks
        self.reach = [{} for _ in blocks]
        self.reach[0] = {r: frozenset((-1 - r,)) for r in self.several}
        todo = [0]
        while todo:
            at = heappop(todo)
            out = self._through(blocks[at], None)
            for s in successors(blocks[at]):
                if self._reaches(s, out) and s not in todo:
                    heappush(todo, s)

    def _reaches(self, block: int, out: Mapping[int, frozenset[int]]) -> bool:
        """Whether these definitions are more than was known to reach it."""
        known, more = self.reach[block], False
        for reg, found in out.items():
            before = known.get(reg)
            if before is None or not found <= before:
                known[reg], more = found | before if before else found, True
        return more

    def _through(self, block: Block, use: Callable[[Reg, frozenset[int]], object] | None) -> dict[int, frozenset[int]]:
        now = dict(self.reach[block.id])
        number = [self.first[block.id]]

        def visit(stmt: Simple | If, inside: bool) -> None:
            if use is not None:
                for value in reads(stmt):
                    if isinstance(value, Reg) and value.id in self.several:
                        use(value, now.get(value.id, frozenset()))
            for body in bodies(stmt):
                for inner in body:
                    visit(inner, True)  # type: ignore[arg-type]
            for reg in writes(stmt):
                if reg.id in self.several:
                    found = frozenset((number[0],))
                    number[0] += 1
                    if inside:
                        found |= now.get(reg.id, frozenset())
                        if use is not None:
                            use(reg, found)
                    now[reg.id] = found

        for stmt in block.ops:
            visit(stmt, False)
        if use is not None and isinstance(block.end, Branch) and isinstance(block.end.cond, Reg) and block.end.cond.id in self.several:
            use(block.end.cond, now.get(block.end.cond.id, frozenset()))
        return now

    def _find(self, number: int) -> int:
        while self.parent.get(number, number) != number:
            number = self.parent[number]
        return number

    def _join(self, found: frozenset[int]) -> None:
        roots = sorted({self._find(n) for n in found})
        for root in roots[1:]:
            self.parent[root] = roots[0]

    def _name(self) -> None:
        """The first web of a register keeps its number."""
        count, taken = 0, set[int]()
        for block in self.code.blocks:
            for stmt in walk(block.ops):
                for reg in writes(stmt):
                    if reg.id in self.several:
                        root = self._find(count)
                        count += 1
                        if root not in self.names:
                            self.names[root] = reg.id if root < 0 or reg.id not in taken else self.registers
                            self.registers += self.names[root] == self.registers
                            taken.add(reg.id)

    def renamed(self, block: Block) -> Block:
        now = dict(self.reach[block.id])
        number = [self.first[block.id]]

        def read(value: Value) -> Value:
            if not isinstance(value, Reg) or value.id not in self.several or not now.get(value.id):
                return value
            return replace(value, id=self.names.get(self._find(min(now[value.id])), value.id))

        def written(reg: Reg) -> Reg:
            if reg.id not in self.several:
                return reg
            now[reg.id] = frozenset((number[0],))
            number[0] += 1
            return replace(reg, id=self.names[self._find(min(now[reg.id]))])

        def change(stmt: Simple | If) -> Simple | If:
            stmt = with_reads(stmt, read)
            stmt = with_bodies(stmt, lambda body: tuple(change(s) for s in body))  # type: ignore[arg-type]
            changed: Simple | If = with_writes(stmt, written)
            return changed

        ops = tuple(change(stmt) for stmt in block.ops)
        end = block.end
        return replace(block, ops=ops, end=replace(end, cond=read(end.cond)) if isinstance(end, Branch) else end)
