"""Conditions: comparisons, and/or/not with Python's short circuit, and conditional expressions."""

from __future__ import annotations

import ast
from dataclasses import replace

from gpusim.frontend.arithmetic import COMPARE, compare
from gpusim.frontend.context import Context, is_nonneg
from gpusim.frontend.operands import Array, Choice, Group, Operand, Scalar, Static, alike, as_complex, described, is_complex, literal
from gpusim.frontend.typing import is_float, is_integer, unify
from gpusim.ir.simt.nodes import If, Imm, Op, Reg, Stmt, Value

#: at most so many operations are computed on both sides rather than branched around
CHEAP = 8
_FAULTING = ("div", "rem", "floordiv", "mod")
_COSTLY = ("pow", "fmod", "gamma", "lgamma", "sin", "cos", "tan", "sinh", "cosh", "asin", "acos", "atan", "atan2", "erf", "erfc", "exp", "log")

TRUE, FALSE = Imm(True, "bool"), Imm(False, "bool")


def condition(ctx: Context, node: ast.expr) -> Value:
    """The truth of an expression, as bool."""
    if isinstance(node, ast.BoolOp):
        return _chain(ctx, isinstance(node.op, ast.And), list(node.values))
    return truth(ctx, ctx.evaluate(ctx, node), node)


def truth(ctx: Context, operand: Operand, node: ast.AST) -> Value:
    """The truth of an operand, as bool."""
    if isinstance(operand, Static):
        return Imm(bool(operand.obj), "bool")
    if isinstance(operand, Group):
        return Imm(bool(operand.items), "bool")
    if isinstance(operand, Array):
        ctx.refuse(node, "A whole array is neither true nor false.", "Compare an element: a[i] > 0.")
    return ctx.cast(literal(operand) or ctx.scalar(operand, node).value, "bool")


def is_cheap(stmts: list[Stmt]) -> bool:
    """Whether the statements may be run by lanes that do not need them: pure, few, and none that may fault."""
    return len(stmts) <= CHEAP and all(isinstance(s, Op) and s.op not in _COSTLY and not (s.op in _FAULTING and is_integer(s.dst.dtype)) for s in stmts)


def _chain(ctx: Context, every: bool, nodes: list[ast.expr]) -> Value:
    """and (`every`) or or of conditions; what follows is not evaluated once the result is known."""
    left = condition(ctx, nodes[0])
    if len(nodes) == 1:
        return left
    if isinstance(left, Imm):
        return _chain(ctx, every, nodes[1:]) if bool(left.value) == every else left
    with ctx.collect() as out:
        right = _chain(ctx, every, nodes[1:])
    return _short(ctx, every, left, right, out)


def _short(ctx: Context, every: bool, left: Value, right: Value, out: list[Stmt]) -> Value:
    """left and right, where `out` computes right."""
    if isinstance(right, Imm) and is_cheap(out):
        return left if bool(right.value) == every else Imm(not every, "bool")
    if is_cheap(out):
        ctx.out += out if ctx.frame.live else []
        return ctx.op("and" if every else "or", (left, right), "bool")
    result = ctx.temp("bool")
    ctx.emit(Op(result, "mov", (left,), ctx.line))
    out.append(Op(result, "mov", (right,), ctx.line))
    ctx.emit(If(left, tuple(out), (), ctx.line) if every else If(left, (), tuple(out), ctx.line))
    return result


def boolean(ctx: Context, node: ast.BoolOp) -> Operand:
    """`and` / `or` as a value: the operand that decides, as in Python."""
    every = isinstance(node.op, ast.And)
    left = ctx.evaluate(ctx, node.values[0])
    rest = node.values[1] if len(node.values) == 2 else ast.copy_location(ast.BoolOp(node.op, node.values[1:]), node.values[1])
    decided = truth(ctx, left, node)
    if isinstance(decided, Imm):
        return ctx.evaluate(ctx, rest) if bool(decided.value) == every else left
    with ctx.collect() as out:
        right = ctx.evaluate(ctx, rest)
    if isinstance(left, Scalar) and isinstance(right, Scalar) and left.dtype == right.dtype == "bool":
        return Scalar(_short(ctx, every, left.value, right.value, out))
    return choose(ctx, node, decided, (right, out), (left, [])) if every else choose(ctx, node, decided, (left, []), (right, out))


def negate(ctx: Context, node: ast.UnaryOp) -> Scalar:
    """not x."""
    return Scalar(ctx.op("not", (condition(ctx, node.operand),), "bool"))


def conditional(ctx: Context, node: ast.IfExp) -> Operand:
    """a if c else b."""
    cond = condition(ctx, node.test)
    if isinstance(cond, Imm):
        return ctx.evaluate(ctx, node.body if cond.value else node.orelse)
    with ctx.collect() as yes_out:
        yes = ctx.evaluate(ctx, node.body)
    with ctx.collect() as no_out:
        no = ctx.evaluate(ctx, node.orelse)
    return choose(ctx, node, cond, (yes, yes_out), (no, no_out))


def choose(ctx: Context, node: ast.AST, cond: Value, yes: tuple[Operand, list[Stmt]], no: tuple[Operand, list[Stmt]]) -> Operand:
    """yes if cond else no; each side is an operand and the statements that compute it."""
    if yes[0] == no[0]:
        ctx.out += yes[1]
        return yes[0]
    if isinstance(yes[0], Array) and isinstance(no[0], Array) and alike((yes[0], no[0])):
        ctx.out += yes[1] + no[1]
        return Choice(ctx.op("select", (cond, Imm(0, "int32"), Imm(1, "int32")), "int32"), (yes[0], no[0]))
    if is_complex(yes[0]) or is_complex(no[0]):
        yes, no = (as_complex(yes[0]), yes[1]), (as_complex(no[0]), no[1])
    pairs = _pairs(ctx, node, yes[0], no[0])
    cheap = is_cheap(yes[1]) and is_cheap(no[1])
    outs = ctx.out, ctx.out
    if cheap:
        ctx.out += yes[1] + no[1] if ctx.frame.live else []
    else:
        outs = yes[1], no[1]
    results = [_merge(ctx, cond, a, b, outs if not cheap else None) for a, b in pairs]
    if not cheap:
        ctx.emit(If(cond, tuple(yes[1]), tuple(no[1]), ctx.line))
    return replace(yes[0], items=tuple(results)) if isinstance(yes[0], Group) else results[0]


def _pairs(ctx: Context, node: ast.AST, yes: Operand, no: Operand) -> list[tuple[Scalar, Scalar]]:
    if isinstance(yes, Group) and isinstance(no, Group) and len(yes.items) == len(no.items):
        return [(ctx.scalar(a, node), ctx.scalar(b, node)) for a, b in zip(yes.items, no.items, strict=True)]
    if not isinstance(yes, Scalar) or not isinstance(no, Scalar):
        ctx.refuse(node, f"The two sides are a {described(yes)} and a {described(no)}.", "Use an if statement, and the arrays inside its branches.")
    return [(yes, no)]


def _merge(ctx: Context, cond: Value, a: Scalar, b: Scalar, outs: tuple[list[Stmt], list[Stmt]] | None) -> Scalar:
    dtype, nonneg = unify(a.dtype, b.dtype), is_nonneg(a) and is_nonneg(b)
    if outs is None:
        return Scalar(ctx.op("select", (cond, ctx.cast(a.value, dtype), ctx.cast(b.value, dtype)), dtype), None, nonneg)
    result = ctx.temp(dtype)
    for value, out in ((a.value, outs[0]), (b.value, outs[1])):
        _append_move(ctx, result, value, out)
    return Scalar(result, None, nonneg)


def _append_move(ctx: Context, dst: Reg, value: Value, out: list[Stmt]) -> None:
    saved, ctx.out = ctx.out, out
    ctx.emit(Op(dst, "mov", (ctx.cast(value, dst.dtype),), ctx.line))
    ctx.out = saved


def comparison(ctx: Context, node: ast.Compare) -> Operand:
    """a < b, a < b < c, in, is."""
    left = ctx.evaluate(ctx, node.left)
    return Scalar(_links(ctx, node, left, list(zip(node.ops, node.comparators, strict=True))))


def _links(ctx: Context, node: ast.Compare, left: Operand, links: list[tuple[ast.cmpop, ast.expr]]) -> Value:
    op, right_node = links[0]
    right = ctx.evaluate(ctx, right_node)
    ctx.at(node)
    first = _one(ctx, node, op, left, right)
    if len(links) == 1:
        return first
    if isinstance(first, Imm):
        return _links(ctx, node, right, links[1:]) if first.value else first
    with ctx.collect() as out:
        rest = _links(ctx, node, right, links[1:])
    return _short(ctx, True, first, rest, out)


def _one(ctx: Context, node: ast.Compare, op: ast.cmpop, left: Operand, right: Operand) -> Value:
    if isinstance(op, ast.In | ast.NotIn):
        return _member(ctx, node, isinstance(op, ast.In), left, right)
    if (is_complex(left) or is_complex(right)) and isinstance(op, ast.Eq | ast.NotEq):
        from gpusim.frontend import complexes

        same = complexes.equal(ctx, node, left, right)
        return same if isinstance(op, ast.Eq) else ctx.op("not", (same,), "bool")
    if isinstance(left, Group) and isinstance(right, Group) and isinstance(op, ast.Eq | ast.NotEq):
        return _groups(ctx, node, isinstance(op, ast.Eq), left, right)
    whole = all(isinstance(v, Scalar) and not is_float(v.dtype) for v in (left, right))
    if (isinstance(op, ast.Is | ast.IsNot) and not whole) or not (isinstance(left, Scalar) and isinstance(right, Scalar)):
        return _identity(ctx, node, op, left, right)
    return compare(ctx, COMPARE[type(op)], left, right)  # `is` of whole numbers asks for their value, as in Numba


def _identity(ctx: Context, node: ast.Compare, op: ast.cmpop, left: Operand, right: Operand) -> Value:
    if isinstance(left, Static) and isinstance(right, Static):
        same = left.obj is right.obj or (isinstance(op, ast.Eq | ast.NotEq) and left.obj == right.obj)
    elif isinstance(op, ast.Is | ast.IsNot) and (isinstance(left, Static) or isinstance(right, Static)):
        same = False
    else:
        ctx.refuse(node, f"A {described(left)} cannot be compared with a {described(right)} here.", "Compare numbers; `is` works with None.")
    return Imm(same == isinstance(op, ast.Is | ast.Eq), "bool")


def _member(ctx: Context, node: ast.Compare, inside: bool, left: Operand, right: Operand) -> Value:
    if not isinstance(right, Group):
        ctx.refuse(node, "`in` works on tuples only.", "Write a loop over the array.")
    value: Value = FALSE
    for item in right.items:
        hit = compare(ctx, "eq", ctx.scalar(left, node), ctx.scalar(item, node))
        value = hit if value == FALSE else ctx.op("or", (value, hit), "bool")
    return value if inside else ctx.op("not", (value,), "bool")


def _groups(ctx: Context, node: ast.Compare, equal: bool, left: Group, right: Group) -> Value:
    if len(left.items) != len(right.items):
        return Imm(not equal, "bool")
    value: Value = TRUE
    for a, b in zip(left.items, right.items, strict=True):
        hit = compare(ctx, "eq", ctx.scalar(a, node), ctx.scalar(b, node))
        value = hit if value == TRUE else ctx.op("and", (value, hit), "bool")
    return value if equal else ctx.op("not", (value,), "bool")
