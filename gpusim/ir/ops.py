"""The nodes of the tile IR: what one block (CTA, grid step) does with tiles. Values are named; a name is defined by one op.

A node says *what*, never how many warps or which copy engine: that is `lower/`. Every node keeps the line of the user's
source it came from (0 where there is none). Nodes that touch memory stand in `memory_ops`, those that make tiles of other shapes in `tiles`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.ir.expr import Expr
from gpusim.ir.memory_ops import Atomic, Box, Gather, Load, Scatter, Store
from gpusim.ir.tiles import Broadcast, Fold, Histogram, Index, Join, Part, Reshape, Scan, Sort, Take, Transpose
from gpusim.ir.types import DType

__all__ = [
    "Atomic", "Box", "Broadcast", "Cast", "Check", "Dot", "Fold", "Full", "Gather", "Histogram", "If", "Index", "Join", "Let", "Load", "Loop",
    "MADE", "Map", "Op", "Part", "Print", "Read", "Reduce", "Reshape", "Scan", "Scatter", "Sort", "Store", "Take", "Transpose", "Update", "While",
    "exprs", "reads", "writes", "written",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Let:
    """name = value: a scalar of the block."""

    name: str
    value: Expr
    line: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """name = the element of a tile of shape (): a scalar of the block that depends on data."""

    name: str
    src: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Loop:
    """for var in range(start, stop): body. `stages` is the depth of the software pipeline its loads may run ahead
    (1: none; None: the deepest up to 4 that the device's shared memory holds)."""

    var: str
    start: Expr
    stop: Expr
    body: tuple[Op, ...]
    stages: int | None = 1
    line: int = 0


@dataclass(frozen=True, slots=True)
class While:
    """before; then, as long as cond is not 0: body, before. `cond` may take what `before` defines."""

    before: tuple[Op, ...]
    cond: Expr
    body: tuple[Op, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class If:
    """A branch that the whole block takes or not."""

    cond: Expr
    then: tuple[Op, ...]
    orelse: tuple[Op, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Full:
    """dst = a tile of `shape` filled with `value`."""

    dst: str
    shape: tuple[int, ...]
    dtype: DType
    value: float
    line: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """dst takes the value of src from here on: a variable that a loop or a branch changes. Both have one shape and dtype."""

    dst: str
    src: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Dot:
    """acc += a @ b with fp32 accumulation; a is [M, K], b is [K, N]."""

    acc: str
    a: str
    b: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Map:
    """dst = fn(args) element by element, with NumPy's broadcasting. fn is a key of `ir.functions.MAPS`, which gives the
    types; `interp.functions.MAPS` gives the meaning."""

    dst: str
    fn: str
    args: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Reduce:
    """dst = src reduced along `axis` by fn, of `ir.functions.REDUCES` or ARGS. keep: the axis stays with extent 1; else it is dropped."""

    dst: str
    fn: str
    src: str
    axis: int
    line: int = 0
    keep: bool = True


@dataclass(frozen=True, slots=True)
class Cast:
    """dst = src rounded to dtype. bits: the bits of src read as dtype instead, which is as wide."""

    dst: str
    src: str
    dtype: DType
    line: int = 0
    bits: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """An error with `message` unless every element of the bool tile src is true."""

    src: str
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Print:
    """Print `text` and the tiles, once for each block."""

    text: str
    args: tuple[str, ...] = ()
    line: int = 0


Control = Let | Read | Loop | While | If
Shaping = Index | Reshape | Broadcast | Transpose | Join | Part | Take | Sort | Histogram | Scan | Fold
Memory = Load | Store | Gather | Scatter | Atomic
#: ops whose tile nobody else holds, so that products may be added to it
MADE = (Full, Map, Cast, Reduce)
Op = Control | Shaping | Memory | Full | Update | Dot | Map | Reduce | Cast | Check | Print


def _of_box(op: Any) -> tuple[Expr, ...]:
    return (*op.box.origin, *(limit for limit in op.box.limits if limit is not None))


_EXPRS: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Let: lambda op: (op.value,),
    Loop: lambda op: (op.start, op.stop),
    If: lambda op: (op.cond,),
    Index: lambda op: (op.start, *op.steps),
    Load: _of_box,
    Store: _of_box,
}

_READS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    Read: lambda op: (op.src,),
    Store: lambda op: (op.src,),
    Gather: lambda op: (op.index, *_named(op.mask)),
    Scatter: lambda op: (op.index, op.src, *_named(op.mask)),
    Atomic: lambda op: (op.index, op.src, *_named(op.mask, op.compare)),
    Update: lambda op: (op.dst, op.src),
    Dot: lambda op: (op.acc, op.a, op.b),
    Map: lambda op: op.args,
    Join: lambda op: (op.a, op.b),
    Take: lambda op: (op.src, op.index),
    Fold: lambda op: op.srcs,
    Print: lambda op: op.args,
    **dict.fromkeys((Reduce, Cast, Check, Reshape, Broadcast, Transpose, Part, Sort, Histogram, Scan), lambda op: (op.src,)),
}


def _named(*tiles: str) -> tuple[str, ...]:
    return tuple(t for t in tiles if t)


def exprs(op: Op) -> tuple[Expr, ...]:
    """The index expressions of `op` itself, without those of nested ops and the condition of a While, which stands behind its `before`."""
    return _EXPRS[type(op)](op) if type(op) in _EXPRS else ()


def reads(op: Op) -> tuple[str, ...]:
    """The tiles that `op` reads; a Dot reads its accumulator too, an Update its variable."""
    return _READS[type(op)](op) if type(op) in _READS else ()


def writes(op: Op) -> str:
    """The tile that `op` defines, "" if none or several."""
    return "" if isinstance(op, Update) else getattr(op, "dst", "")


def written(op: Op) -> tuple[str, ...]:
    """All tiles that `op` defines."""
    return op.dsts if isinstance(op, Fold) else _named(writes(op))
