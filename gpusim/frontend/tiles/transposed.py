"""Loads whose tile is transposed at once: the box names its axes in the other order, and nothing has to move."""

from __future__ import annotations

from dataclasses import replace

from gpusim.ir.ops import Load, Op, Transpose, reads
from gpusim.ir.program import walk
from gpusim.ir.rewrite import rewritten


def transposed_loads(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """`body` with each load that only a transpose reads loaded as its transpose."""
    readers: dict[str, list[Op]] = {}
    for op in walk(body):
        for name in reads(op):
            readers.setdefault(name, []).append(op)
    turned = {name: found[0] for name, found in readers.items() if len(found) == 1 and isinstance(found[0], Transpose)}
    loads = {op.dst: op for op in walk(body) if isinstance(op, Load) and op.dst in turned}
    gone = {turned[name].dst for name in loads}

    def change(op: Op) -> Op:
        if isinstance(op, Load) and op.dst in loads:
            transpose = turned[op.dst]
            assert isinstance(transpose, Transpose)
            axes = op.box.axes if op.box.axes is not None else tuple(range(len(op.box.shape)))
            return replace(op, dst=transpose.dst, box=replace(op.box, axes=tuple(axes[a] for a in transpose.order)))
        return op

    return _without(rewritten(body, change), gone)


def _without(body: tuple[Op, ...], gone: set[str]) -> tuple[Op, ...]:
    return tuple(_inner(op, gone) for op in body if not (isinstance(op, Transpose) and op.dst in gone))


def _inner(op: Op, gone: set[str]) -> Op:
    fields = {f: _without(getattr(op, f), gone) for f in ("body", "then", "orelse", "before") if isinstance(getattr(op, f, None), tuple)}
    return replace(op, **fields) if fields else op  # type: ignore[arg-type]
