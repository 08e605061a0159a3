"""A body with each of its ops replaced, nested ones too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpusim.ir.ops import Fold, If, Loop, Op, While


def rewritten(body: tuple[Op, ...], change: Callable[[Op], Op]) -> tuple[Op, ...]:
    """`body` with `change` applied to every op, after the bodies inside it."""
    return tuple(change(_inside(op, change)) for op in body)


def _inside(op: Op, change: Callable[[Op], Op]) -> Op:
    if isinstance(op, Loop | Fold):
        return replace(op, body=rewritten(op.body, change))
    if isinstance(op, If):
        return replace(op, then=rewritten(op.then, change), orelse=rewritten(op.orelse, change))
    if isinstance(op, While):
        return replace(op, before=rewritten(op.before, change), body=rewritten(op.body, change))
    return op


def without_lines(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """`body` without the lines of the source it came from."""
    return rewritten(body, lambda op: replace(op, line=0))
