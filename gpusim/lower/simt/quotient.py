"""Fast division of float32: scale both numbers into the range of the reciprocal, then multiply.

A divisor below 2**-126 is scaled up with the dividend; div.full also scales down one above 2**126. A dividend that is needed later is scaled by a
choice between it and a product.
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.lower.simt.writer import Writer


def quotient(w: Writer, op: Op) -> None:
    """fdividef and approx.div."""
    above, below = op.args
    x = w.operands((above,), frozenset(w.params))
    y = w.operands((below,), frozenset(w.params))
    small = _step(w, "FSETP", y, size=0)
    if op.op == "approx.div":
        x, y = _large(w, above, x, y)
    y = _step(w, "FMUL", (*y, *small))
    inverse = _step(w, "MUFU.RCP", y)
    if op.op == "fdividef" and isinstance(above, Reg) and len(w.flow.uses.get(above.id, ())) > 1:
        x = _step(w, "FSEL", (*_step(w, "FMUL", x), *x, *small))
    else:
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
