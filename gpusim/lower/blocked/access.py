"""Loads and stores of boxes: addresses, masks, pieces of up to 16 bytes.

How wide a piece is follows from what the compiler can prove (`lower.vector`): rows and masks at multiples of 16 elements give whole vectors, anything else
single elements. The mask of a whole vector is one test, because it never cuts one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from math import prod

from gpusim.errors import GpusimError
from gpusim.ir.expr import Const, Expr
from gpusim.ir.ops import Box
from gpusim.ir.ops import Load as LoadTile
from gpusim.ir.program import Tensor
from gpusim.ir.simt.nodes import Buffer, Imm, Load, Op, Reg, Store, Value
from gpusim.lower.blocked.emit import BOOL, INDEX, WORD, Element, Emitter, Later, now
from gpusim.lower.blocked.layout import Blocked
from gpusim.lower.blocked.place import Place, both, sole
from gpusim.lower.blocked.scalars import Range, bounds, halved, value
from gpusim.lower.blocked.tiles import NARROW, Held, pattern
from gpusim.lower.vector import piece_bytes


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor as an argument: in `words` of two 16-bit elements, or element by element. strides: of all axes but the last, in these units; bounds: along
    each axis, the elements that masked accesses may touch. Both are arguments of the launch."""

    tensor: Tensor
    buffer: Buffer
    words: bool
    strides: tuple[Value, ...]
    bounds: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """The scalars of a block: their registers, and what is known of their ranges."""

    scalars: Mapping[str, Value] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)

    def inside(self, name: str, register: Value, known: Range | None) -> Scope:
        """With one more scalar."""
        return Scope({**self.scalars, name: register}, {**self.ranges, name: known} if known else self.ranges)


@dataclass(frozen=True, slots=True)
class Boxed:
    """A box where it is used: for each dimension of the tensor the axis of the layout along which it runs (None: it has extent 1); shape: of the tile along
    the axes of the layout."""

    box: Box
    array: Array
    along: tuple[int | None, ...]
    shape: tuple[int, ...]


def dimensions(box: Box, along: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """For each dimension of the tensor the axis of the layout, given that of each axis of the tile."""
    if box.axes is None:
        return along
    found = {d: axis for d, axis in zip(box.axes, along, strict=True) if d >= 0}
    return tuple(found.get(d) for d in range(len(box.shape)))


def elements(box: Box, t: Tensor, layout: Blocked, along: tuple[int | None, ...]) -> int:
    """Of one piece: neighbours of a thread that are neighbours in memory."""
    last = len(layout.per) - 1
    if not along or along[-1] != last:
        return 1
    return max(1, min(layout.per[-1], piece_bytes(box, t) // t.dtype.bytes))


def load(e: Emitter, op: LoadTile, what: Boxed, at: Place, scope: Scope) -> Held:
    """The tile as elements for later, a piece at a time; those that the mask leaves out are `op.other`."""
    array, t = what.array, what.array.tensor
    size = elements(op.box, t, at.layout, what.along)
    count = size // 2 if array.words else size
    out: list[Element] = []
    for piece in _pieces(e, what, at, scope, size):
        made = e.later(partial(_loaded, e, piece, array, count, op.other))
        out += [e.later(partial(_part, made, n)) for n in range(count)]
    return Held(what.shape, t.dtype, tuple(out), array.words)


def _loaded(e: Emitter, piece: Later, array: Array, count: int, other: float) -> tuple[Reg, ...]:
    index, cond = piece.get()
    dst = tuple(e.reg(WORD if array.words else array.tensor.dtype.numpy) for _ in range(count))
    if cond is not None:
        for reg in dst:
            e.emit(Op(reg, "mov", (_other(other, array),), e.line))
    with e.when(cond):
        e.emit(Load(dst, array.buffer, index, e.line))
    return dst


def _part(made: Later, n: int) -> Value:
    part: Value = made.get()[n]
    return part


def store(e: Emitter, tile: Held, what: Boxed, at: Place, scope: Scope) -> None:
    """`tile`, in the form of the array, to the box; of copies the first is stored."""
    array = what.array
    size = elements(what.box, array.tensor, at.layout, what.along)
    count = size // 2 if array.words else size
    kind = WORD if array.words else array.tensor.dtype.numpy
    alone = sole(e, at, what.shape)
    for n, piece in enumerate(_pieces(e, what, at, scope, size)):
        values = tuple(Imm(v.value, kind) if isinstance(v, Imm) else v for v in map(now, tile.values[n * count : (n + 1) * count]))
        index, cond = piece.get()
        with e.when(both(e, cond, alone)):
            e.emit(Store(array.buffer, index, values, e.line))


def _other(other: float, array: Array) -> Imm:
    """The value of masked elements, as a register holds it."""
    t = array.tensor
    if not array.words:
        return Imm(other if "float" in t.dtype.numpy else bool(other) if t.dtype.numpy == "bool" else int(other), t.dtype.numpy)
    half = pattern(other, t.dtype)
    return Imm(half << 16 | half, WORD)


def _pieces(e: Emitter, what: Boxed, at: Place, scope: Scope, size: int) -> list[Later]:
    """Of each piece, in the order of the registers, for later: (index of the first element, or word; condition)."""
    starts = [e.later(partial(_start, e, o, at.first, axis, scope)) for o, axis in zip(what.box.origin, what.along, strict=True)]
    column = e.later(partial(_column, e, what, at, scope)) if what.array.words and what.along[-1] is not None else starts[-1]
    tested = [e.later(partial(_limit, e, what, d, scope)) for d in range(len(what.box.shape))]
    rows: list[Later] = []
    for _, group in groupby(at.layout.offsets(what.shape)[::size], key=lambda o: o[:-1]):
        places = [*group]
        row = e.later(partial(_row, e, what, places[0], starts, tested))
        rows += [e.later(partial(_piece, e, what, offset, row, column, starts[-1], tested[-1])) for offset in places]
    return rows


def _column(e: Emitter, what: Boxed, at: Place, scope: Scope) -> Value:
    """The first word of a thread in its row."""
    return e.add(value(e, halved(what.box.origin[-1]), scope.scalars), at.half)


def _piece(e: Emitter, what: Boxed, offset: tuple[int, ...], row: Later, column: Later, start: Later, tested: Later) -> tuple[Value, Value | None]:
    base, inside = row.get()
    last, limit = what.along[-1], tested.get()
    ahead = 0 if last is None else offset[last]
    cond = None if limit is None else e.op("lt", BOOL, e.add(start.get(), Imm(ahead, INDEX)), limit)
    return e.add(e.add(base, column.get()), Imm(ahead // (2 if what.array.words else 1), INDEX)), both(e, inside, cond)


def _start(e: Emitter, origin: Expr, first: tuple[Value, ...], axis: int | None, scope: Scope) -> Value:
    return e.add(value(e, origin, scope.scalars), Imm(0, INDEX) if axis is None else first[axis])


def _row(e: Emitter, what: Boxed, offset: tuple[int, ...], starts: list[Later], tested: list[Later]) -> tuple[Value, Value | None]:
    """Index of the begin of one row, and whether it is inside."""
    base: Value = Imm(0, INDEX)
    inside: Value | None = None
    for d, stride in enumerate(what.array.strides):
        axis, limit = what.along[d], tested[d].get()
        coordinate = e.add(starts[d].get(), Imm(0 if axis is None else offset[axis], INDEX))
        base = e.add(base, e.mul(coordinate, stride))
        inside = both(e, inside, None if limit is None else e.op("lt", BOOL, coordinate, limit))
    return base, inside


def _limit(e: Emitter, what: Boxed, d: int, scope: Scope) -> Value | None:
    """From where on elements of dimension `d` are not touched; None: there is no test. Along a row there is one where the box is masked; elsewhere only where
    the grid can lead outside: kernels test no row number that is their own program id."""
    box, t = what.box, what.array.tensor
    if not box.masked:
        return None
    found = bounds(box.origin[d], scope.ranges)
    if found is not None and found[0] < 0:
        raise GpusimError(f"no timing for a box of '{t.name}' that may begin before it.", where=f"line {e.line}", hint="Let its origin be 0 or more.")
    given = box.limits[d] if box.limits else None
    if given is not None:
        return what.array.bounds[d] if isinstance(given, Const) and given.value == _end(t, d) else value(e, given, scope.scalars)
    free = d < len(box.shape) - 1 and found is not None and found[0] >= 0 and found[1] + box.shape[d] <= t.shape[d]
    return None if free else what.array.bounds[d]


def _end(t: Tensor, d: int) -> int:
    return t.row_bound if d == len(t.shape) - 1 else t.shape[d]


def packed(dtype_name: str, sizes: list[int]) -> bool:
    """Whether a tensor is an array of words: 16-bit elements that are never touched alone."""
    return bool(sizes) and dtype_name in NARROW and all(size % 2 == 0 for size in sizes)


def strides(t: Tensor) -> tuple[int, ...]:
    """Of all axes but the last, in elements."""
    return tuple(t.pitch * prod(t.shape[axis + 1 : -1]) for axis in range(len(t.shape) - 1))
