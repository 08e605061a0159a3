"""Low bits: which are zero, and what a mask leaves of a sum."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.ir.simt.nodes import Imm, Op, Value
from gpusim.ir.simt.rewrites.constants import INTEGER_BITS

Defined = Callable[[Value], Op | None]
DEEP = 6  # operations that are looked through
ALL = 64


def zeros(value: Value, defined: Defined, depth: int = DEEP) -> int:
    """How many of the lowest bits are surely zero."""
    if isinstance(value, Imm):
        x = int(value.value)
        return (x & -x).bit_length() - 1 if x else ALL
    op = defined(value) if depth else None
    if op is None:
        return 0
    if op.op == "mul":
        return min(ALL, sum(zeros(a, defined, depth - 1) for a in op.args))
    if op.op in ("add", "sub", "or", "xor"):
        return min(zeros(a, defined, depth - 1) for a in op.args)
    if op.op == "and":
        return max(zeros(a, defined, depth - 1) for a in op.args)
    if op.op == "shl" and isinstance(op.args[1], Imm):
        return min(ALL, zeros(op.args[0], defined, depth - 1) + int(op.args[1].value))
    return 0


def lowest(value: Value, count: int, defined: Defined, depth: int = DEEP) -> Value:
    """An existing value with the same `count` lowest bits, computed from less where that is possible."""
    op = defined(value) if depth else None
    if op is None or op.dst.dtype not in INTEGER_BITS or len(op.args) != 2 or op.args[0].dtype != op.dst.dtype:
        return value
    a, b = op.args
    if op.op in ("add", "or", "xor", "sub") and zeros(b, defined) >= count:
        return lowest(a, count, defined, depth - 1)
    if op.op in ("add", "or", "xor") and zeros(a, defined) >= count:
        return lowest(b, count, defined, depth - 1)
    mask = (1 << count) - 1
    if op.op == "and" and isinstance(b, Imm) and int(b.value) & mask == mask:
        return lowest(a, count, defined, depth - 1)
    return value
