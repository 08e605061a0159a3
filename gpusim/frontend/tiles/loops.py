"""`for` and `while`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gpusim.frontend.tiles.arith import binary, truth
from gpusim.frontend.tiles.carried import Plan, begin, end, inside, plan_of, update
from gpusim.frontend.tiles.context import Context
from gpusim.frontend.tiles.tiles import scalar
from gpusim.frontend.tiles.values import Scalar, dtype_of
from gpusim.ir.expr import Const, Expr, Name, bin_
from gpusim.ir.linear import Linear, linear, quotient
from gpusim.ir.ops import Dot, Loop, Op, While
from gpusim.ir.program import walk
from gpusim.triton.markers import Intrinsic

#: iterations of a loop that is unrolled, at most
MOST_UNROLLED = 4096


def for_loop(ctx: Context, node: ast.For) -> None:
    if node.orelse:
        ctx.refuse(node, "a loop with else is not supported.", "Write what follows behind the loop.")
    call = node.iter
    function = ctx.evaluate(ctx, call.func) if isinstance(call, ast.Call) else None
    kind = "range" if function is range else function.name if isinstance(function, Intrinsic) else ""
    if not isinstance(call, ast.Call) or kind not in ("range", "static_range"):
        items = ctx.evaluate(ctx, node.iter)
        if isinstance(items, tuple):
            _unrolled(ctx, node, items)
            return
        ctx.refuse(node.iter, "a loop runs over range, tl.range, tl.static_range or a tuple.")
    bounds = [ctx.evaluate(ctx, a) for a in call.args]
    options = {k.arg: ctx.evaluate(ctx, k.value) for k in call.keywords}
    start, stop, step = _bounds(bounds, options)
    if kind == "static_range":
        known: list[Any] = [v.known if isinstance(v, Scalar) else v for v in (start, stop, step)]
        if not all(isinstance(v, int) for v in known) or len(range(*known)) > MOST_UNROLLED:
            ctx.refuse(call, f"static_range needs known bounds, of at most {MOST_UNROLLED} iterations.", "Use range.")
        _unrolled(ctx, node, tuple(range(*known)))
        return
    _counted(ctx, node, (start, stop, step), options)


def _bounds(given: list[Any], options: dict[str | None, Any]) -> tuple[Any, Any, Any]:
    """(start, stop, step) as range takes them."""
    names = ("arg1", "arg2", "step")
    values = [*given, *(options[n] for n in names[len(given) :] if n in options)]
    return (0, values[0], 1) if len(values) == 1 else (values[0], values[1], values[2] if len(values) > 2 else 1)


def _unrolled(ctx: Context, node: ast.For, items: tuple[Any, ...]) -> None:
    for item in items:
        bind_target(ctx, node.target, item)
        ctx.block(ctx, node.body)


def bind_target(ctx: Context, target: ast.expr, value: Any) -> None:
    """Give names their values."""
    if isinstance(target, ast.Name):
        ctx.frame.env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        if not isinstance(value, tuple) or len(value) != len(target.elts):
            ctx.refuse(target, f"{len(target.elts)} names need a tuple of as many values.")
        for one, item in zip(target.elts, value, strict=True):
            bind_target(ctx, one, item)
    else:
        ctx.refuse(target, "only names are given values.", "Write to memory with tl.store.")


def _counted(ctx: Context, node: ast.For, bounds: tuple[Any, Any, Any], options: dict[str | None, Any]) -> None:
    if not isinstance(node.target, ast.Name):
        ctx.refuse(node.target, "the variable of a range is one name.")
    start, stop, step = (_named(ctx, scalar(ctx, b, node.iter, "A bound of the loop"), node.target.id) for b in bounds)
    first, last, trips = _trips(ctx, node, start, stop, step)
    name = node.target.id
    line = ctx.line

    def bound(var: str) -> Scalar:
        """The user's variable in the iteration that `var` counts."""
        ctx.ranges.loop(var, first, last)
        of = dtype_of(binary(ctx, "+", start, stop, node))
        return Scalar((linear(start.expr) + linear(Name(var) * step.expr)).expr() if first == Const(0) else Name(var), of)

    def trial() -> None:
        ctx.frame.env[name] = bound(ctx.unique(name))
        _inside(ctx, node, lambda: ctx.block(ctx, node.body))

    plan = plan_of(ctx, node, trial, inductive=True)
    tiles = begin(ctx, node, plan)
    var = ctx.unique(name)
    with ctx.collect() as body:
        ctx.frame.env[name] = bound(var)
        iteration = linear(Name(var)) - linear(first)
        _body(ctx, node, plan, tiles, iteration)
    end(ctx, node, plan, tiles, trips)
    ctx.emit(Loop(var, first, last, tuple(body), _stages(ctx, options, body), line))


def _named(ctx: Context, value: Scalar, name: str) -> Scalar:
    """A bound that is no sum gets a name, so that what is counted from it stays a sum."""
    if isinstance(value.expr, Const | Name) or all(isinstance(a, Name) for a in linear(value.expr).atoms):
        return value
    return ctx.let(f"{name}_end", value.expr, value.dtype)


def _trips(ctx: Context, node: ast.For, start: Scalar, stop: Scalar, step: Scalar) -> tuple[Expr, Expr, Linear]:
    """(first, last) of the loop of the IR, and how often it runs. With a step other than 1 it counts from 0."""
    if step.known == 1:
        count = linear(stop.expr) - linear(start.expr)
        found = ctx.ranges.of(count)
        safe = found is not None and found[0] >= 0
        return start.expr, stop.expr, count if safe else linear(bin_("max", count.expr(), 0))
    if step.known == 0:
        ctx.refuse(node.iter, "the step of the loop is 0.")
    down = step.known is not None and step.known < 0
    distance = linear(start.expr) - linear(stop.expr) if down else linear(stop.expr) - linear(start.expr)
    size = bin_("*", step.expr, -1) if down else step.expr
    trips = bin_("max", _rounded_up(distance, size), 0)
    found = ctx.ranges.of(distance)
    if found is not None and found[0] >= 0:
        trips = _rounded_up(distance, size)
    return Const(0), trips, linear(trips)


def _rounded_up(distance: Linear, size: Expr) -> Expr:
    return quotient((distance + linear(size) - Linear(1)).expr(), size)


def _inside(ctx: Context, node: ast.stmt, translate: Callable[[], None]) -> None:
    ctx.enclosing.append(node)
    try:
        translate()
    finally:
        ctx.enclosing.pop()


def _body(ctx: Context, node: ast.For | ast.While, plan: Plan, tiles: dict[Any, Any], iteration: Linear) -> None:
    for carried in plan.starts:
        ctx.frame.env[carried] = inside(plan, tiles, carried, iteration)
    _inside(ctx, node, lambda: ctx.block(ctx, node.body))
    update(ctx, node, plan, tiles)


def _stages(ctx: Context, options: dict[str | None, Any], body: list[Op]) -> int | None:
    """The depth of the loop's pipeline: what it asks for itself, else what the launch asks for, if it multiplies matrices."""
    own = options.get("num_stages")
    if own is not None:
        return max(1, int(own))
    return ctx.stages if any(isinstance(op, Dot) for op in walk(tuple(body))) else 1


def while_loop(ctx: Context, node: ast.While) -> None:
    line = ctx.line

    def trial() -> None:
        ctx.evaluate(ctx, node.test)
        _inside(ctx, node, lambda: ctx.block(ctx, node.body))

    plan = plan_of(ctx, node, trial, inductive=False)
    tiles = begin(ctx, node, plan)
    with ctx.collect() as before:
        for carried in plan.starts:
            ctx.frame.env[carried] = inside(plan, tiles, carried, Linear(0))
        cond = truth(ctx, ctx.evaluate(ctx, node.test), node.test)
        with ctx.collect() as body:
            _body(ctx, node, plan, tiles, Linear(0))
    end(ctx, node, plan, tiles, Linear(0))
    test = cond.expr if isinstance(cond, Scalar) else Const(int(cond))
    ctx.emit(While(tuple(before), test, tuple(body), line))
