"""The nodes of the tile IR: what one block (CTA, grid step) does with tiles. Values are named; a name is assigned by one op.

A node says *what*, never how many warps or which copy engine: that is `lower/`. Every node keeps the line of the user's
source it came from (0 where there is none).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusim.ir.expr import Expr
from gpusim.ir.types import DType


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangular piece of a global tensor: `origin` in elements per tensor dimension, `shape` its extent.

    `masked`: elements outside the tensor are not touched (loads give the op's `other`); an unmasked box must lie inside.
    """

    tensor: str
    origin: tuple[Expr, ...]
    shape: tuple[int, ...]
    masked: bool = False


@dataclass(frozen=True, slots=True)
class Let:
    """name = value: a scalar of the block."""

    name: str
    value: Expr
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
class If:
    """A branch that the whole block takes or not."""

    cond: Expr
    then: tuple[Op, ...]
    orelse: tuple[Op, ...] = ()
    line: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """dst = the tile in `box`; `other` fills masked elements."""

    dst: str
    box: Box
    other: float = 0.0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    """The tile in `box` = src."""

    box: Box
    src: str
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
    """dst = src reduced along `axis` by fn ("sum" or "max"); the axis stays with extent 1."""

    dst: str
    fn: str
    src: str
    axis: int
    line: int = 0


@dataclass(frozen=True, slots=True)
class Cast:
    """dst = src rounded to dtype."""

    dst: str
    src: str
    dtype: DType
    line: int = 0


Op = Let | Loop | If | Load | Store | Full | Dot | Map | Reduce | Cast

_EXPRS: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Let: lambda op: (op.value,),
    Loop: lambda op: (op.start, op.stop),
    If: lambda op: (op.cond,),
    Load: lambda op: op.box.origin,
    Store: lambda op: op.box.origin,
}

_READS: dict[type, Callable[[Any], tuple[str, ...]]] = {
    Store: lambda op: (op.src,),
    Dot: lambda op: (op.acc, op.a, op.b),
    Map: lambda op: op.args,
    Reduce: lambda op: (op.src,),
    Cast: lambda op: (op.src,),
}


def exprs(op: Op) -> tuple[Expr, ...]:
    """The index expressions of `op` itself, without those of nested ops."""
    return _EXPRS[type(op)](op) if type(op) in _EXPRS else ()


def reads(op: Op) -> tuple[str, ...]:
    """The tiles that `op` reads; a Dot reads its accumulator too."""
    return _READS[type(op)](op) if type(op) in _READS else ()


def writes(op: Op) -> str:
    """The tile that `op` defines, "" if none."""
    return getattr(op, "dst", "")
