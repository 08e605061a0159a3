"""Fast division of float32: scale both numbers into the range of the reciprocal, then multiply.

A divisor below 2**-126 is scaled up with the dividend; div.full also scales down one above 2**126. A dividend that is needed later is scaled by a
choice between it and a product, others in place under a predicate (compiled/softmax_fused_f32_1024_w4.sassops: two FSETP, 9 and 9 predicated FMUL for the
divisor and 8 dividends, one MUFU.RCP, 8 FMUL).
"""

from __future__ import annotations

from gpusim.ir.simt.nodes import Imm, Op, Reg, Value
from gpusim.lower.simt.writer import Writer


def quotient(w: Writer, op: Op) -> None:
    """fdividef and approx.div. Quotients by one divisor share its inverse."""
    above, below = op.args
    x = w.operands((above,), frozenset(w.params))
    y = w.operands((below,), frozenset(w.params))
    leaves = [below.id] if isinstance(below, Reg) else []
    whole = op.op == "approx.div"
    # A constant over a tiny divisor is infinite in either way: div.full does not scale it up (compiled/ew_sigmoid3_f32.sassops).
    small = () if whole and isinstance(above, Imm) else (w.once(("small", op.op, y), "FSETP", 0, leaves, y),)
    kept = _kept(w, op, above)
    scaled = y
    if whole:
        large = (w.once(("large", y), "FSETP", 0, leaves, y),)
        x = _chosen(w, above, x, large) if kept or w.find(("quarter", x), w.block) is not None else _step(w, "FMUL", (*x, *large))
        scaled = (w.once(("fourth", y), "FMUL", 1, leaves, (*y, *large)),)
    if small:
        scaled = (w.once(("scaled", op.op, y), "FMUL", 1, leaves, (*scaled, *small)),)
    inverse = w.once(("inverse", op.op, scaled), "MUFU.RCP", 1, leaves, scaled)
    if op.op == "fdividef" and isinstance(above, Reg) and kept:
        x = _step(w, "FSEL", (*_step(w, "FMUL", x), *x, *small))
    elif small:
        x = _step(w, "FSEL" if isinstance(above, Imm) else "FMUL", (*x, *small))
    w.emit("FMUL", (w.define(op.dst),), (inverse, *x))


def _kept(w: Writer, op: Op, above: Value) -> bool:
    """Whether the dividend is needed after this division: then it cannot be scaled in place, under a predicate."""
    if isinstance(above, Imm) or w.flow.single(above.id) is None:
        return True
    made = w.flow.single(above.id)
    if made is not None and any(not loop.blocks >> made.block & 1 for loop in w.flow.loops[w.block]):
        return True
    order = [item.stmt for item in w.flow.items[w.block]]
    here = next((i for i, stmt in enumerate(order) if stmt is op), len(order))
    return any(use.block != w.block or any(use.stmt is stmt for stmt in order[here + 1 :]) for use in w.flow.uses.get(above.id, ()))


def _chosen(w: Writer, above: Value, x: tuple[int, ...], large: tuple[int, ...]) -> tuple[int, ...]:
    """The dividend, or a fourth of it where the divisor is large."""
    quarter = w.once(("quarter", x), "FMUL", leaves=[above.id] if isinstance(above, Reg) else [], srcs=x)
    return _step(w, "FSEL", (quarter, *x, *large))


def _step(w: Writer, op: str, srcs: tuple[int, ...], size: int = 1) -> tuple[int, ...]:
    found = w.fresh(size)
    w.emit(op, (found,), srcs)
    return (found,)
