"""Integer expressions by value: two computations of the same thing get the same number, and constant parts of an index come apart.

A compiler does the same with addresses: `a[i]` and `a[i + 1]` share a register, and the 1 goes into the offset of the instruction;
`a[(y + 8) * n + x]` is `a[y * n + x]` plus 8 * n.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import Imm, Op, Value
from gpusim.lower.simt.flow import Flow

_COMMUTE = {"add", "mul", "and", "or", "xor"}
_KNOWN = {"add", "sub", "mul", "shl", "neg", "cvt", "mov", "and", "or", "xor", "shr", "mul.wide", "min", "max", "index.at"}
_SPECIAL = ("tid.", "ntid.", "ctaid.", "nctaid.", "laneid")


@dataclass(frozen=True, slots=True)
class Node:
    """op "imm" (value), "reg" (value: register), a special register, or an operation on other nodes."""

    op: str
    args: tuple[int, ...] = ()
    value: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """base + sum(times * stride) + offset, in elements. base None: 0."""

    base: int | None
    offset: int = 0
    strides: tuple[tuple[int, int], ...] = ()  # (times, node), sorted by node


@dataclass(slots=True)
class Numbers:
    """Numbers nodes. `of` gives the node of a value, `node` the node of a number, `leaves` the registers it rests on."""

    flow: Flow
    table: list[Node] = field(default_factory=list)
    index: dict[Node, int] = field(default_factory=dict)
    by_reg: dict[int, int] = field(default_factory=dict)
    under: dict[int, frozenset[int]] = field(default_factory=dict)
    parts: dict[int, Split] = field(default_factory=dict)

    def intern(self, op: str, args: tuple[int, ...] = (), value: int = 0) -> int:
        node = Node(op, tuple(sorted(args)) if op in _COMMUTE else args, value)
        if node not in self.index:
            self.index[node] = len(self.table)
            self.table.append(node)
        return self.index[node]

    def imm(self, value: int) -> int:
        return self.intern("imm", value=value)

    def constant(self, number: int) -> int | None:
        node = self.table[number]
        return node.value if node.op == "imm" else None

    def of(self, value: Value) -> int:
        if isinstance(value, Imm):
            return self.imm(int(value.value))
        if value.id not in self.by_reg:
            self.by_reg[value.id] = self._of_reg(value.id)
        return self.by_reg[value.id]

    def _of_reg(self, reg: int) -> int:
        item = self.flow.single(reg)
        stmt = item.stmt if item else None
        if not isinstance(stmt, Op) or not (stmt.op in _KNOWN or stmt.op.startswith(_SPECIAL)) or not _integer(stmt):
            return self.intern("reg", value=reg)
        return self.combine(stmt.op, tuple(self.of(v) for v in stmt.args))

    def combine(self, op: str, args: tuple[int, ...]) -> int:
        """The number of `op` on numbers, folded where it is trivial."""
        if op in ("cvt", "mov"):
            return args[0]
        known = [self.constant(a) for a in args]
        if op == "neg":
            return self.combine("mul", (args[0], self.imm(-1)))
        if op == "sub":
            return self.combine("add", (args[0], self.combine("mul", (args[1], self.imm(-1)))))
        if op == "shl" and known[1] is not None:
            return self.combine("mul", (args[0], self.imm(1 << known[1])))
        if op == "mul.wide":
            op = "mul"
        if op in ("add", "mul") and known[0] is not None and known[1] is not None:
            return self.imm(known[0] + known[1] if op == "add" else known[0] * known[1])
        for this, other in ((0, 1), (1, 0)) if op in ("add", "mul") else ():
            if known[this] == (0 if op == "add" else 1):
                return args[other]
            if op == "mul" and known[this] == 0:
                return self.imm(0)
            if op == "mul" and known[this] is not None and self.table[args[other]].op == "mul":
                inner = self.table[args[other]].args
                factor = next((a for a in inner if self.constant(a) is not None), None)
                if factor is not None:
                    rest = inner[0] if inner[1] == factor else inner[1]
                    return self.combine("mul", (rest, self.imm(known[this] * (self.constant(factor) or 0))))  # type: ignore[operator]
        return self.intern(op, args)

    def leaves(self, number: int) -> frozenset[int]:
        if number not in self.under:
            node = self.table[number]
            found = frozenset((node.value,)) if node.op == "reg" else frozenset[int]().union(*(self.leaves(a) for a in node.args))
            self.under[number] = found
        return self.under[number]

    def split(self, number: int) -> Split:
        """Take constants and constant multiples of single factors out of sums and products."""
        if number not in self.parts:
            self.parts[number] = self._split(number)
        return self.parts[number]

    def _split(self, number: int) -> Split:
        node = self.table[number]
        if node.op == "imm":
            return Split(None, node.value)
        if node.op == "add":
            a, b = (self.split(x) for x in node.args)
            base = a.base if b.base is None else b.base if a.base is None else self.combine("add", (a.base, b.base))
            return Split(base, a.offset + b.offset, _merged((*a.strides, *b.strides)))
        if node.op == "mul":
            return self._split_product(*node.args)
        return Split(number)

    def _split_product(self, x: int, y: int) -> Split:
        for left, right in ((x, y), (y, x)):
            part, factor = self.split(left), self.constant(right)
            if factor is not None:
                base = None if part.base is None else self.combine("mul", (part.base, right))
                return Split(base, part.offset * factor, _merged(tuple((t * factor, n) for t, n in part.strides)))
            if part.offset and not part.strides and self.constant(left) is None and self.split(right).offset == 0:
                base = None if part.base is None else self.combine("mul", (part.base, right))
                return Split(base, 0, ((part.offset, right),))
        return Split(self.intern("mul", (x, y)))

    def slope(self, number: int, reg: int) -> int | None:
        """What the value grows by when `reg` grows by one, as a number; None if that is not the same everywhere."""
        if reg not in self.leaves(number):
            return self.imm(0)
        node = self.table[number]
        if node.op == "reg":
            return self.imm(1)
        if node.op == "add":
            slopes = [self.slope(a, reg) for a in node.args]
            return None if None in slopes else self.combine("add", (slopes[0], slopes[1]))  # type: ignore[arg-type]
        if node.op == "mul":
            inside = [a for a in node.args if reg in self.leaves(a)]
            if len(inside) == 1:
                slope = self.slope(inside[0], reg)
                other = node.args[0] if node.args[1] == inside[0] else node.args[1]
                return None if slope is None else self.combine("mul", (slope, other))
        return None


def _integer(stmt: Op) -> bool:
    kinds = [stmt.dst.dtype, *(v.dtype for v in stmt.args)]
    return all(k.startswith(("int", "uint")) for k in kinds)


def _merged(terms: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    total: dict[int, int] = {}
    for times, node in terms:
        total[node] = total.get(node, 0) + times
    return tuple((t, n) for n, t in sorted(total.items()) if t)
