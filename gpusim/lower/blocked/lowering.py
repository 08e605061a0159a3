"""The state of a translation: arguments, layouts, tiles that are known, and where the threads stand in each layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.expr import Const
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Load, Loop, Op, Reduce, Store, Update
from gpusim.ir.program import Program, Tensor, walk
from gpusim.ir.simt.nodes import Value
from gpusim.lower.blocked import access
from gpusim.lower.blocked.access import Array, Scope
from gpusim.lower.blocked.axes import axes
from gpusim.lower.blocked.emit import INDEX, WORD, Element, Emitter, now
from gpusim.lower.blocked.layout import Blocked, blocked
from gpusim.lower.blocked.place import place
from gpusim.lower.blocked.reduce import Scratch
from gpusim.lower.blocked.scalars import program_ids
from gpusim.lower.blocked.tiles import NARROW, Held, narrowed, wide
from gpusim.lower.rules import VECTOR_BYTES
from gpusim.lower.vector import pitch_known


class Lowering:
    """The state of one translation: arguments, tiles that are known, and where the threads stand in each layout."""

    def __init__(self, program: Program, visit: Mapping[type, Callable[[Lowering, Any], None]], sink: bool) -> None:
        """visit: what each kind of op becomes. sink: loads are emitted where they are needed, else where they stand."""
        self.program, self.e, self.visit, self.sink = program, Emitter(), visit, sink
        self.types, self.axes = tile_types(program), axes(program)
        self.arguments: list[tuple[str, str, int] | int] = []
        self.numbers: dict[int, Value] = {}
        self.tiles: dict[str, Held] = {}
        self.multiples: dict[str, int] = {}
        self.variables = {op.dst for op in walk(program.body) if isinstance(op, Update)}
        self.before_reduction = False
        self.rewritten = {t.name for t in program.tensors if t.role == "inout" or t.of}
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
        """Arithmetic is emitted where it is needed, loads where they stand; or, to save registers, where they are needed too, but for those with a reduction
        behind them: no compiler moves them over its barriers."""
        last = max((i for i, op in enumerate(ops) if any(isinstance(inner, Reduce) for inner in walk((op,)))), default=-1)
        for i, op in enumerate(ops):
            self.e.line, self.before_reduction = op.line, i < last
            if type(op) not in self.visit:
                raise GpusimError(f"no timing for {type(op).__name__} yet.", where=f"{self.program.name}, line {op.line}", hint="Values can be computed.")
            self.visit[type(op)](self, op)

    def define(self, name: str, values: tuple[Element, ...], words: bool = False) -> None:
        """A tile from its elements. One that changes later gets registers of its own."""
        if name in self.variables:
            values = tuple(self.e.op("mov", v.dtype, v) for v in map(now, values))
        self.tiles[name] = Held(self.axes.shape(name), self.types[name].dtype, values, words)

    def settle(self) -> None:
        """Emit all that waits: other code runs behind, or values change."""
        for held in self.tiles.values():
            for element in held.values:
                now(element)

    def spread(self, tile: str, shape: tuple[int, ...]) -> list[Element]:
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

    def result(self, name: str, values: tuple[Element, ...]) -> None:
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
