"""What each op of a block becomes: one function per op, gathered in a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.expr import Const, Expr
from gpusim.ir.ops import Broadcast, Cast, Check, Full, If, Index, Let, Load, Loop, Map, Print, Reduce, Reshape, Store, Update
from gpusim.ir.program import walk
from gpusim.ir.simt.nodes import For, Imm, Value
from gpusim.ir.simt.nodes import If as ThreadIf
from gpusim.ir.simt.nodes import Op as ThreadOp
from gpusim.lower.blocked import access, maps
from gpusim.lower.blocked.access import Boxed
from gpusim.lower.blocked.emit import BOOL, INDEX, Element, Emitter, Later, now
from gpusim.lower.blocked.layout import LANES
from gpusim.lower.blocked.lowering import Lowering
from gpusim.lower.blocked.reduce import OPERATIONS, Reduction, reduce
from gpusim.lower.blocked.scalars import bounds, value
from gpusim.lower.blocked.tiles import Held, computing, narrowed, wide
from gpusim.lower.rules import SPECIALISED_MULTIPLE

#: fp32 elements of the widest access
ACCESS = 4


def _let(s: Lowering, op: Let) -> None:
    s.scope = s.scope.inside(op.name, value(s.e, op.value, s.scope.scalars), bounds(op.value, s.scope.ranges))


def _boxed(s: Lowering, op: Load | Store) -> tuple[Boxed, Any]:
    tile = s.tile_of(op)
    return Boxed(op.box, s.arrays[op.box.tensor], s.along(op), s.axes.shape(tile)), s.places[s.axes.group[tile]]


def _load(s: Lowering, op: Load) -> None:
    made = access.load(s.e, op, *_boxed(s, op), s.scope)
    if s.before_reduction or not s.sink or op.box.tensor in s.rewritten:
        for element in made.values:
            now(element)
    s.define(op.dst, made.values, made.words)


def _store(s: Lowering, op: Store) -> None:
    what, at = _boxed(s, op)
    held = s.tiles[op.src]
    if op.box.tensor in s.rewritten:
        s.settle()
    if held.words != what.array.words:
        held = Held(held.shape, held.dtype, *narrowed(s.e, wide(s.e, held), held.dtype, what.array.words))
    access.store(s.e, held, what, at, s.scope)


def _full(s: Lowering, op: Full) -> None:
    kind = op.dtype.numpy
    if s.axes.shape(op.dst)[-1] == 1 and float(op.value).is_integer():
        s.multiples[op.dst] = _power(int(op.value))
    number = Imm(bool(op.value) if kind == "bool" else float(op.value) if "float" in kind else int(op.value), kind)
    s.define(op.dst, (number,) * _count(s, op.dst))


def _power(value: int) -> int:
    """The largest power of two up to 16 that divides it, as arguments are specialised."""
    return next(n for n in (SPECIALISED_MULTIPLE, 1) if value % n == 0)


def _count(s: Lowering, tile: str) -> int:
    return len(s.places[s.axes.group[tile]].layout.offsets(s.axes.shape(tile)))


def _index(s: Lowering, op: Index) -> None:
    """Start and steps in the axes of the layout."""
    at, along = s.places[s.axes.group[op.dst]], s.axes.along[op.dst]
    kind, total = op.dtype.numpy, value(s.e, op.start, s.scope.scalars)
    if op.steps and op.steps[-1] == Const(1) and isinstance(op.start, Const):
        s.multiples[op.dst] = _power(op.start.value)
    steps = {axis: value(s.e, step, s.scope.scalars) for axis, step in zip(along, op.steps, strict=True) if axis is not None}
    made = []
    for offset in at.layout.offsets(s.axes.shape(op.dst)):
        each = total
        for axis, step in steps.items():
            coordinate = s.e.add(at.first[axis], Imm(offset[axis], INDEX))
            each = s.e.add(each, s.e.mul(coordinate, step))
        made.append(s.e.cast(each, kind))
    s.define(op.dst, tuple(made))


def _map(s: Lowering, op: Map) -> None:
    make = maps.function(op.fn)
    s.current = s.axes.group[op.dst]
    shape = s.axes.shape(op.dst)
    made = _together(s, op.dst, make, [*zip(*(s.spread(a, shape) for a in op.args), strict=True)])
    alike = _alike(s, op)
    if alike > 1:
        made = [s.e.later(partial(_first, s.e, make, each)) for each in zip(*(s.spread(a, shape) for a in op.args), strict=True)]
        made = [made[i // alike * alike] for i in range(len(made))]
    if op.fn in maps.BRANCHING:
        for element in made:
            element.get()
    s.result(op.dst, tuple(made))


def _together(s: Lowering, tile: str, make: maps.Function, elements: list[tuple[Element, ...]]) -> list[Later]:
    """`make` of each element's arguments, for later; neighbours of a thread are computed side by side, as an op of tiles is: each step of one hides the
    latency of the others. Where registers are to be saved, they are those of one fp32 access."""
    size = s.places[s.axes.group[tile]].layout.per[-1] if s.axes.shape(tile)[-1] > 1 else 1
    size = min(size, ACCESS) if s.sink else size
    out: list[Later] = []
    for first in range(0, len(elements), size):
        group = s.e.later(partial(_applied, s.e, make, elements[first : first + size]))
        out += [s.e.later(partial(_member, group, n)) for n in range(min(size, len(elements) - first))]
    return out


def _applied(e: Emitter, make: maps.Function, elements: list[tuple[Element, ...]]) -> list[Value]:
    ready = [tuple(now(a) for a in args) for args in elements]
    return [make(e, args) for args in ready]


def _first(e: Emitter, make: maps.Function, args: tuple[Element, ...]) -> Value:
    return make(e, tuple(now(a) for a in args))


def _member(group: Later, n: int) -> Value:
    value: Value = group.get()[n]
    return value


def _alike(s: Lowering, op: Map) -> int:
    """Neighbours for which a comparison gives one result: an index that begins at a multiple of that many against a constant multiple, as the compiler's
    analysis of axes finds."""
    if op.fn not in maps.COMPARISONS:
        return 1
    sides = [s.multiples.get(a, 1) for a in op.args]
    return min(*sides, s.places[s.axes.group[op.dst]].layout.per[-1]) if s.axes.shape(op.dst)[-1] > 1 else 1


def _reduce(s: Lowering, op: Reduce) -> None:
    if op.fn not in OPERATIONS:
        raise GpusimError(f"no timing for the reduction '{op.fn}' yet.", where=s.program.name, hint=f"Known: {', '.join(OPERATIONS)}.")
    axis = s.axes.along[op.src][op.axis]
    if axis is None:
        s.define(op.dst, s.tiles[op.src].values, s.tiles[op.src].words)
        return
    how = Reduction(OPERATIONS[op.fn], axis, s.types[op.src].shape[op.axis])
    made = reduce(s.e, how, s.tiles[op.src], s.places[s.axes.group[op.src]], LANES * s.program.warps, s.scratch)
    s.result(op.dst, made.values)


def _cast(s: Lowering, op: Cast) -> None:
    if op.bits:
        raise GpusimError("no timing for a cast of bits yet.", where=s.program.name)
    target = computing(op.dtype)
    convert = partial(_converted, dtype=target)
    s.result(op.dst, tuple(_together(s, op.dst, convert, [(v,) for v in wide(s.e, s.tiles[op.src])])))


def _converted(e: Emitter, args: tuple[Value, ...], dtype: str) -> Value:
    (v,) = args
    return e.cast(v, dtype) if not isinstance(v, Imm) else Imm(float(v.value) if "float" in dtype else int(v.value), dtype)


def _same(s: Lowering, op: Reshape) -> None:
    """Nothing moves; of a variable, the value that it has now."""
    held = s.tiles[op.src]
    values = tuple(s.e.op("mov", v.dtype, v) for v in map(now, held.values)) if op.src in s.variables else held.values
    s.define(op.dst, values, held.words)


def _broadcast(s: Lowering, op: Broadcast) -> None:
    s.current = s.axes.group[op.dst]
    s.result(op.dst, tuple(s.spread(op.src, s.axes.shape(op.dst))))


def _update(s: Lowering, op: Update) -> None:
    s.settle()
    old, new = s.tiles[op.dst], s.tiles[op.src]
    values = new.values if new.words == old.words else narrowed(s.e, wide(s.e, new), new.dtype, old.words)[0]
    for reg, v in zip(old.values, [now(v) for v in values], strict=True):
        s.e.emit(ThreadOp(reg, "mov", (v,), op.line))  # type: ignore[arg-type]


def _loop(s: Lowering, op: Loop) -> None:
    """In it, shared memory may have been read in the iteration before."""
    s.settle()
    e, var = s.e, s.e.reg(INDEX, op.var)
    start, stop = _limit(s, op.start), _limit(s, op.stop)
    outside, ends = s.scope, [bounds(x, s.scope.ranges) for x in (op.start, op.stop)]
    s.scope = s.scope.inside(op.var, var, (ends[0][0], ends[1][1] - 1) if ends[0] and ends[1] else None)
    s.scratch.used = s.scratch.used or any(isinstance(inner, Reduce) for inner in walk(op.body))
    with e.body() as made:
        s.run(op.body)
    s.scope = outside
    e.emit(For(var, start, stop, Imm(1, INDEX), tuple(made), op.line, 1))


def _limit(s: Lowering, bound: Expr) -> Value:
    return s.numbers[bound.value] if isinstance(bound, Const) and bound.value in s.numbers else value(s.e, bound, s.scope.scalars)


def _branch(s: Lowering, op: If) -> None:
    s.settle()
    e, outside, sides = s.e, s.scope, []
    cond = e.op("ne", BOOL, value(e, op.cond, s.scope.scalars), Imm(0, INDEX))
    for ops in (op.then, op.orelse):
        with e.body() as made:
            s.run(ops)
        sides.append(tuple(made))
        s.scope = outside
    e.emit(ThreadIf(cond, sides[0], sides[1], op.line))


#: kind of op -> what it becomes
VISIT: dict[type, Callable[[Lowering, Any], None]] = {
    Let: _let, Load: _load, Store: _store, Full: _full, Index: _index, Map: _map, Reduce: _reduce, Cast: _cast, Reshape: _same, Broadcast: _broadcast,
    Update: _update, Loop: _loop, If: _branch,
    # what tells a programmer something is not there in a launch that is timed
    Check: lambda s, op: None, Print: lambda s, op: None,
}  # fmt: skip
