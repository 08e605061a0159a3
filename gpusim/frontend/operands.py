"""What an expression of a kernel stands for while it is translated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.ir.simt.nodes import Buffer, Imm, Reg, Value


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value per lane. `known`: what the register is known to hold here. `nonneg`: known not to be negative."""

    value: Value
    known: Imm | None = None
    nonneg: bool = False

    @property
    def dtype(self) -> str:
        return self.value.dtype


@dataclass(frozen=True, slots=True)
class Extent:
    """A uniform integer of array argument `arg` that is known at launch: `what` as in `Param`."""

    arg: int
    what: str


@dataclass(frozen=True, slots=True)
class Array:
    """A view of a buffer. shape and strides count elements; `offset`: where it begins (None: at 0)."""

    buffer: Buffer
    shape: tuple[int | Extent | Value, ...]
    strides: tuple[int | Extent | Value, ...]
    offset: Value | None = None

    @property
    def ndim(self) -> int:
        return len(self.strides)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several arrays of the same type and dimensions: `options[which]`. `which` is an int32 per lane."""

    which: Value
    options: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple. Each item stands for itself; tuples exist only here, not in the program. `fields`: the items' names, if they have some."""

    items: tuple[Operand, ...]
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Static:
    """A Python object known without running: a module, a type, a function, None, a string."""

    obj: Any


@dataclass(frozen=True, slots=True)
class Range:
    start: Scalar
    stop: Scalar
    step: Scalar
    unroll: int | None = None


@dataclass(frozen=True, slots=True)
class Walk:
    """What a loop goes along: `item(k)` for k below `length`."""

    length: Scalar
    item: Callable[[Scalar], Operand]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A variable that may be one of two things that have no common type. An error only where it is used."""

    first: str
    first_line: int
    second: str
    second_line: int


Operand = Scalar | Array | Choice | Group | Static | Range | Walk | Conflict


@dataclass(frozen=True, slots=True)
class Bound:
    """What a variable stands for, and the line that made it so."""

    operand: Operand
    line: int


Env = dict[str, Bound]


def described(operand: Operand) -> str:
    """The operand's type, in the user's words."""
    if isinstance(operand, Scalar):
        return operand.dtype
    if isinstance(operand, Array):
        return f"{operand.ndim}-dimensional {operand.buffer.dtype} array '{operand.buffer.name}'"
    if isinstance(operand, Choice):
        return f"choice of arrays ({', '.join(repr(a.buffer.name) for a in operand.options)})"
    if is_complex(operand):
        return "complex number"
    if isinstance(operand, Group):
        return f"tuple of {len(operand.items)}"
    if isinstance(operand, Static):
        return "None" if operand.obj is None else f"{type(operand.obj).__name__} {getattr(operand.obj, '__name__', operand.obj)!r}"
    return type(operand).__name__.lower()


def alike(arrays: tuple[Array, ...]) -> bool:
    """Whether a variable may be any one of these: whole arrays of the same type and dimensions."""
    return len({(a.buffer.dtype, a.ndim, a.buffer.space == "const") for a in arrays}) == 1 and all(a.offset is None for a in arrays)


def literal(operand: Operand) -> Imm | None:
    """The compile-time constant that the operand is, if it is one."""
    if not isinstance(operand, Scalar):
        return None
    return operand.value if isinstance(operand.value, Imm) else operand.known


def is_complex(operand: Operand) -> bool:
    return isinstance(operand, Group) and operand.fields == ("real", "imag")


def as_complex(operand: Operand) -> Operand:
    """A real number as a complex one."""
    return Group((operand, Scalar(Imm(0.0, "float64"))), ("real", "imag")) if isinstance(operand, Scalar) else operand


def is_variable(value: Value) -> bool:
    return isinstance(value, Reg) and bool(value.name)
