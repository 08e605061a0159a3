"""Products that are added to a new tile which then becomes a variable are added to the variable itself.

`acc = acc * c; acc = tl.dot(p, v, acc)` is, op by op: x = acc * c; x += p v; acc takes x. It becomes acc takes x; acc += p v, as long as nothing
reads the old acc or x in between.
"""

from __future__ import annotations

from dataclasses import replace

from gpusim.ir.ops import Dot, If, Loop, Op, Update, While, reads, writes
from gpusim.ir.program import walk


def in_variables(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """`body` with such products added to their variables, in nested bodies too."""
    made = [_inside(op) for op in body]
    for update in [op for op in made if isinstance(op, Update)]:
        made = _moved(made, update, _readers(body, update.src))
    return tuple(made)


def _inside(op: Op) -> Op:
    if isinstance(op, Loop):
        return replace(op, body=in_variables(op.body))
    if isinstance(op, If):
        return replace(op, then=in_variables(op.then), orelse=in_variables(op.orelse))
    if isinstance(op, While):
        return replace(op, before=in_variables(op.before), body=in_variables(op.body))
    return op


def _readers(body: tuple[Op, ...], name: str) -> int:
    return sum(name in reads(op) for op in walk(body))


def _moved(ops: list[Op], update: Update, readers: int) -> list[Op]:
    """`ops` with `update` right behind the op that defines its source, if only products and the update read that."""
    end = ops.index(update)
    start = next((i for i, op in enumerate(ops) if writes(op) == update.src), None)
    if start is None or start > end:
        return ops
    between = ops[start + 1 : end]
    dots = [op for op in between if isinstance(op, Dot) and op.acc == update.src]
    others = [op for op in between if op not in dots]
    if not dots or readers != len(dots) + 1 or any(update.dst in reads(op) or update.dst == getattr(op, "dst", "") for op in _all(others)):
        return ops
    changed = [replace(op, acc=update.dst) if op in dots else op for op in between]
    return [*ops[: start + 1], update, *changed, *ops[end + 1 :]]


def _all(ops: list[Op]) -> list[Op]:
    return list(walk(tuple(ops)))
