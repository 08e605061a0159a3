"""while and for. A loop is translated again when an edge brings a variable another type than its begin assumed, until types agree."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gpusim.frontend.arrays import as_array, is_constant_array, walk
from gpusim.frontend.context import Context, LoopEdges, is_nonneg
from gpusim.frontend.logic import condition
from gpusim.frontend.operands import Array, Bound, Env, Group, Operand, Range, Scalar, Static, Walk, described, is_variable
from gpusim.frontend.picking import items
from gpusim.frontend.typing import loop_type
from gpusim.frontend.variables import assign, assigned_names, canonical, conform, general, join, loop_edge
from gpusim.ir.simt.nodes import Break, Continue, For, Imm, Reg, Stmt, Value, While

#: translations of one loop until types must have settled
MAX_PASSES = 24


def leave(ctx: Context, node: ast.stmt) -> None:
    """The edge of break, continue or return out of the innermost loop."""
    edges = ctx.frame.loops[-1]
    if edges.flag and not isinstance(node, ast.Continue):
        assign(ctx, edges.flag, Scalar(Imm(True, "bool")))
    edges.broken = edges.broken or not isinstance(node, ast.Continue)
    loop_edge(ctx, edges)


def stop(ctx: Context, node: ast.Break | ast.Continue) -> None:
    """break and continue."""
    leave(ctx, node)
    ctx.emit(Break(ctx.line) if isinstance(node, ast.Break) else Continue(ctx.line))
    ctx.frame.env, ctx.frame.live = {}, False


def while_loop(ctx: Context, node: ast.While) -> None:
    def once(edges: LoopEdges) -> Stmt | None:
        with ctx.collect() as head:
            cond = condition(ctx, node.test)
        if isinstance(cond, Imm) and not cond.value and not head:
            return None
        endless = isinstance(cond, Imm) and bool(cond.value)
        behind = dict(ctx.frame.env)
        with ctx.collect() as body:
            _body(ctx, edges, node.body)
        ctx.frame.env = {} if endless else behind
        ctx.frame.live = not endless or edges.broken
        return While(tuple(head), cond, tuple(body), ctx.frame.call_line or ctx.frame.source.line_of(node))

    _settle(ctx, node, assigned_names([node]), once)


def _body(ctx: Context, edges: LoopEdges, body: list[ast.stmt]) -> None:
    """One pass over the loop's statements, with its edge back to the begin."""
    ctx.block(ctx, body)
    if ctx.frame.live:
        loop_edge(ctx, edges)


def _settle(ctx: Context, node: ast.While | ast.For, assigned: frozenset[str], once: Callable[[LoopEdges], Stmt | None]) -> None:
    """Translate the loop until the types at its edges agree, then emit it; else-statements follow."""
    flag = _else_flag(ctx, node)
    if flag:
        assigned = assigned | {flag}
        assign(ctx, flag, Scalar(Imm(False, "bool")))
    key = (*ctx.frame.path, id(ctx.frame.source.function), node.lineno, node.col_offset)
    entry = dict(ctx.frame.env)
    for _ in range(MAX_PASSES):
        header = _header(ctx, entry, assigned, ctx.headers.get(key, {}))
        edges = LoopEdges(header, assigned, flag=flag)
        with ctx.collect() as before:
            _enter(ctx, entry, header)
        ctx.frame.env, ctx.frame.live = dict(header), True
        ctx.frame.loops.append(edges)
        loop = once(edges)
        ctx.frame.loops.pop()
        if not (edges.wider or edges.guessed):
            break
        news = edges.late if edges.guessed else {**edges.late, **edges.wider}
        ctx.headers[key] = {**ctx.headers.get(key, {}), **news}
        if edges.guessed and not edges.late:
            ctx.refuse(node, "A variable of this loop is read before anything gives it a value.", "Give it a value before the loop.")
    else:
        ctx.refuse(node, "The types of this loop's variables do not settle.", "Convert the variables before the loop: x = float32(0).")
    live, ctx.frame.live = ctx.frame.live, True
    ctx.out += before
    if loop is not None:
        ctx.out.append(loop)
    ctx.frame.env = {**ctx.frame.env, **header, **edges.late}
    ctx.frame.live = live
    if node.orelse:
        _orelse(ctx, node, flag)


def _header(ctx: Context, entry: Env, assigned: frozenset[str], found: Env) -> Env:
    """What the variables stand for at the loop's begin: as on entry, but those the loop changes only by type."""
    header = dict(entry)
    for name in assigned:
        if name in entry:
            bound = Bound(canonical(ctx, name, general(entry[name].operand)), entry[name].line)
            if name in found:
                bound = join(ctx, name, bound, found[name])
            header[name] = Bound(general(bound.operand), bound.line)
        elif name in found:
            header[name] = found[name]
    return header


def _enter(ctx: Context, entry: Env, header: Env) -> None:
    for name, bound in entry.items():
        if header[name].operand != bound.operand:
            conform(ctx, bound.operand, header[name].operand)


def _else_flag(ctx: Context, node: ast.While | ast.For) -> str:
    """The variable that says whether break (or a device function's return) ended the loop, if an else depends on it."""
    left_early = _jumps(node.body, (ast.Break,)) or (ctx.frame.inlined and any(isinstance(n, ast.Return) for s in node.body for n in ast.walk(s)))
    return f"$broke{node.lineno}.{node.col_offset}" if node.orelse and left_early else ""


def _jumps(body: list[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether a break (or continue) in the statements belongs to the loop around them."""
    for stmt in body:
        if isinstance(stmt, kinds):
            return True
        if isinstance(stmt, ast.If) and (_jumps(stmt.body, kinds) or _jumps(stmt.orelse, kinds)):
            return True
        if isinstance(stmt, ast.While | ast.For) and _jumps(stmt.orelse, kinds):
            return True
    return False


def _orelse(ctx: Context, node: ast.While | ast.For, flag: str) -> None:
    from gpusim.frontend.statements import branch

    if not flag:
        ctx.block(ctx, node.orelse)
        return
    bound = ctx.frame.env[flag].operand
    assert isinstance(bound, Scalar)
    branch(ctx, node, bound.known or bound.value, [], node.orelse)


def for_loop(ctx: Context, node: ast.For) -> None:
    """for over a range, a tuple (written out), or the elements of an array."""
    over = ctx.evaluate(ctx, node.iter)
    if isinstance(over, Range):
        return _over_range(ctx, node, over)
    if isinstance(over, Group):
        return _along(ctx, node, items(ctx, node, over)) if _left_early(ctx, node) and over.items else _written_out(ctx, node, over)
    if isinstance(over, Walk):
        return _along(ctx, node, over)
    if isinstance(over, Array) or (isinstance(over, Static) and is_constant_array(over.obj)):
        return _along(ctx, node, walk(ctx, as_array(ctx, over, node), node))
    ctx.refuse(node, f"A {described(over)} cannot be looped over.", "Use range().")


def _left_early(ctx: Context, node: ast.For) -> bool:
    """Whether break, continue, or a device function's return may skip statements of the body."""
    returns = ctx.frame.inlined and any(isinstance(n, ast.Return) for s in node.body for n in ast.walk(s))
    return returns or _jumps(node.body, (ast.Break, ast.Continue))


def _written_out(ctx: Context, node: ast.For, over: Group) -> None:
    from gpusim.frontend.statements import assign_target

    for item in over.items:
        assign_target(ctx, node.target, item)
        ctx.block(ctx, node.body)
        if not ctx.frame.live:
            return
    ctx.block(ctx, node.orelse)


def _along(ctx: Context, node: ast.For, over: Walk) -> None:
    _over_range(ctx, node, Range(Scalar(Imm(0, "int64")), over.length, Scalar(Imm(1, "int64"))), over.item)


def _over_range(ctx: Context, node: ast.For, over: Range, item: Callable[[Scalar], Operand] | None = None) -> None:
    from gpusim.frontend.statements import assign_target

    if item is None and not isinstance(node.target, ast.Name):
        ctx.refuse(node, "A range gives one number at a time.", "Write `for i in range(...)`.")
    dtype = loop_type([s.dtype for s in (over.start, over.stop, over.step)]) or "int64"
    name = node.target.id if isinstance(node.target, ast.Name) and item is None else ""
    assigned = assigned_names([node])
    start, stop, step = (_bound(ctx, ctx.cast(s.value, dtype), assigned) for s in (over.start, over.stop, over.step))
    hidden = not name or name in assigned_names(node.body)
    counter = ctx.variable(f"{name or 'k'}.counter", dtype) if hidden else ctx.variable(name, dtype)
    nonneg = is_nonneg(over.start) and isinstance(step, Imm) and step.value > 0

    def once(edges: LoopEdges) -> Stmt:
        header = dict(ctx.frame.env)
        with ctx.collect() as body:
            value = Scalar(counter, None, nonneg)
            if hidden:
                assign_target(ctx, node.target, item(value) if item else value)
            else:
                ctx.frame.env[name] = Bound(value, ctx.line)
            _body(ctx, edges, node.body)
        ctx.frame.env, ctx.frame.live = header, True
        return For(counter, start, stop, step, tuple(body), ctx.frame.call_line or ctx.frame.source.line_of(node), over.unroll)

    if isinstance(step, Imm) and step.value == 0:
        ctx.refuse(node, "The step of the range is 0.")
    _settle(ctx, node, assigned, once)


def _bound(ctx: Context, value: Value, assigned: frozenset[str]) -> Value:
    """A bound of a range that the loop itself does not change."""
    if isinstance(value, Reg) and is_variable(value) and value.name in assigned:
        dst = ctx.temp(value.dtype)
        ctx.move(dst, value)
        return dst
    return value
