"""From the blocks of a Code to Python functions of NumPy calls: one per piece of a block between barriers.

A function `piece(m, g)` runs the lanes of group `g` on machine `m`: it fetches the registers it reads in g's layout, computes on local
variables, writes back what is read later, and gives the branch condition, if the piece ends in a branch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.interp.simt import arith
from gpusim.interp.simt.arith import DIVISIONS, DTYPES, TEMPLATES, is_int
from gpusim.interp.simt.calls import method, operands
from gpusim.interp.simt.groups import Group
from gpusim.interp.simt.liveness import Ops, Stop, exposed, live_out, read, segments, walk, written
from gpusim.ir.simt.nodes import (
    AsyncCopy,
    Atomic,
    Barrier,
    Buffer,
    BulkCopy,
    Fence,
    If,
    Imm,
    LdMatrix,
    Load,
    Mbarrier,
    Op,
    Reg,
    Sleep,
    Store,
    Warpgroup,
)
from gpusim.ir.simt.ops import OPS
from gpusim.lower.simt.code import Block, Branch, Code

MEMORY = (Load, Store, Atomic, AsyncCopy, LdMatrix, BulkCopy, Mbarrier)
SHIFTS = {"shl": "np.left_shift({0}, {1}, dtype={0}.dtype, casting='unsafe')", "shr": "np.right_shift({0}, {1}, dtype={0}.dtype, casting='unsafe')"}


@dataclass(eq=False)
class Site:
    """A statement that the machine has to be told about: `access` is its Access (-1: none), the `place`-th of its block."""

    stmt: Any
    line: int
    access: int
    block: int
    number: int
    buffer: Buffer | None = None
    place: int = -1


@dataclass(frozen=True)
class Piece:
    """`run(machine, group)` gives the branch condition or None; `barrier` follows it."""

    run: Any
    barrier: Stop | None
    site: Site | None
    source: str


@dataclass(frozen=True)
class Compiled:
    code: Code
    pieces: tuple[tuple[Piece, ...], ...]
    sites: tuple[Site, ...]
    touch_order: tuple[tuple[int, ...], ...]


def pick(g: Group, sub: Group, value: Any) -> Any:
    return value if sub is g else sub.pick(value)


def spread(g: Group, sub: Group, old: Any, value: Any) -> Any:
    return value if sub is g else sub.spread(old, value)


def compile_code(code: Code) -> Compiled:
    sites: list[Site] = []
    live = live_out(code)
    uses = _use_counts(code)
    pieces = []
    for block in code.blocks:
        numbers = iter(block.accesses)
        parts = []
        for i, (ops, barrier) in enumerate(segments(block)):
            writer = _Writer(block, sites, numbers, uses)
            end = block.end if barrier is None else None
            run, source = writer.piece(ops, end, live[(block.id, i)])
            site = writer.site(barrier) if barrier is not None else None
            parts.append(Piece(run, barrier, site, source))
        pieces.append(tuple(parts))
    return Compiled(code, tuple(pieces), tuple(sites), tuple(block.accesses for block in code.blocks))


def _use_counts(code: Code) -> dict[int, int]:
    counts: dict[int, int] = {}
    for block in code.blocks:
        values = [reg for stmt in walk(block.ops) for reg in read(stmt)]
        if isinstance(block.end, Branch) and isinstance(block.end.cond, Reg):
            values.append(block.end.cond)
        for reg in values:
            counts[reg.id] = counts.get(reg.id, 0) + 1
    return counts


class _Writer:
    def __init__(self, block: Block, sites: list[Site], numbers: Any, uses: dict[int, int]) -> None:
        self.block, self.sites, self.numbers, self.uses = block, sites, numbers, uses
        self.names: dict[str, Any] = {"np": np, "A": arith, "math": math, "pick": pick, "spread": spread}
        self.lines: list[str] = []
        self.depth = 1
        self.groups = 0

    def piece(self, ops: Ops, end: Any, live: set[int]) -> tuple[Any, str]:
        reads, writes = exposed(ops)
        self.fetched = set(reads)
        cond = end.cond if isinstance(end, Branch) else None
        if isinstance(cond, Reg) and cond.id not in writes:
            reads.setdefault(cond.id, cond)
        for reg in reads.values():
            self.emit(f"r{reg.id} = m.fetch(g, {reg.id}, {self.dtype(reg.dtype)})")
        self.statements(ops, "", "g")
        for reg in writes.values():
            if reg.id in live:
                self.emit(f"m.keep(g, {reg.id}, r{reg.id})")
        self.emit(f"return {self.value(cond) if cond is not None else None}")
        text = "def run(m, g):\n" + "\n".join(self.lines) + "\n"
        exec(compile(text, f"<block {self.block.id}>", "exec"), self.names)
        return self.names["run"], text

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def dtype(self, name: str) -> str:
        self.names["d_" + name] = DTYPES[name]
        return "d_" + name

    def value(self, value: Any) -> str:
        if isinstance(value, Reg):
            return f"r{value.id}"
        key = f"k{len(self.names)}"
        dtype = DTYPES[value.dtype]
        self.names[key] = constant(value, dtype)
        return key

    def site(self, stmt: Any) -> Site:
        access = next(self.numbers, -1) if isinstance(stmt, MEMORY) else -1
        place = self.block.accesses.index(access) if access >= 0 else -1
        site = Site(stmt, getattr(stmt, "line", 0), access, self.block.id, len(self.sites), getattr(stmt, "buffer", None), place)
        self.sites.append(site)
        return site

    def named_site(self, stmt: Any) -> str:
        site = self.site(stmt)
        self.names[f"S{site.number}"] = site
        return f"S{site.number}"

    def statements(self, ops: Ops, pred: str, group: str) -> None:
        for stmt in ops:
            if isinstance(stmt, If):
                self.predicated(stmt, pred)
            elif isinstance(stmt, Op):
                self.op(stmt, pred, group, ops)
            elif not isinstance(stmt, (Fence, Sleep, Warpgroup)) and not (isinstance(stmt, Barrier) and stmt.kind == "warp"):
                self.effect(stmt, group)

    def predicated(self, stmt: If, pred: str) -> None:
        cond = f"c{self.groups}"
        self.emit(f"{cond} = {self.value(stmt.cond)}")
        for side, text in ((stmt.then, cond), (stmt.orelse, "~" + cond)):
            self.groups += 1
            n = self.groups
            if not side:
                continue
            self.emit(f"p{n} = {text}" + (f" & {pred}" if pred else ""))
            if _acts(side):
                self.emit(f"g{n} = g.only(p{n})")
                self.emit(f"if g{n} is not None:")
            else:
                self.emit(f"if p{n}.any():")
            self.depth += 1
            self.emit("pass")
            self.statements(side, f"p{n}", f"g{n}")
            self.depth -= 1

    def op(self, stmt: Op, pred: str, group: str, side: Ops) -> None:
        args = [self.value(a) for a in stmt.args]
        if stmt.op in DIVISIONS and is_int(DTYPES[stmt.args[0].dtype]):
            self.emit(f"m.divisor({self.named_site(stmt)}, {group}, pick(g, {group}, {args[1]}))")
        text = self.expression(stmt, args)
        dst = f"r{stmt.dst.id}"
        if pred and not self.private(stmt.dst, side):
            text = f"np.where({pred}, {text}, {dst})"
        self.emit(f"{dst} = {text}")

    def private(self, reg: Reg, side: Ops) -> bool:
        """Nothing outside of `side` reads it, and here only behind its definition."""
        inside = sum(r.id == reg.id for stmt in walk(side) for r in read(stmt))
        uses, _ = exposed(side)
        return inside == self.uses.get(reg.id, 0) and reg.id not in uses

    def expression(self, stmt: Op, args: list[str]) -> str:
        rule, dtype = OPS[stmt.op], self.dtype(stmt.dst.dtype)
        if rule.arity == 0:
            return f"m.special(g, {stmt.op!r}, {dtype})"
        if stmt.op == "mov":
            arg = stmt.args[0]
            copy = isinstance(arg, Reg) and arg.id in self.fetched
            return f"{args[0]}.copy()" if copy else args[0]
        template = TEMPLATES[stmt.op]
        if stmt.op in SHIFTS and isinstance(stmt.args[1], Imm) and 0 <= stmt.args[1].value < 8 * DTYPES[stmt.args[0].dtype].itemsize:
            template = SHIFTS[stmt.op]
        text = template.format(*args, d=dtype)
        first = stmt.args[1] if stmt.op == "select" else stmt.args[0]
        same = all(a.dtype == first.dtype for a in (stmt.args[1:] if stmt.op == "select" else stmt.args))
        if rule.result == "same" and not (same and first.dtype == stmt.dst.dtype):
            text = f"({text}).astype({dtype})"
        return text

    def effect(self, stmt: Any, group: str) -> None:
        site, values = self.named_site(stmt), [self.value(v) for v in operands(stmt)]
        packed = [f"pick(g, {group}, {v})" if group != "g" else v for v in values]
        call = f"m.{method(stmt)}({', '.join([site, group, *packed])})"
        dst = written(stmt)
        if not dst:
            self.emit(call)
            return
        self.emit(f"v = {call}")
        for i, reg in enumerate(dst):
            text = f"v[{i}]"
            self.emit(f"r{reg.id} = " + (text if group == "g" else f"spread(g, {group}, r{reg.id}, {text})"))


def _acts(side: Ops) -> bool:
    """Whether a predicated side does more than compute, so that the lanes that take part matter."""
    return any(not isinstance(s, Op) or s.op in DIVISIONS and is_int(DTYPES[s.args[0].dtype]) for s in side)


def constant(value: Imm, dtype: Any) -> Any:
    """An Imm as an array of shape (1, 1); integers wrap into their type."""
    if is_int(dtype) and not isinstance(value.value, float):
        bits = dtype.itemsize * 8
        raw = int(value.value) & ((1 << bits) - 1)
        return np.array([[raw]], f"u{dtype.itemsize}").view(dtype)
    return np.array([[value.value]]).astype(dtype)
