"""Variables that an iteration hands to the next one.

A trial translation of the body shows what becomes of each. Integers that change by the same amount every time are formulas of the loop
variable, and so are pointers made of them. Everything else that changes is a variable tile, which the end of the body updates.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gpusim.frontend.tiles.context import Context, Watch
from gpusim.frontend.tiles.leaves import is_formula, is_static, leaves, rebuilt, same_form
from gpusim.frontend.tiles.liveness import assigned, read_elsewhere
from gpusim.frontend.tiles.tiles import broadcast, copied, tile
from gpusim.frontend.tiles.values import Lattice, Pointer, Scalar, Shape, Tile, Undefined, dtype_of, is_number, shape_of
from gpusim.ir.expr import Expr, Name
from gpusim.ir.linear import Linear, linear
from gpusim.ir.ops import Update

#: trials after which the kinds of the variables of a loop must be known
MOST_TRIALS = 12
Key = tuple[str, int]


@dataclass(slots=True)
class Plan:
    """What is known of the leaves of the carried variables. deltas: formulas, by how much an iteration changes them (0: not at all);
    tiles: variables, with shape and dtype."""

    starts: dict[str, Any]
    deltas: dict[Key, Linear] = field(default_factory=dict)
    tiles: dict[Key, tuple[Shape, str]] = field(default_factory=dict)


def plan_of(ctx: Context, node: ast.For | ast.While, translate: Callable[[], None], inductive: bool) -> Plan:
    """The plan of the loop `node`. translate: the trial, which leaves the values at the end of the body in the environment."""
    names = assigned(node.body)
    plan = Plan({n: ctx.frame.env[n] for n in names if n in ctx.frame.env and not isinstance(ctx.frame.env[n], Undefined)})
    wanted = read_elsewhere(ctx.frame.source.tree, node, ctx.enclosing)
    for _ in range(MOST_TRIALS):
        watch, ends = _trial(ctx, plan, translate)
        if not _revised(ctx, node, plan, ends, watch.used | wanted, inductive):
            _forget(ctx, plan, watch.used | wanted)
            return plan
    ctx.refuse(node, "what the variables of this loop are changes with every look at it.", "Give each a type of its own before the loop.")


def _trial(ctx: Context, plan: Plan, translate: Callable[[], None]) -> tuple[Watch, dict[str, Any]]:
    with ctx.trial():
        stands = {n: _stand(plan, n) for n in plan.starts}
        ctx.frame.env.update(stands)
        watch = Watch(ctx.frame, stands)
        ctx.watches.append(watch)
        try:
            translate()
        finally:
            ctx.watches.pop()
        return watch, {n: ctx.frame.env.get(n) for n in plan.starts}


def _stand(plan: Plan, name: str) -> Any:
    """What stands for the value at the beginning of any iteration."""
    made: list[Any] = []
    for i, leaf in enumerate(leaves(plan.starts[name])):
        key = (name, i)
        if key in plan.tiles:
            made.append(Tile(_stand_name(key), *plan.tiles[key]))
        elif is_formula(leaf) and plan.deltas.get(key) != Linear(0):
            made.append(Scalar(Name(_stand_name(key)), dtype_of(leaf)))
        else:
            made.append(leaf)
    return rebuilt(plan.starts[name], iter(made))


def _stand_name(key: Key) -> str:
    return f"{key[0]}.{key[1]}"


def _revised(ctx: Context, node: ast.AST, plan: Plan, ends: dict[str, Any], wanted: set[str], inductive: bool) -> bool:
    """Learn from the ends of a trial; whether anything changed that the trial relied on."""
    changed = False
    for name, start in plan.starts.items():
        if name not in wanted:
            continue
        if not same_form(_stand(plan, name), ends[name]):
            changed |= _as_tiles(ctx, node, plan, name, ends[name])
            continue
        for i, (first, end) in enumerate(zip(leaves(start), leaves(ends[name]), strict=True)):
            changed |= _leaf(ctx, node, plan, (name, i), first, end, inductive)
    return changed


def _leaf(ctx: Context, node: ast.AST, plan: Plan, key: Key, first: Any, end: Any, inductive: bool) -> bool:
    if key in plan.tiles:
        return _retyped(ctx, node, plan, key, first, end)
    if is_static(first) or is_static(end):
        if first is end or first == end:
            return False
        ctx.refuse(node, f"'{key[0]}' is something else after an iteration of this loop.", "Use tl.static_range, or another variable.")
    if is_formula(first) and is_formula(end):
        stand = Linear(0) if plan.deltas.get(key) == Linear(0) else linear(Name(_stand_name(key)))
        before = linear(_expr(first)) if plan.deltas.get(key) == Linear(0) else stand
        delta = linear(_expr(end)) - before
        if delta == plan.deltas.get(key):
            return False
        if key not in plan.deltas and (delta == Linear(0) or (inductive and _outside(ctx, delta))):
            plan.deltas[key] = delta
            return delta == Linear(0)
    elif first == end:
        return False
    plan.deltas.pop(key, None)
    start = plan.starts[key[0]]
    if isinstance(start.offset if isinstance(start, Pointer) else start, Lattice):
        return _as_tiles(ctx, node, plan, key[0], start)
    weak = is_number(first) and not is_static(end)
    plan.tiles[key] = (shape_of(end), dtype_of(end)) if weak or is_formula(first) else (shape_of(first), dtype_of(first))
    return True


def _retyped(ctx: Context, node: ast.AST, plan: Plan, key: Key, first: Any, end: Any) -> bool:
    """A plain number takes the type of what it becomes; a value with a type keeps it."""
    have = plan.tiles[key]
    if is_static(end):
        ctx.refuse(node, f"'{key[0]}' is no number any more after an iteration of this loop.")
    became = (shape_of(end), dtype_of(end))
    if have == became or is_number(end):
        return False
    if is_number(first) or is_formula(first):
        plan.tiles[key] = became
        return True
    if became[0] != have[0] or became[1] != have[1]:
        was, is_now = f"{have[1]}{list(have[0])}", f"{became[1]}{list(became[0])}"
        ctx.refuse(node, f"'{key[0]}' is {was} before an iteration of this loop and {is_now} after it.", "Cast it with .to().")
    return False


def _outside(ctx: Context, delta: Linear) -> bool:
    """Whether a change is the same in all iterations: it is made of names that are known before the loop."""
    return all(name in ctx.state.taken or name.startswith("pid") for name in delta.names())


def _expr(leaf: Any) -> Expr:
    return linear(leaf.expr).expr() if isinstance(leaf, Scalar) else Linear(int(leaf)).expr()


def _as_tiles(ctx: Context, node: ast.AST, plan: Plan, name: str, end: Any) -> bool:
    """A variable whose form changes becomes a tile as a whole: a lattice with other steps, or a pointer with such an offset."""
    start = plan.starts[name]
    inner = start.offset if isinstance(start, Pointer) else start
    if isinstance(inner, Lattice) and shape_of(inner) == shape_of(end):
        whole = tile(ctx, inner, node)
        plan.starts[name] = Pointer(start.array, whole) if isinstance(start, Pointer) else whole
        plan.tiles[name, 0] = (whole.shape, whole.dtype)
        return True
    if is_number(start) or isinstance(start, Scalar):
        plan.tiles[name, 0] = (shape_of(end), dtype_of(end))
        return True
    ctx.refuse(node, f"'{name}' is something else after an iteration of this loop.", "Use another variable for it.")


def _forget(ctx: Context, plan: Plan, wanted: set[str]) -> None:
    """Variables that no iteration takes from an earlier one, and nobody reads later, are of the body alone."""
    for name in [n for n in plan.starts if n not in wanted]:
        del plan.starts[name]
        for key in [k for k in (*plan.deltas, *plan.tiles) if k[0] == name]:
            plan.deltas.pop(key, None)
            plan.tiles.pop(key, None)


# --- the loop as it is emitted
def begin(ctx: Context, node: ast.AST, plan: Plan) -> dict[Key, Tile]:
    """The variable tiles with the values before the loop. Reads of the variables are noted for the loops around."""
    made = {}
    for name, start in plan.starts.items():
        ctx.lookup(name) if name in ctx.frame.env else None
        for i, leaf in enumerate(leaves(start)):
            if (name, i) in plan.tiles:
                made[name, i] = variable(ctx, node, leaf, *plan.tiles[name, i])
    return made


def variable(ctx: Context, node: ast.AST, value: Any, shape: Shape, dtype: str) -> Tile:
    """A tile with the value of `value` that may be updated: `value` itself if nobody else holds it."""
    if is_number(value):
        return ctx.filled(value if dtype.startswith(("fp", "bf")) else int(value), dtype, shape)
    made = broadcast(ctx, tile(ctx, value, node, dtype), shape)
    own = made.name in ctx.state.fresh and holders(ctx, made.name) <= 1
    return made if own else copied(ctx, made)


def holders(ctx: Context, name: str) -> int:
    """How many variables of the functions being translated hold a tile."""
    return sum(isinstance(leaf, Tile) and leaf.name == name for frame in ctx.live() for value in frame.env.values() for leaf in leaves(value))


def inside(plan: Plan, tiles: dict[Key, Tile], name: str, iteration: Linear) -> Any:
    """The variable at the beginning of an iteration."""
    made: list[Any] = []
    for i, leaf in enumerate(leaves(plan.starts[name])):
        key = (name, i)
        if key in tiles:
            made.append(tiles[key])
        elif (delta := plan.deltas.get(key, Linear(0))) != Linear(0):
            made.append(Scalar(_moved(leaf, delta, iteration), dtype_of(leaf)))
        else:
            made.append(leaf)
    return rebuilt(plan.starts[name], iter(made))


def _moved(leaf: Any, delta: Linear, iteration: Linear) -> Expr:
    start = linear(_expr(leaf))
    if delta.is_constant:
        return (start + iteration.times(delta.constant)).expr()
    return (start + linear(delta.expr() * iteration.expr())).expr()


def update(ctx: Context, node: ast.AST, plan: Plan, tiles: dict[Key, Tile]) -> None:
    """Hand the values at the end of the body to the next iteration."""
    ends = {}
    for (name, i), var in tiles.items():
        leaf = leaves(ctx.frame.env[name])[i]
        end = broadcast(ctx, tile(ctx, leaf, node, var.dtype), var.shape)
        if end.name != var.name:
            # one variable may take the old value of another, which its own update would destroy
            ends[var.name] = copied(ctx, end) if any(end.name == other.name for other in tiles.values()) else end
    for var_name, end in ends.items():
        ctx.emit(Update(var_name, end.name, ctx.line))


def end(ctx: Context, node: ast.For | ast.While, plan: Plan, tiles: dict[Key, Tile], trips: Linear) -> None:
    """What the variables are behind the loop."""
    for name in assigned(node.body):
        if name in plan.starts:
            ctx.frame.env[name] = inside(plan, tiles, name, trips)
        else:
            ctx.frame.env[name] = Undefined("it is given a value in a loop only")
