"""Fast division of float32 (div.full): scale both numbers into the range of the reciprocal, then multiply.

A divisor above 2**126 and a divisor below 2**-126 are scaled apart. A converted integer is not that large; and a constant is scaled by a choice
between two constants.
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.lower.simt.table import kind
from gpusim.lower.simt.writer import Writer


def quotient(w: Writer, op: Op) -> None:
    above, below = op.args
    x = w.operands((above,), frozenset(w.params))
    y = w.operands((below,), frozenset(w.params))
    small = _step(w, "FSETP", y, size=0)
    if not (isinstance(above, Imm) or _converted(w, below)):
        x, y = _large(w, above, x, y)
    y = _step(w, "FMUL", (*y, *small))
    inverse = _step(w, "MUFU.RCP", y)
    x = _step(w, "FSEL" if isinstance(above, Imm) else "FMUL", (*x, *small))
    w.emit("FMUL", (w.define(op.dst),), (*inverse, *x))


def _large(w: Writer, above: Value, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both divided by four where the divisor is large."""
    large = _step(w, "FSETP", y, size=0)
    quarter = w.once(("quarter", x), "FMUL", leaves=[above.id] if isinstance(above, Reg) else [], srcs=x)
    return _step(w, "FSEL", (quarter, *x, *large)), _step(w, "FMUL", (*y, *large))


def _step(w: Writer, op: str, srcs: tuple[int, ...], size: int = 1) -> tuple[int, ...]:
    found = w.fresh(size)
    w.emit(op, (found,), srcs)
    return (found,)


def _converted(w: Writer, value: Value) -> bool:
    made = w.flow.single(value.id) if isinstance(value, Reg) else None
    return made is not None and isinstance(made.stmt, Op) and made.stmt.op == "cvt" and kind(made.stmt.args[0].dtype) in "il"
