"""What a name means: a variable of the kernel, or something from outside that is known before it runs."""

from __future__ import annotations

import ast
from typing import Any

from gpusim.cuda.intrinsics import Special
from gpusim.frontend.context import Context
from gpusim.frontend.operands import Bound, Group, Operand, Scalar, Static
from gpusim.frontend.source import Missing, outer
from gpusim.ir.simt.nodes import Imm


def lookup(ctx: Context, node: ast.Name) -> Operand:
    """The operand that a name stands for."""
    frame = ctx.frame
    bound = frame.env.get(node.id)
    if bound is not None:
        operand = bound.operand
        return Scalar(operand.known) if isinstance(operand, Scalar) and operand.known is not None else operand
    if node.id in frame.locals:
        return _early(ctx, node)
    obj = outer(frame.source.function, node.id)
    if obj is Missing:
        ctx.refuse(node, f"The name '{node.id}' is not defined.", "Define it before the kernel is launched, or pass it as an argument.")
    return wrap(ctx, obj, node)


def _early(ctx: Context, node: ast.Name) -> Operand:
    """A variable that no earlier statement has given a value. In a loop, an earlier iteration may have."""
    for edges in reversed(ctx.frame.loops):
        if node.id in edges.assigned:
            edges.guessed = True
            return edges.late[node.id].operand if node.id in edges.late else Scalar(Imm(0, "int64"))
    ctx.refuse(node, f"The variable '{node.id}' has no value here.", "Give it one before this line, on every path.")


def wrap(ctx: Context, obj: Any, node: ast.AST) -> Operand:
    """An object of Python as an operand: numbers become constants, tuples are taken apart, the rest is only identified."""
    if isinstance(obj, bool):
        return Scalar(Imm(obj, "bool"))
    if isinstance(obj, int) and not hasattr(obj, "dtype"):
        return Scalar(_integer(ctx, int(obj), node))
    if isinstance(obj, float) and not hasattr(obj, "dtype"):
        return Scalar(Imm(obj, "float64"))
    if isinstance(obj, complex):
        parts = (Scalar(Imm(float(part), "float64")) for part in (obj.real, obj.imag))
        return Group(tuple(parts), ("real", "imag"))
    if isinstance(obj, Special):
        return special(ctx, obj)
    if isinstance(obj, tuple):
        return Group(tuple(wrap(ctx, item, node) for item in obj), tuple(getattr(obj, "_fields", ())))
    return _numpy_scalar(obj) or Static(obj)


def _integer(ctx: Context, value: int, node: ast.AST) -> Imm:
    if not -(2**63) <= value < 2**64:
        ctx.refuse(node, f"The integer {value} does not fit 64 bits.")
    return Imm(value, "int64" if value < 2**63 else "uint64")


def _numpy_scalar(obj: Any) -> Scalar | None:
    """A NumPy (or ml_dtypes) scalar as a constant of its type."""
    if not hasattr(obj, "dtype") or getattr(obj, "shape", None) != () or isinstance(obj, type) or not hasattr(obj, "item"):
        return None
    kind = str(obj.dtype)
    if kind.startswith(("int", "uint")):
        return Scalar(Imm(int(obj), kind))
    if kind == "bool":
        return Scalar(Imm(bool(obj), kind))
    return Scalar(Imm(float(obj), kind)) if kind in ("float16", "bfloat16", "float32", "float64") else None


def special(ctx: Context, obj: Special) -> Scalar:
    """threadIdx.x and its like: an operation without arguments, or a constant."""
    if not obj.op:
        return Scalar(Imm(obj.value, "int32"))
    return Scalar(ctx.op(obj.op, (), "int32"), None, True)


def bind(ctx: Context, name: str, operand: Operand) -> None:
    """name stands for operand, without a copy: for arguments, which nothing else changes."""
    ctx.frame.env[name] = Bound(operand, ctx.line)
