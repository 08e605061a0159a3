"""Constants in sums move outward: (x + 3) + y is (x + y) + 3, and (x + 3) * 8 is x * 8 + 24.

What nvcc does: the same, so that addresses which differ by a constant share their computation, and the constant becomes part of the
load or store. Integers only; they wrap, so the results are the same.
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.ir.simt.rewrites.constants import wrap

#: (operation, its operands) in front, then (operation, constant) on its result
Split = tuple[str, tuple[Value, ...], int]


def addend(op: Op | None) -> tuple[Value, int] | None:
    """(x, c) where the operation is x + c."""
    if op is None or op.op not in ("add", "sub") or not isinstance(op.args[1], Imm) or isinstance(op.args[0], Imm):
        return None
    return op.args[0], int(op.args[1].value) * (1 if op.op == "add" else -1)


def outward(op: Op, left: Op | None, right: Op | None) -> Split | None:
    """op(a, b) as (operation on what is left without constants) + constant; None where there is nothing to move.

    left, right: the operations that made a and b.
    """
    a, b = op.args
    one, two = addend(left), addend(right)
    if op.op in ("mul", "shl") and isinstance(b, Imm):
        times = int(b.value) if op.op == "mul" else 1 << int(b.value)
        return (op.op, (one[0], b), one[1] * times) if one is not None and 0 <= int(b.value) else None
    if op.op not in ("add", "sub") or not isinstance(a, Reg) or not isinstance(b, Reg):
        return None
    if one is not None:
        return op.op, (one[0], b), one[1]
    if two is not None:
        return op.op, (a, two[0]), two[1] * (1 if op.op == "add" else -1)
    return None


def constant(value: int, dtype: str) -> Imm:
    return Imm(wrap(value, dtype), dtype)
