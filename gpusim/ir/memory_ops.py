"""Nodes that touch global memory: boxes where the addresses are a formula, gathers and scatters where they are not."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangular piece of a global tensor: `origin` in elements per tensor dimension, `shape` its extent.

    `masked`: elements outside the tensor are not touched (loads give the op's `other`); an unmasked box must lie inside.
    `limits`: with a mask, for each dimension the index from which on elements are not touched, None for the tensor's end; (): None for all.
    `axes`: for each axis of the tile the dimension of the tensor along which it runs, -1 for an axis of extent 1 that runs along none;
    dimensions that no axis names have extent 1. None: the tile has the box's shape.
    `edges`: of a load, for each dimension what an index from the limit on stands for: "wrap" the index less the limit, "first" index 0, "" masked.
    """

    tensor: str
    origin: tuple[Expr, ...]
    shape: tuple[int, ...]
    masked: bool = False
    limits: tuple[Expr | None, ...] = ()
    axes: tuple[int, ...] | None = None
    edges: tuple[str, ...] = ()

    @property
    def tile(self) -> tuple[int, ...]:
        """The shape of the tile that lies in the box."""
        return self.shape if self.axes is None else tuple(1 if d < 0 else self.shape[d] for d in self.axes)


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
class Gather:
    """dst = the tensor at the element offsets in the integer tile `index` (from the tensor's first element, rows `pitch` apart);
    where the bool tile `mask` is false, `other` and no access. mask "": all."""

    dst: str
    tensor: str
    index: str
    mask: str = ""
    other: float = 0.0
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scatter:
    """The tensor at the element offsets in `index` = src, where `mask` is true. Of equal offsets the last one stays."""

    tensor: str
    index: str
    src: str
    mask: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Atomic:
    """dst = the tensor at the offsets in `index`, which becomes fn(old, src), one element after the other. fn is in
    `ir.functions.ATOMICS`; "cas" writes src where the old value equals `compare`. Masked elements give 0."""

    dst: str
    fn: str
    tensor: str
    index: str
    src: str
    mask: str = ""
    compare: str = ""
    line: int = 0
