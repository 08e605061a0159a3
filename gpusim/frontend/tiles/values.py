"""What a name of a tile kernel stands for while it is translated. Plain Python objects (numbers, types, functions, tuples) stand for themselves.

Integers stay formulas as long as they are formulas, because a pointer is a box only if its offset is one: `Scalar` for one number of the
block, `Lattice` for a tile start + steps * index, `Mask` for bounds on lattices. A `Tile` has values that only the run knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpusim.ir.expr import Const, Expr
from gpusim.ir.linear import Linear, linear
from gpusim.triton.markers import BY_IR, dtype, pointer_type

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """An integer (or bool) of the block. dtype: name in the IR."""

    expr: Expr
    dtype: str = "int32"

    @property
    def known(self) -> int | None:
        return self.expr.value if isinstance(self.expr, Const) else None

    @property
    def shape(self) -> Shape:
        return ()


@dataclass(frozen=True, slots=True)
class Number:
    """A constant with a type of its own, as an argument of the kernel has it."""

    value: float
    dtype: str

    @property
    def shape(self) -> Shape:
        return ()


@dataclass(frozen=True, slots=True)
class Edge:
    """Along `axis`, where first + index reaches `limit`: the formula goes on as if the index were smaller by the limit ("wrap"), or as if
    first + index were 0 ("first"). first + index stays below twice the limit."""

    axis: int
    first: Expr
    limit: int
    kind: str


@dataclass(frozen=True, slots=True)
class Lattice:
    """A tile of integers: start + sum of steps[axis] * index[axis]. An axis of extent 1 has step 0."""

    shape: Shape
    start: Expr
    steps: tuple[Expr, ...]
    dtype: str = "int32"
    edges: tuple[Edge, ...] = ()

    def step(self, axis: int) -> int | None:
        """The step along an axis if it is a constant."""
        made = linear(self.steps[axis])
        return made.constant if made.is_constant else None


@dataclass(frozen=True, slots=True)
class Below:
    """low < high element by element, both formulas of one shape (broadcast); `or_equal`: low <= high."""

    low: Lattice
    high: Lattice
    or_equal: bool = False

    def distance(self) -> Linear:
        """low - high at index 0, plus what makes `<` of it: true where distance + steps * index < 0."""
        made = linear(self.low.start) - linear(self.high.start)
        return made - Linear(1) if self.or_equal else made


@dataclass(frozen=True, slots=True)
class Mask:
    """A bool tile: all of `bounds` hold."""

    shape: Shape
    bounds: tuple[Below, ...]

    @property
    def dtype(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Tile:
    """A value of the IR, by name. Shape () is a scalar that depends on data, or is no integer."""

    name: str
    shape: Shape
    dtype: str


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument. size: elements from its first one on; shape and strides in elements, as the caller gave it."""

    name: str
    dtype: str
    size: int
    shape: Shape
    strides: Shape


#: elements of all of memory
EVERYTHING = 1 << 47


def far_array(dtype: str) -> Array:
    """All of memory as an array of `dtype`, for pointers that kernels load."""
    return Array(f"memory_{dtype}", dtype, EVERYTHING, (EVERYTHING,), (1,))


Offset = Scalar | Lattice | Tile


@dataclass(frozen=True, slots=True)
class Pointer:
    """Places in an array, by element."""

    array: Array
    offset: Offset

    @property
    def shape(self) -> Shape:
        return self.offset.shape

    @property
    def dtype(self) -> str:
        return self.array.dtype


@dataclass(frozen=True, slots=True)
class BlockPointer:
    """A block of `block` elements at `offsets` of a tensor of `shape` and `strides` that begins at `base`. bulk: a tensor descriptor, which
    bounds every access; kept: where the block has no axis for a dimension of extent 1."""

    base: Pointer
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    offsets: tuple[Any, ...]
    block: Shape
    bulk: bool = False


@dataclass(frozen=True, slots=True)
class Undefined:
    """The mark of a variable without a value; `why` says how that came about."""

    why: str


Ints = Scalar | Lattice


def is_int(value: Any) -> bool:
    """Whether `value` is an integer, or integers, that are a formula."""
    return isinstance(value, int) or (isinstance(value, Scalar | Lattice) and value.dtype != "bool")


def lattice(value: Any, shape: Shape = ()) -> Lattice:
    """An integer formula as a lattice of `shape`, to which its own broadcasts (new axes in front, steps 0 where it is repeated)."""
    if isinstance(value, int):
        value = Scalar(Const(int(value)))
    if isinstance(value, Scalar):
        return Lattice(shape, value.expr, (Const(0),) * len(shape), value.dtype)
    new = len(shape) - len(value.shape)
    edges = tuple(replace(e, axis=e.axis + new) for e in value.edges)
    return replace(value, shape=shape, steps=(Const(0),) * new + tuple(value.steps), edges=edges)


def shape_of(value: Any) -> Shape:
    return tuple(getattr(value, "shape", ())) if not isinstance(value, BlockPointer) else value.block


def dtype_of(value: Any) -> str:
    """The IR's name of the type of a value; of plain numbers the one that they take among numbers without a type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= value < 2**31 else "int64" if -(2**63) <= value < 2**63 else "uint64"
    if isinstance(value, float):
        return "fp32"
    return str(value.dtype)


def type_of(value: Any) -> dtype | pointer_type:
    """The type of a value as the language has it."""
    made = BY_IR[dtype_of(value)]
    return pointer_type(made) if isinstance(value, Pointer) else made


def is_number(value: Any) -> bool:
    """A plain number without a type: it takes the type of what it meets."""
    return isinstance(value, bool | int | float)


def is_value(value: Any) -> bool:
    """Something that arithmetic takes."""
    return is_number(value) or isinstance(value, Scalar | Number | Lattice | Mask | Tile | Pointer)
