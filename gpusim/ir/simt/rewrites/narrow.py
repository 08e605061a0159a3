"""64-bit integer arithmetic becomes 32-bit where the results are the same, and division by known-positive values gets simple.

Numba's types make most integers 64 bits wide; C's `int` keeps them at 32. So a kernel written here costs what its twin in C costs. Proof
comes from the launch (grid, block, scalar arguments, shapes) and from casts that drop the upper half. What nvcc does besides: x // 8 of
an x that is not negative is a shift, x % 8 a mask; Python's rounding down then is C's rounding to 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.intervals import Analysis, Known, analyse
from gpusim.ir.simt.nodes import AsyncCopy, Atomic, BulkCopy, For, Imm, LdMatrix, Load, Mbarrier, Op, Param, Reg, SimtProgram, Stmt, Store, Value
from gpusim.ir.simt.ranges import COMPARED, Range, fits
from gpusim.ir.simt.rewrites.constants import is_integer, wrap
from gpusim.ir.simt.rewrites.names import Supply
from gpusim.ir.simt.rewrites.widths import NARROW, low, wide, widths
from gpusim.ir.simt.walk import bodies, with_bodies, with_reads

# the result needs the whole operands, and is right in any type that holds them and it
WHOLE = frozenset("min max abs div rem floordiv mod shr".split())
_INDICES = ("index", "target_index", "source_index", "valid", "barrier_index", "count")
_INDEXED = (Load, Store, Atomic, AsyncCopy, LdMatrix, BulkCopy, Mbarrier)
Body = tuple[Stmt, ...]


def narrow(program: SimtProgram, facts: LaunchFacts) -> SimtProgram:
    known = analyse(program, facts)
    types = widths(program, known)
    fresh = Supply(program)
    walk = _Narrower(known, types, fresh)
    body = walk.body(program.body)
    params = tuple(Param(walk.renamed(p.reg), p.arg, p.what) for p in program.params)
    notes = (f"{len(types)} of the 64-bit integer values computed in 32 bits",) if types else ()
    return replace(program, body=body, params=params, registers=fresh.registers, notes=program.notes + notes)


class _Narrower:
    def __init__(self, known: Analysis, types: dict[int, str], fresh: Supply) -> None:
        self.known, self.types, self.fresh = known, types, fresh
        self.out: list[Stmt] = []

    # statements

    def body(self, body: Body) -> Body:
        outer, self.out = self.out, []
        for stmt in body:
            self.statement(stmt)
        out, self.out = self.out, outer
        return tuple(out)

    def statement(self, stmt: Any) -> None:
        if type(stmt) is Op:
            self.operation(stmt)
        elif isinstance(stmt, For):
            start, stop, step = (self.to(v, self.dtype(stmt.var), stmt.line) for v in (stmt.start, stmt.stop, stmt.step))
            self.out.append(replace(stmt, var=self.renamed(stmt.var), start=start, stop=stop, step=step, body=self.body(stmt.body)))
        elif bodies(stmt):
            self.out.append(with_bodies(stmt, self.body))
        elif isinstance(stmt, _INDEXED):
            self.out.append(self.access(stmt))
        else:
            self.out.append(with_reads(stmt, lambda v: self.original(v, stmt.line)))

    def access(self, stmt: Any) -> Any:
        """An index may be of any integer type; what is stored keeps its type."""
        names = [name for name in _INDICES if isinstance(getattr(stmt, name, None), (Reg, Imm))]
        return replace(with_reads(stmt, lambda v: self.original(v, stmt.line)), **{name: self.index(getattr(stmt, name)) for name in names})

    def index(self, value: Value) -> Value:
        if isinstance(value, Imm):
            return Imm(value.value, "int32") if fits((int(value.value),) * 2, "int32") else value
        return self.renamed(value)

    # values

    def dtype(self, value: Value) -> str:
        return self.types.get(value.id, value.dtype) if isinstance(value, Reg) else value.dtype

    def renamed(self, reg: Reg) -> Reg:
        return Reg(reg.id, self.types[reg.id], reg.name) if reg.id in self.types else reg

    def to(self, value: Value, dtype: str, line: int) -> Value:
        """The low bits of value as `dtype`, widened if it was narrowed before."""
        if isinstance(value, Imm):
            return Imm(wrap(int(value.value), dtype), dtype) if is_integer(dtype) and is_integer(value.dtype) else value
        value = self.renamed(value)
        if value.dtype == dtype or not is_integer(value.dtype):
            return value
        copy = self.fresh(dtype)
        self.out.append(Op(copy, "cvt", (value,), line))
        return copy

    def original(self, value: Value, line: int) -> Value:
        return self.to(value, value.dtype, line)

    # operations

    def operation(self, op: Op) -> None:
        known = self.known.at.get(id(op))
        if known is not None:
            op = _divided(op, known)
        if not any(wide(v.dtype) for v in (op.dst, *op.args)):
            self.out.append(op)
        elif op.op in COMPARED:
            self.compared(op, known)
        elif op.op == "cvt":
            self.converted(op)
        elif op.dst.id in self.types and low(op, known):
            self.emit(op, self.types[op.dst.id], self.types[op.dst.id])
        elif op.op in WHOLE and known is not None and (held := _holding((known.made, *known.args))) is not None:
            self.emit(op, held, self.dtype(op.dst))
        elif op.op == "mul" and known is not None and (held := _holding(known.args)) is not None:
            self.out.append(Op(op.dst, "mul.wide", tuple([self.to(a, held, op.line) for a in op.args]), op.line))
        else:
            self.emit(op, "", self.dtype(op.dst))

    def emit(self, op: Op, computed: str, wanted: str) -> None:
        """The operation with its wide operands in type `computed` ("": in their own types), its result as `wanted`."""
        args = tuple([self.to(a, computed if computed and wide(a.dtype) else a.dtype, op.line) for a in op.args])
        computed = computed or op.dst.dtype
        dst = self.renamed(op.dst)
        if computed == wanted or not wide(op.dst.dtype):
            self.out.append(Op(dst, op.op, args, op.line))
            return
        result = self.fresh(computed)
        self.out.append(Op(result, op.op, args, op.line))
        self.out.append(Op(dst, "cvt", (result,), op.line))

    def compared(self, op: Op, known: Known | None) -> None:
        dtype = _holding(known.args) if known is not None else None
        self.out.append(Op(op.dst, op.op, tuple([self.to(a, dtype or a.dtype, op.line) for a in op.args]), op.line))

    def converted(self, op: Op) -> None:
        source = op.args[0]
        if isinstance(source, Reg):
            source = self.renamed(source)
        dst = self.renamed(op.dst)
        self.out.append(Op(dst, "mov" if source.dtype == dst.dtype else "cvt", (source,), op.line))


def _holding(ranges: tuple[Range | None, ...]) -> str | None:
    """A 32-bit type that holds all of them."""
    known = [r for r in ranges if r is not None]
    return next((t for t in NARROW if len(known) == len(ranges) and all(fits(r, t) for r in known)), None)


def _divided(op: Op, known: Known) -> Op:
    """A division without its difficulties: of values that are not negative, and by powers of two."""
    if op.op not in ("floordiv", "mod", "div", "rem") or not is_integer(op.dst.dtype):
        return op
    x, y = known.args
    down = op.op in ("floordiv", "mod")
    positive = x is not None and y is not None and x[0] >= 0 and y[0] > 0
    by = op.args[1]
    if (positive or down) and isinstance(by, Imm) and int(by.value) > 0 and int(by.value) & (int(by.value) - 1) == 0:
        quotient = op.op in ("floordiv", "div")
        other = int(by.value).bit_length() - 1 if quotient else int(by.value) - 1
        return Op(op.dst, "shr" if quotient else "and", (op.args[0], Imm(other, by.dtype)), op.line)
    if positive and down:
        return Op(op.dst, "div" if op.op == "floordiv" else "rem", op.args, op.line)
    return op
