"""How an index moves in the loops around an access: evenly, by which step, in which loop."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.lower.simt.expr import Split
from gpusim.lower.simt.flow import Loop
from gpusim.lower.simt.writer import Writer


@dataclass(frozen=True, slots=True)
class Carried:
    """An index that grows by `step` (a number of `Numbers`) with every iteration of `loop`."""

    loop: Loop
    step: int


def whole(w: Writer, part: Split) -> int:
    """The part without its constant, as one number."""
    number = part.base
    for times, node in part.strides:
        term = w.numbers.combine("mul", (node, w.numbers.imm(times)))
        number = term if number is None else w.numbers.combine("add", (number, term))
    assert number is not None
    return number


def moving_index(w: Writer, part: Split) -> Carried | None:
    """How the address moves in the innermost loop that changes it, if it moves evenly."""
    if part.base is None and not part.strides:
        return None
    number = whole(w, part)
    for loop in w.flow.loops[w.block]:
        moving = [r for r in w.numbers.leaves(number) if w.flow.changes(loop, r)]
        if not moving:
            continue
        if len(moving) > 1:
            return None
        step, slope = _step(w, loop, moving[0]), w.numbers.slope(number, moving[0])
        if step is None or slope is None or any(w.flow.changes(loop, r) for r in w.numbers.leaves(slope)):
            return None
        return Carried(loop, w.numbers.combine("mul", (slope, step)))
    return None


def _step(w: Writer, loop: Loop, reg: int) -> int | None:
    """What a counter grows by: it is written once in the loop, by an add of something that the loop does not change."""
    inside = [item for item in w.flow.defs[reg] if loop.blocks >> item.block & 1]
    if len(inside) != 1 or inside[0].guards or len(w.flow.defs[reg]) < 2:
        return None
    stmt = inside[0].stmt
    while getattr(stmt, "op", "") in ("mov", "cvt"):
        source = w.flow.single(stmt.args[0].id) if hasattr(stmt.args[0], "id") else None  # type: ignore[union-attr]
        if source is None:
            return None
        stmt = source.stmt
    if getattr(stmt, "op", "") not in ("add", "sub"):
        return None
    this = w.numbers.combine(stmt.op, tuple(w.numbers.of(a) for a in stmt.args))  # type: ignore[union-attr, arg-type]
    step = w.numbers.combine("add", (this, w.numbers.combine("mul", (w.numbers.intern("reg", value=reg), w.numbers.imm(-1)))))
    return _without(w, this, reg) if step is not None else None


def _without(w: Writer, total: int, reg: int) -> int | None:
    """total - reg, where total is a sum with `reg` as one term."""
    node = w.numbers.table[total]
    if node.op != "add":
        return None
    own = w.numbers.intern("reg", value=reg)
    if own in node.args:
        return node.args[0] if node.args[1] == own else node.args[1]
    return None
