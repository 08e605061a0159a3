"""A program: the tensors it touches, its grid of blocks, and the ops of one block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gpusim.ir.ops import Fold, If, Loop, Op, While
from gpusim.ir.pipeline import Pipeline
from gpusim.ir.types import DType

#: `Tensor.of` of a tensor that stands for all of memory: offsets into it are addresses in elements
FAR = "memory"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A row-major tensor in global memory. `pitch` is the distance of rows in elements (>= shape[-1]); `role` is "in", "out" or "inout".

    `bound`: masked accesses stop at this many elements of a row (0: at shape[-1]). A tensor whose rows are padded may be
    touched up to its padding, which reads as zero; that keeps vectors whole where shape[-1] would cut them.
    `of`: the array whose memory this is a view of, from its first element ("": one of its own).
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    pitch: int
    role: str = "in"
    bound: int = 0
    of: str = ""

    @property
    def row_bound(self) -> int:
        return self.bound or self.shape[-1]

    @property
    def pitch_bytes(self) -> int:
        return self.pitch * self.dtype.bytes


@dataclass(frozen=True)
class Program:
    """What `grid` blocks do. `warps` per block is the launch's choice, as in Triton; `params` are the arguments the user
    gave (printed, compared, hashed); `flops` counts the useful operations, without padding. `retile`: makes the same program with
    another tile, where its maker left the tile to the device. `resident`: blocks of which no more run at once, where `grid` counts the work items
    of a persistent launch (0: as many as fit). `pipeline`: the roles of its warpgroups, where they have some (`params` tell them too)."""

    name: str
    tensors: tuple[Tensor, ...]
    grid: tuple[int, ...]
    body: tuple[Op, ...]
    warps: int
    params: dict[str, Any] = field(default_factory=dict)
    flops: int = 0
    retile: Callable[[str], Program] | None = field(default=None, repr=False, compare=False)
    resident: int = 0
    pipeline: Pipeline | None = field(default=None, repr=False)

    @property
    def ctas(self) -> int:
        total = 1
        for extent in self.grid:
            total *= extent
        return total

    def tensor(self, name: str) -> Tensor:
        return next(t for t in self.tensors if t.name == name)

    def __str__(self) -> str:
        from gpusim.ir.show import show

        return show(self)


def walk(body: tuple[Op, ...]) -> Iterator[Op]:
    """Every op of `body`, nested ones after the op that holds them."""
    for op in body:
        yield op
        if isinstance(op, Loop):
            yield from walk(op.body)
        elif isinstance(op, If):
            yield from walk(op.then)
            yield from walk(op.orelse)
        elif isinstance(op, While):
            yield from walk(op.before)
            yield from walk(op.body)
        elif isinstance(op, Fold):
            yield from walk(op.body)
