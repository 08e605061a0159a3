"""What each op of a block becomes: one function per op, gathered in a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.expr import Const, Expr
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Broadcast, Cast, Full, If, Index, Let, Load, Loop, Map, Op, Reduce, Reshape, Store, Update
from gpusim.ir.program import Program, Tensor, walk
from gpusim.ir.simt.nodes import For, Imm, Value
from gpusim.ir.simt.nodes import If as ThreadIf
from gpusim.ir.simt.nodes import Op as ThreadOp
from gpusim.lower.blocked import access, maps
from gpusim.lower.blocked.access import Array, Boxed, Scope
from gpusim.lower.blocked.axes import axes
from gpusim.lower.blocked.emit import BOOL, INDEX, WORD, Emitter
from gpusim.lower.blocked.layout import LANES, Blocked, blocked
from gpusim.lower.blocked.place import place
from gpusim.lower.blocked.reduce import OPERATIONS, Reduction, Scratch, reduce
from gpusim.lower.blocked.scalars import bounds, program_ids, value
from gpusim.lower.blocked.tiles import NARROW, Held, computing, narrowed, wide
from gpusim.lower.rules import VECTOR_BYTES
from gpusim.lower.vector import pitch_known


class Lowering:
    """The state of one translation: arguments, tiles that are known, and where the threads stand in each layout."""

    def __init__(self, program: Program) -> None:
        self.program, self.e = program, Emitter()
        self.types, self.axes = tile_types(program), axes(program)
        self.arguments: list[tuple[str, str, int] | int] = []
        self.numbers: dict[int, Value] = {}
        self.tiles: dict[str, Held] = {}
        self.variables = {op.dst for op in walk(program.body) if isinstance(op, Update)}
        self.boxes = [op for op in walk(program.body) if isinstance(op, Load | Store)]
        layouts = [blocked(g.extents, self.neighbours(g.number), program.warps) for g in self.axes.groups]
        shared = {t.of or t.name: self.buffer(t, layouts) for t in reversed(program.tensors)}
        self.arrays = {t.name: self.array(t, *shared[t.of or t.name]) for t in program.tensors}
        for op in walk(program.body):
            if isinstance(op, Loop) and isinstance(op.stop, Const):
                self.number(op.stop.value, "trips")
        self.places = [place(self.e, layout, g.extents) for layout, g in zip(layouts, self.axes.groups, strict=True)]
        self.scope = Scope(program_ids(self.e, program.grid), {f"pid{axis}": (0, extent - 1) for axis, extent in enumerate(program.grid)})
        self.scratch = Scratch(self.e, False)

    # arguments and layouts

    def tile_of(self, op: Load | Store) -> str:
        return op.dst if isinstance(op, Load) else op.src

    def along(self, op: Load | Store) -> tuple[int | None, ...]:
        return access.dimensions(op.box, self.axes.along[self.tile_of(op)])

    def neighbours(self, group: int) -> int:
        """Elements of a row that a thread holds side by side: as many as the widest access of the group takes whose rows begin at known multiples. A mask
        does not count: the layout follows from pointers alone."""
        last = len(self.axes.groups[group].extents) - 1
        rows = [op for op in self.boxes if self.axes.group[self.tile_of(op)] == group and self.along(op)[-1] == last]
        tensors = [self.program.tensor(op.box.tensor) for op in rows]
        return max((VECTOR_BYTES // t.dtype.bytes for t in tensors if len(t.shape) == 1 or pitch_known(t)), default=1)

    def buffer(self, t: Tensor, layouts: list[Blocked]) -> tuple[Any, bool]:
        """The argument for the memory of `t` and of the tensors that are views of it."""
        name = t.of or t.name
        views = [v for v in self.program.tensors if name in (v.of, v.name)]
        sizes = []
        for op in (op for op in self.boxes if any(op.box.tensor == v.name for v in views)):
            layout = layouts[self.axes.group[self.tile_of(op)]]
            sizes.append(access.elements(op.box, self.program.tensor(op.box.tensor), layout, self.along(op)))
        words = access.packed(t.dtype.name, sizes)
        made = self.e.array(name, WORD if words else t.dtype.numpy)
        most = max(_size(v) for v in views)
        self.arguments.append((name, made.dtype, -(-most // 2) if words else most))
        return made, words

    def array(self, t: Tensor, buffer: Any, words: bool) -> Array:
        steps = tuple(self.number(s // (2 if words else 1), f"{t.name}_pitch") for s in access.strides(t))
        return Array(t, buffer, words, steps, tuple(self.number(n, f"{t.name}_bound") for n in (*t.shape[:-1], t.row_bound)))

    def number(self, number: int, name: str) -> Value:
        """An integer argument of the kernel: sizes are not known to the compiler."""
        if number not in self.numbers:
            self.numbers[number] = self.e.scalar(name, INDEX)
            self.arguments.append(number)
        return self.numbers[number]

    # ops

    def run(self, ops: tuple[Op, ...]) -> None:
        for op in ops:
            self.e.line = op.line
            if type(op) not in _VISIT:
                raise GpusimError(f"no timing for {type(op).__name__} yet.", where=f"{self.program.name}, line {op.line}", hint="Values can be computed.")
            _VISIT[type(op)](self, op)

    def define(self, name: str, values: tuple[Value, ...], words: bool = False) -> None:
        """A tile from its registers. One that changes later gets registers of its own."""
        if name in self.variables:
            values = tuple(self.e.op("mov", v.dtype, v) for v in values)
        self.tiles[name] = Held(self.axes.shape(name), self.types[name].dtype, values, words)

    def spread(self, tile: str, shape: tuple[int, ...]) -> list[Value]:
        """The registers of a tile for every place of `shape`, an extent of its layout along each axis."""
        held = self.tiles[tile]
        values = wide(self.e, held)
        if len(values) == 1:
            return [*values] * len(self.layout_of(shape).offsets(shape))
        layout = self.places[self.axes.group[tile]].layout
        have = dict(zip(layout.offsets(held.shape), values, strict=True))
        return [have[tuple(0 if extent == 1 else at for at, extent in zip(where, held.shape, strict=True))] for where in layout.offsets(shape)]

    def layout_of(self, shape: tuple[int, ...]) -> Blocked:
        return self.places[self.current].layout

    current = 0

    def result(self, name: str, values: tuple[Value, ...]) -> None:
        """A tile from values as arithmetic gives them."""
        of = self.types[name].dtype
        if of.name not in NARROW:
            self.define(name, values)
            return
        paired = self.places[self.axes.group[name]].layout.per[-1] % 2 == 0 and self.axes.shape(name)[-1] > 1
        self.define(name, *narrowed(self.e, values, of, paired))


def _size(t: Tensor) -> int:
    rows = 1
    for extent in t.shape[:-1]:
        rows *= extent
    return rows * t.pitch


def _let(s: Lowering, op: Let) -> None:
    s.scope = s.scope.inside(op.name, value(s.e, op.value, s.scope.scalars), bounds(op.value, s.scope.ranges))


def _boxed(s: Lowering, op: Load | Store) -> tuple[Boxed, Any]:
    tile = s.tile_of(op)
    return Boxed(op.box, s.arrays[op.box.tensor], s.along(op), s.axes.shape(tile)), s.places[s.axes.group[tile]]


def _load(s: Lowering, op: Load) -> None:
    made = access.load(s.e, op, *_boxed(s, op), s.scope)
    s.define(op.dst, made.values, made.words)


def _store(s: Lowering, op: Store) -> None:
    what, at = _boxed(s, op)
    held = s.tiles[op.src]
    if held.words != what.array.words:
        held = Held(held.shape, held.dtype, *narrowed(s.e, wide(s.e, held), held.dtype, what.array.words))
    access.store(s.e, held, what, at, s.scope)


def _full(s: Lowering, op: Full) -> None:
    kind = op.dtype.numpy
    number = Imm(bool(op.value) if kind == "bool" else float(op.value) if "float" in kind else int(op.value), kind)
    s.define(op.dst, (number,) * _count(s, op.dst))


def _count(s: Lowering, tile: str) -> int:
    return len(s.places[s.axes.group[tile]].layout.offsets(s.axes.shape(tile)))


def _index(s: Lowering, op: Index) -> None:
    """Start and steps in the axes of the layout."""
    at, along = s.places[s.axes.group[op.dst]], s.axes.along[op.dst]
    kind, total = op.dtype.numpy, value(s.e, op.start, s.scope.scalars)
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
    s.result(op.dst, tuple(make(s.e, each) for each in zip(*(s.spread(a, shape) for a in op.args), strict=True)))


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
    values = wide(s.e, s.tiles[op.src])
    s.result(op.dst, tuple(_constant(v, target) if isinstance(v, Imm) else s.e.cast(v, target) for v in values))


def _constant(v: Imm, dtype: str) -> Imm:
    return Imm(float(v.value) if "float" in dtype else int(v.value), dtype)


def _same(s: Lowering, op: Reshape) -> None:
    """Nothing moves; of a variable, the value that it has now."""
    held = s.tiles[op.src]
    values = tuple(s.e.op("mov", v.dtype, v) for v in held.values) if op.src in s.variables else held.values
    s.define(op.dst, values, held.words)


def _broadcast(s: Lowering, op: Broadcast) -> None:
    s.current = s.axes.group[op.dst]
    s.result(op.dst, tuple(s.spread(op.src, s.axes.shape(op.dst))))


def _update(s: Lowering, op: Update) -> None:
    old, new = s.tiles[op.dst], s.tiles[op.src]
    values = new.values if new.words == old.words else narrowed(s.e, wide(s.e, new), new.dtype, old.words)[0]
    for reg, v in zip(old.values, values, strict=True):
        s.e.emit(ThreadOp(reg, "mov", (v,), op.line))  # type: ignore[arg-type]


def _loop(s: Lowering, op: Loop) -> None:
    """In it, shared memory may have been read in the iteration before."""
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
    e, outside, sides = s.e, s.scope, []
    cond = e.op("ne", BOOL, value(e, op.cond, s.scope.scalars), Imm(0, INDEX))
    for ops in (op.then, op.orelse):
        with e.body() as made:
            s.run(ops)
        sides.append(tuple(made))
        s.scope = outside
    e.emit(ThreadIf(cond, sides[0], sides[1], op.line))


_VISIT: dict[type, Callable[[Lowering, Any], None]] = {
    Let: _let, Load: _load, Store: _store, Full: _full, Index: _index, Map: _map, Reduce: _reduce, Cast: _cast, Reshape: _same, Broadcast: _broadcast,
    Update: _update, Loop: _loop, If: _branch,
}  # fmt: skip
