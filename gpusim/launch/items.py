"""Persistent kernels as work items: a block that walks over tiles, one after the other, becomes as many blocks of one tile each.

Block p of P takes the items p, p + P, p + 2 P, ...; item v is then block v of the new grid, which no more than P blocks of run at once. What differs: an
item starts as a block does, a few hundred cycles, instead of by a jump back; and an SM that is done takes the next item, where the kernel has
dealt them out beforehand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.blocks import program_ids, value
from gpusim.ir.expr import Bin, Const, Expr, Name, bin_, expr
from gpusim.ir.linear import linear
from gpusim.ir.memory_ops import Box
from gpusim.ir.ops import Dot, Full, If, Index, Let, Load, Loop, Op, Store
from gpusim.ir.program import Program, walk
from gpusim.ir.rewrite import rewritten

NOTE = "{items} work items of {blocks} persistent CTAs are timed as blocks of their own, of which no more run at once: each begins as a block does"


def work_items(program: Program, sms: int) -> Program | None:
    """`program` with a block for each item; None if it is not persistent. GpusimError for fewer persistent blocks than SMs, which walk over several items."""
    outer = next((op for op in program.body if isinstance(op, Loop)), None)
    if outer is None or not _walks(program, outer):
        return None
    blocks, trips = program.ctas, _trips(program, outer)
    items = int(trips.sum())
    if items == 0 or not np.array_equal(trips, -(-(items - np.arange(blocks)) // blocks)):
        return None
    if blocks < sms and items > blocks:
        what = f"{blocks} persistent blocks on {sms} SMs: no timing for grids that leave SMs idle by choice."
        raise GpusimError(what, where=program.name, hint="Launch one block for each SM, or several.")
    change = _Change(outer.var, blocks)
    body = (*program.body[: program.body.index(outer)], *outer.body)
    return replace(program, grid=(items,), body=rewritten(body, change.op), resident=min(blocks, items))


def _walks(program: Program, outer: Loop) -> bool:
    """Whether all work stands in one loop over items, in which each of them multiplies matrices in a loop of its own and stores behind it."""
    before = program.body[: program.body.index(outer)]
    inner = [op for op in outer.body if isinstance(op, Loop)]
    plain = len(program.grid) == 1 and program.body[-1] is outer and all(isinstance(op, Let | Full | Index) for op in before)
    product = len(inner) == 1 and any(isinstance(op, Dot) for op in walk(inner[0].body)) and not any(isinstance(op, Store) for op in walk(inner[0].body))
    return plain and product and outer.start == Const(0) and not any(isinstance(op, If) for op in walk(outer.body))


def _trips(program: Program, outer: Loop) -> np.ndarray:
    """How many items each block takes."""
    blocks = np.arange(program.ctas)
    scope: dict[str, Any] = dict(program_ids(program.grid, blocks))
    for op in program.body:
        if isinstance(op, Let):
            scope[op.name] = value(op.value, scope)
    return np.broadcast_to(np.maximum(value(outer.stop, scope), 0), blocks.shape)


class _Change:
    """Puts the item v in the place of the block p and its step i: p + P i is v, p alone v % P, i alone v // P."""

    def __init__(self, var: str, blocks: int) -> None:
        self.var, self.blocks = Name(var), blocks

    def op(self, op: Op) -> Op:
        if isinstance(op, Let):
            return replace(op, value=self.expr(op.value))
        if isinstance(op, Loop):
            return replace(op, start=self.expr(op.start), stop=self.expr(op.stop))
        if isinstance(op, Index):
            return replace(op, start=self.expr(op.start), steps=tuple(self.expr(s) for s in op.steps))
        if isinstance(op, Load | Store):
            return replace(op, box=self.box(op.box))
        return op

    def box(self, box: Box) -> Box:
        limits = tuple(None if limit is None else self.expr(limit) for limit in box.limits)
        return replace(box, origin=tuple(self.expr(o) for o in box.origin), limits=limits)

    def expr(self, e: Expr) -> Expr:
        total, item = linear(e), Name("pid0")
        each = dict(total.terms)
        block, step = each.pop(item, 0), each.pop(self.var, 0)
        made: Expr = expr(total.constant)
        if step == self.blocks * block:
            made = made + item * block if block else made
        else:
            made = made + bin_("%", item, self.blocks) * block + bin_("//", item, self.blocks) * step
        for atom, k in each.items():
            made = made + self.atom(atom) * k
        return made

    def atom(self, e: Expr) -> Expr:
        return bin_(e.op, self.expr(e.a), self.expr(e.b)) if isinstance(e, Bin) else e
