"""Statements of a kernel or a device function."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpusim.frontend import arrays, loops, slices
from gpusim.frontend.arithmetic import binary
from gpusim.frontend.choices import each
from gpusim.frontend.context import Context
from gpusim.frontend.inline import always_returns, give_back, has_return
from gpusim.frontend.logic import condition
from gpusim.frontend.match import Subject
from gpusim.frontend.operands import Array, Group, Operand, Scalar, Static, described
from gpusim.frontend.refusals import UNSUPPORTED
from gpusim.frontend.typing import is_integer
from gpusim.frontend.variables import assign, copies, meet
from gpusim.ir.simt.nodes import Assert, Atomic, Break, If, Imm, Return, Value


def block(ctx: Context, stmts: list[ast.stmt]) -> None:
    """Translate statements in order; what cannot be reached is left out."""
    for k, stmt in enumerate(stmts):
        if not ctx.frame.live:
            return
        ctx.at(stmt)
        rest = stmts[k + 1 :]
        if ctx.frame.inlined and has_return(stmt) and not isinstance(stmt, ast.Return):
            if _returning(ctx, stmt, rest):
                return
        else:
            statement(ctx, stmt)


def statement(ctx: Context, stmt: ast.stmt) -> None:
    handler = _HANDLERS.get(type(stmt))
    if handler is None:
        name, hint = UNSUPPORTED.get(type(stmt), (f"'{type(stmt).__name__}'", ""))
        ctx.refuse(stmt, f"Kernels cannot have {name}.", hint)
    handler(ctx, stmt)


def _returning(ctx: Context, stmt: ast.stmt, rest: list[ast.stmt]) -> bool:
    """A compound statement of a device function with a return inside. True if the rest of the block was translated with it."""
    if ctx.frame.loops:
        statement(ctx, stmt)
        if isinstance(stmt, ast.For | ast.While) and ctx.frame.live:
            _leave_again(ctx, stmt)
        return False
    if isinstance(stmt, ast.If) and always_returns(stmt.body):
        branch(ctx, stmt, condition(ctx, stmt.test), stmt.body, stmt.orelse + rest)
    elif isinstance(stmt, ast.If) and always_returns(stmt.orelse):
        branch(ctx, stmt, condition(ctx, stmt.test), stmt.body + rest, stmt.orelse)
    else:
        statement(ctx, stmt)
        if rest and ctx.frame.live:
            branch(ctx, stmt, _done(ctx), [], rest)
    return True


def _done(ctx: Context) -> Value:
    bound = ctx.frame.env["$done"].operand
    assert isinstance(bound, Scalar)
    return bound.known or bound.value


def _leave_again(ctx: Context, stmt: ast.stmt) -> None:
    """Behind an inner loop that a return may have ended: end the outer loop too."""
    done = _done(ctx)
    if isinstance(done, Imm):
        return
    env = dict(ctx.frame.env)
    with ctx.collect() as out:
        loops.leave(ctx, stmt)
        out.append(Break(ctx.line))
    ctx.frame.env = env
    ctx.emit(If(done, tuple(out), (), ctx.line))


def branch(ctx: Context, node: ast.stmt, cond: Value, then: list[ast.stmt], orelse: list[ast.stmt]) -> None:
    """if cond: then else: orelse."""
    if isinstance(cond, Imm):
        block(ctx, then if cond.value else orelse)
        return
    frame, line = ctx.frame, ctx.line
    before = dict(frame.env)
    sides = []
    for stmts in (then, orelse):
        frame.env, frame.live = dict(before), True
        with ctx.collect() as out:
            block(ctx, stmts)
        sides.append((frame.env, out, frame.live))
    (env1, out1, live1), (env2, out2, live2) = sides
    frame.live = True
    frame.env = meet(ctx, env1, out1, env2, out2)
    ctx.emit(If(cond, tuple(out1), tuple(out2), line))
    frame.live = live1 or live2


def _if(ctx: Context, node: ast.If) -> None:
    cond = condition(ctx, node.test)
    ctx.at(node)
    branch(ctx, node, cond, node.body, node.orelse)


def _assign(ctx: Context, node: ast.Assign) -> None:
    value = _named(ctx, node.targets[0], node.value)
    for target in node.targets:
        ctx.at(node)
        assign_target(ctx, target, value)
        if isinstance(target, ast.Name):
            value = ctx.frame.env[target.id].operand


def _subject(ctx: Context, node: Subject) -> None:
    """What a match compares, once."""
    value = ctx.scalar(ctx.evaluate(ctx, node.value), node.value, "The subject of this match")
    if not is_integer(value.dtype) and value.dtype != "bool":
        ctx.refuse(node, f"The subject of this match is {value.dtype}; it must be an integer.", "Write if and elif, or cast it: match int32(x).")
    assign_target(ctx, node.targets[0], value)


def _named(ctx: Context, target: ast.expr, value: ast.expr) -> Operand:
    """The value; an array that it makes gets the name of the variable."""
    saved, ctx.wanted_name = ctx.wanted_name, target.id if isinstance(target, ast.Name) else ""
    try:
        return ctx.evaluate(ctx, value)
    finally:
        ctx.wanted_name = saved


def _annotated(ctx: Context, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign_target(ctx, node.target, _named(ctx, node.target, node.value))


def assign_target(ctx: Context, target: ast.expr, value: Operand) -> None:
    """target = value, for a name, an element, or a tuple of these."""
    if isinstance(target, ast.Name):
        assign(ctx, target.id, value)
    elif isinstance(target, ast.Subscript):
        _store(ctx, target, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(ctx, target, value)
    else:
        ctx.refuse(target, f"'{ast.unparse(target)}' cannot be assigned in a kernel.", "Assign to a variable or to an element of an array.")


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Operand) -> None:
    if not isinstance(value, Group) or len(value.items) != len(target.elts):
        ctx.refuse(target, f"A {described(value)} cannot be unpacked into {len(target.elts)} targets.")
    for one, item in zip(target.elts, copies(ctx, value.items), strict=True):
        assign_target(ctx, one, item)


def _store(ctx: Context, target: ast.Subscript, value: Operand) -> None:
    base = ctx.evaluate(ctx, target.value)
    if isinstance(base, Group):
        ctx.refuse(target, "A tuple's item is assigned.", "Use a cuda.local.array, or build a new tuple.")
    if slices.has_slice(target) or slices.is_whole(target):
        return _fill(ctx, target, base, value)
    index = arrays.indices(ctx, target)
    number = ctx.scalar(value, target, "The value").value

    def one(operand: Operand) -> Operand:
        array = arrays.as_array(ctx, operand, target)
        arrays.store(ctx, target, array, arrays.element(ctx, target, array, index), (number,))
        return Static(None)

    each(ctx, target, base, one)


def _fill(ctx: Context, target: ast.Subscript, base: Operand, value: Operand) -> None:
    """a[lo:hi] = value"""
    parts = [] if slices.is_whole(target) else slices.parts_of(ctx, target)
    source = value if isinstance(value, Array) else ctx.scalar(value, target, "The value")

    def one(operand: Operand) -> Operand:
        slices.fill(ctx, target, slices.view(ctx, target, arrays.as_array(ctx, operand, target), parts), source)
        return Static(None)

    each(ctx, target, base, one)


def _augmented(ctx: Context, node: ast.AugAssign) -> None:
    """x += v. The index of an element is computed once."""
    if isinstance(node.target, ast.Subscript):
        target = node.target
        each(ctx, node, ctx.evaluate(ctx, target.value), lambda base: _augmented_element(ctx, node, target, base))
        return
    if not isinstance(node.target, ast.Name):
        ctx.refuse(node, f"'{ast.unparse(node.target)}' cannot be assigned in a kernel.", "Assign to a variable or to an element of an array.")
    load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    expression = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
    assign(ctx, node.target.id, ctx.evaluate(ctx, expression))


def _augmented_element(ctx: Context, node: ast.AugAssign, target: ast.Subscript, base: Operand) -> Operand:
    array = arrays.as_array(ctx, base, target)
    if slices.has_slice(target) or slices.is_whole(target):
        ctx.refuse(target, "A slice is changed in place.", "Write a loop over the elements.")
    index = arrays.element(ctx, target, array, arrays.indices(ctx, target))
    old = Scalar(arrays.load(ctx, array, index)[0])
    new = binary(ctx, node, node.op, old, ctx.scalar(ctx.evaluate(ctx, node.value), node.value))
    arrays.store(ctx, node, array, index, (new.value,))
    return Static(None)


def _return(ctx: Context, node: ast.Return) -> None:
    if ctx.frame.inlined:
        return give_back(ctx, node)
    value = Static(None) if node.value is None else ctx.evaluate(ctx, node.value)
    if value != Static(None):
        ctx.refuse(node, "A kernel returns a value.", "Write it to an array argument; only device functions return values.")
    ctx.emit(Return(ctx.line))
    ctx.frame.env, ctx.frame.live = {}, False


def _assert(ctx: Context, node: ast.Assert) -> None:
    cond = condition(ctx, node.test)
    message = ast.unparse(node.test)
    if node.msg is not None:
        given = ctx.evaluate(ctx, node.msg)
        message = str(given.obj) if isinstance(given, Static) else message
    ctx.at(node)
    ctx.emit(Assert(cond, message, ctx.line))


def _raise(ctx: Context, node: ast.Raise) -> None:
    """An error of the launch, as a failed assert; what follows it on this path is never run."""
    ctx.emit(Assert(Imm(False, "bool"), ast.unparse(node), ctx.line))
    ctx.frame.env, ctx.frame.live = {}, False


def _delete(ctx: Context, node: ast.Delete) -> None:
    for target in node.targets:
        if not isinstance(target, ast.Name) or target.id not in ctx.frame.env:
            ctx.refuse(node, f"del of '{ast.unparse(target)}'.", "Only variables of the kernel can be deleted.")
        del ctx.frame.env[target.id]


def _expression(ctx: Context, node: ast.Expr) -> None:
    """A call for its effect. An atomic whose old value nobody reads is a reduction, where the machine has one."""
    if isinstance(node.value, ast.Constant):
        return
    ctx.evaluate(ctx, node.value)
    last = ctx.out[-1] if ctx.out else None
    if isinstance(last, Atomic) and isinstance(node.value, ast.Call) and last.op not in ("cas", "exch") and last.line == ctx.line:
        ctx.out[-1] = replace(last, dst=None)


def _pass(ctx: Context, node: ast.Pass) -> None:
    """Nothing."""


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return body[1:] if doc else body


_HANDLERS: dict[type[ast.stmt], Callable[[Context, Any], None]] = {
    ast.Assign: _assign,
    Subject: _subject,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.While: loops.while_loop,
    ast.For: loops.for_loop,
    ast.Break: loops.stop,
    ast.Continue: loops.stop,
    ast.Return: _return,
    ast.Assert: _assert,
    ast.Expr: _expression,
    ast.Pass: _pass,
    ast.Raise: _raise,
    ast.Delete: _delete,
}
