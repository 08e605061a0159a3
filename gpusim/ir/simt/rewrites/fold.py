"""Constants are computed, copies are followed, and what does nothing is dropped: x + 0, a conversion there and back, an If on a constant.

What nvcc does: all of it, in its first passes. Floating point is only touched where the result is the same to the last bit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusim.ir.simt.nodes import Imm, Op, Reg, SimtProgram, Value
from gpusim.ir.simt.rewrites.bits import lowest
from gpusim.ir.simt.rewrites.constants import INTEGER_BITS, evaluate, is_integer
from gpusim.ir.simt.rewrites.forward import Forward
from gpusim.ir.simt.rewrites.names import Supply
from gpusim.ir.simt.rewrites.sums import addend, outward
from gpusim.ir.simt.rewrites.sums import constant as whole

COMMUTATIVE = frozenset("add mul min max and or xor eq ne mulhi mul.wide".split())
# (op, side of the constant, its value) -> "x": the other operand, or the constant result
_INTEGER: dict[tuple[str, int], str | int] = {
    ("add", 0): "x",
    ("sub", 0): "x",
    ("mul", 1): "x",
    ("mul", 0): 0,
    ("and", 0): 0,
    ("and", -1): "x",
    ("or", 0): "x",
    ("xor", 0): "x",
    ("shl", 0): "x",
    ("shr", 0): "x",
    ("div", 1): "x",
    ("floordiv", 1): "x",
    ("mod", 1): 0,
    ("rem", 1): 0,
}
_FLOAT: dict[tuple[str, float], str | int] = {("mul", 1.0): "x", ("div", 1.0): "x"}
_BOOL: dict[tuple[str, bool], str | int] = {  # those that leave a "not" are for `chained`
    ("and", True): "x",
    ("and", False): 0,
    ("or", False): "x",
    ("or", True): 1,
    ("xor", False): "x",
    ("ne", False): "x",
    ("eq", True): "x",
}
_EQUAL_ARGS: dict[str, str | int] = {"and": "x", "or": "x", "min": "x", "max": "x", "sub": 0, "xor": 0}


def fold(program: SimtProgram) -> SimtProgram:
    fresh = Supply(program)
    body = Folder(fresh).body(program.body)
    return replace(program, body=body, registers=fresh.registers)


class Folder(Forward):
    """The rewrite as a walk; `cse` goes on from it. `ahead`: operations that must stand in front of the one being folded."""

    def __init__(self, fresh: Supply) -> None:
        super().__init__()
        self.fresh = fresh
        self.ahead: list[Op] = []

    def emitted(self, stmt: Any) -> list[Any]:
        out = self.emit(stmt)
        ahead, self.ahead = self.ahead, []
        return [*ahead, out]

    def made(self, name: str, args: tuple[Value, ...], dtype: str, line: int) -> Value:
        """The value of another operation, which is computed in front if it has to be."""
        op = self.emit(Op(self.fresh(dtype), name, args, line))
        if op.op == "mov":
            return op.args[0]
        self.ahead.append(op)
        return op.dst

    def simple(self, stmt: Any) -> Any:
        return self.folded(stmt) if type(stmt) is Op else stmt

    def folded(self, op: Op) -> Op:
        if op.op == "mov":
            return op
        args = op.args
        if len(args) == 2 and op.op in COMMUTATIVE and isinstance(args[0], Imm):
            op = Op(op.dst, op.op, (args[1], args[0]), op.line)
        value = constant(op) or self.identity(op)
        if value is not None:
            return Op(op.dst, "mov", (value,), op.line)
        return self.arranged(op) if is_integer(op.dst.dtype) and len(op.args) == 2 else self.chained(op)

    def arranged(self, op: Op) -> Op:
        """Integers: constants move outward and meet, masks and shifts meet, and a mask forgets what it hides."""
        dtype = op.dst.dtype
        left, right = (self.defined(a) for a in op.args)
        inner = addend(left)
        by = op.args[1]
        if op.op in ("add", "sub") and isinstance(by, Imm) and inner is not None:
            total = inner[1] + int(by.value) * (1 if op.op == "add" else -1)
            return self.folded(Op(op.dst, "add", (inner[0], whole(total, dtype)), op.line))
        split = outward(op, left, right)
        if split is not None:
            rest = self.made(split[0], split[1], dtype, op.line)
            return self.folded(Op(op.dst, "add", (rest, whole(split[2], dtype)), op.line))
        if op.op in ("and", "shr", "shl") and isinstance(by, Imm) and left is not None and left.op == op.op and isinstance(left.args[1], Imm):
            both = int(by.value) & int(left.args[1].value) if op.op == "and" else int(by.value) + int(left.args[1].value)
            if op.op == "and" or both < INTEGER_BITS[dtype] <= 64 and both < 32:
                return self.folded(Op(op.dst, op.op, (left.args[0], whole(both, dtype)), op.line))
        return self.masked(op, by) if op.op == "and" and isinstance(by, Imm) and int(by.value) > 0 else op

    def masked(self, op: Op, mask: Imm) -> Op:
        """x & mask of less than x, where the rest of x lies above the mask, also across a shift."""
        count = int(mask.value).bit_length()
        less = lowest(op.args[0], count, self.defined)
        shift = self.defined(less)
        if shift is not None and shift.op == "shr" and isinstance(shift.args[1], Imm) and int(shift.args[1].value) + count <= INTEGER_BITS[op.dst.dtype]:
            under = lowest(shift.args[0], count + int(shift.args[1].value), self.defined)
            if under != shift.args[0]:
                less = self.made("shr", (under, shift.args[1]), op.dst.dtype, op.line)
        return op if less == op.args[0] else self.folded(Op(op.dst, "and", (less, mask), op.line))

    def identity(self, op: Op) -> Value | None:
        """An existing value that the result always equals."""
        if op.op == "cvt":
            return self.there_and_back(op)
        if op.op == "select":
            cond, yes, no = op.args
            if isinstance(cond, Imm):
                return yes if cond.value else no
            chosen = op.dst.dtype == "bool" and yes == Imm(True, "bool") and no == Imm(False, "bool")
            return cond if chosen else yes if yes == no else None
        if len(op.args) != 2:
            return None
        x, y = op.args
        if x == y and is_integer(op.dst.dtype) and isinstance(x, Reg):
            return _result(_EQUAL_ARGS.get(op.op), x, op.dst.dtype)
        if not isinstance(y, Imm):
            return None
        table: Any = _INTEGER if is_integer(x.dtype) and is_integer(op.dst.dtype) else _FLOAT if x.dtype in ("float32", "float64") else {}
        if x.dtype == "bool":
            table = _BOOL
        return _result(table.get((op.op, y.value)), x, op.dst.dtype)

    def there_and_back(self, op: Op) -> Value | None:
        """x, where this is a conversion of a conversion of x, both between integers and the one between not narrower."""
        source = op.args[0]
        if source.dtype == op.dst.dtype:
            return source
        inner = self.defined(source)
        if inner is None or inner.op != "cvt" or inner.args[0].dtype != op.dst.dtype:
            return None
        bits = INTEGER_BITS.get(source.dtype, 0)
        return inner.args[0] if 0 < INTEGER_BITS.get(op.dst.dtype, 99) <= bits else None

    def chained(self, op: Op) -> Op:
        """Negations and conversions are joined: not (a < b), a conversion of a widened integer."""
        inner = self.defined(op.args[0]) if op.args else None
        if op.op in ("eq", "ne") and op.args[0].dtype == "bool" and isinstance(op.args[1], Imm):
            op = Op(op.dst, "not", op.args[:1], op.line)
        if op.op == "select" and op.dst.dtype == "bool":
            return _algebra(op)
        if inner is None:
            return op
        dtype = op.dst.dtype
        if op.op == "not" and dtype == "bool":
            opposite = _OPPOSITE.get(inner.op) if inner.args[0].dtype != "bool" else None
            exact = opposite is not None and (is_integer(inner.args[0].dtype) or inner.op in ("eq", "ne"))
            return Op(op.dst, opposite, inner.args, op.line) if exact and opposite is not None else op
        if op.op == "cvt" and inner.op == "cvt" and _widens(inner):
            return Op(op.dst, "cvt", inner.args, op.line)
        return op


_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def _algebra(op: Op) -> Op:
    """A choice between truth values as `and` or `or`, where one of them does it."""
    cond, yes, no = op.args
    if no in (cond, Imm(False, "bool")):
        return Op(op.dst, "and", (cond, yes), op.line)
    if yes in (cond, Imm(True, "bool")):
        return Op(op.dst, "or", (cond, no), op.line)
    return op


def _widens(cvt: Op) -> bool:
    """Whether the conversion keeps the value of every integer."""
    a, b = cvt.args[0].dtype, cvt.dst.dtype
    if not (is_integer(a) and is_integer(b)):
        return False
    return INTEGER_BITS[b] > INTEGER_BITS[a] and (a[0] == b[0] or a[0] == "u")


def constant(op: Op) -> Imm | None:
    """The result, where all operands are constants."""
    if not op.args or not all(isinstance(a, Imm) for a in op.args):
        return None
    return evaluate(op.op, op.args, op.dst.dtype)  # type: ignore[arg-type]


def _result(rule: str | int | None, x: Value, dtype: str) -> Value | None:
    if rule is None:
        return None
    if rule == "x":
        return x
    return Imm(bool(rule) if dtype == "bool" else int(rule), dtype)
