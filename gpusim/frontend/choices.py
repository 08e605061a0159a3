"""A variable that is one of several arrays, as in `data = a if step % 2 == 0 else b`: every use asks which one it is."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gpusim.frontend.context import Context
from gpusim.frontend.logic import choose
from gpusim.frontend.operands import Array, Choice, Operand, Static
from gpusim.ir.simt.nodes import If, Imm


def each(ctx: Context, node: ast.AST, operand: Operand, use: Callable[[Operand], Operand]) -> Operand:
    """use(array) for the array that `operand` is. `use` emits the statements for one array and gives their result."""
    return _from(ctx, node, operand, use, 0) if isinstance(operand, Choice) else use(operand)


def _from(ctx: Context, node: ast.AST, choice: Choice, use: Callable[[Operand], Operand], k: int) -> Operand:
    if k == len(choice.options) - 1:
        return use(choice.options[k])
    hit = ctx.op("eq", (choice.which, Imm(k, "int32")), "bool")
    with ctx.collect() as yes:
        one = use(choice.options[k])
    with ctx.collect() as no:
        other = _from(ctx, node, choice, use, k + 1)
    if isinstance(one, Static) and isinstance(other, Static):
        ctx.emit(If(hit, tuple(yes), tuple(no), ctx.line))
        return one
    if isinstance(one, Array) and isinstance(other, Array | Choice):
        ctx.out += yes + no
        return Choice(choice.which, (one, *(other.options if isinstance(other, Choice) else (other,))))
    return choose(ctx, node, hit, (one, yes), (other, no))
