"""The builder: Python calls that append ops. It builds data and executes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpusim.ir.expr import Expr, ExprLike, Name, expr
from gpusim.ir.ops import Box, Broadcast, Cast, Dot, Full, Gather, If, Index, Let, Load, Loop, Map, Op, Reduce, Reshape, Scatter, Store, Transpose, Update
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType, dtype

Origin = tuple[ExprLike, ...]
Axes = tuple[int, ...] | None
Limits = tuple[ExprLike | None, ...]


class Builder:
    """Collects the ops of one block.

    >>> k = Builder("double", grid=(4,), warps=4)
    >>> x = k.tensor("x", "fp32", (4, 32), role="inout")
    >>> t = k.load(x, (k.program_id(0), 0), (1, 32))
    >>> k.store(x, (k.program_id(0), 0), k.map("add", t, t), (1, 32))
    >>> program = k.finish()
    """

    def __init__(self, name: str, grid: tuple[int, ...], warps: int) -> None:
        self.name, self.grid, self.warps = name, grid, warps
        self._tensors: list[Tensor] = []
        self._scopes: list[list[Op]] = [[]]
        self._count = 0

    def tensor(self, name: str, of: str | DType, shape: tuple[int, ...], pitch: int = 0, role: str = "in", bound: int = 0) -> Tensor:
        made = Tensor(name, dtype(of), shape, pitch or shape[-1], role, bound)
        self._tensors.append(made)
        return made

    def program_id(self, axis: int) -> Expr:
        return Name(f"pid{axis}")

    def let(self, name: str, value: ExprLike) -> Expr:
        self._append(Let(name, expr(value)))
        return Name(name)

    @contextmanager
    def loop(self, var: str, stop: ExprLike, start: ExprLike = 0, stages: int | None = 1) -> Iterator[Expr]:
        self._scopes.append([])
        yield Name(var)
        body = tuple(self._scopes.pop())
        self._append(Loop(var, expr(start), expr(stop), body, stages))

    @contextmanager
    def branch(self, cond: ExprLike) -> Iterator[None]:
        """What the blocks do for which `cond` is not 0."""
        self._scopes.append([])
        yield
        self._append(If(expr(cond), tuple(self._scopes.pop())))

    def load(self, t: Tensor, origin: Origin, shape: tuple[int, ...], masked: bool = False, other: float = 0.0, axes: Axes = None, limits: Limits = ()) -> str:
        return self._assign(lambda dst: Load(dst, _box(t, origin, shape, masked, axes, limits), other))

    def store(self, t: Tensor, origin: Origin, src: str, shape: tuple[int, ...], masked: bool = False, axes: Axes = None, limits: Limits = ()) -> None:
        self._append(Store(_box(t, origin, shape, masked, axes, limits), src))

    def gather(self, t: Tensor, index: str, mask: str = "", other: float = 0.0) -> str:
        return self._assign(lambda dst: Gather(dst, t.name, index, mask, other))

    def scatter(self, t: Tensor, index: str, src: str, mask: str = "") -> None:
        self._append(Scatter(t.name, index, src, mask))

    def index(self, shape: tuple[int, ...], start: ExprLike, steps: tuple[ExprLike, ...], of: str | DType = "int32") -> str:
        return self._assign(lambda dst: Index(dst, shape, dtype(of), expr(start), tuple(expr(s) for s in steps)))

    def reshape(self, src: str, shape: tuple[int, ...]) -> str:
        return self._assign(lambda dst: Reshape(dst, src, shape))

    def broadcast(self, src: str, shape: tuple[int, ...]) -> str:
        return self._assign(lambda dst: Broadcast(dst, src, shape))

    def transpose(self, src: str, order: tuple[int, ...]) -> str:
        return self._assign(lambda dst: Transpose(dst, src, order))

    def update(self, variable: str, src: str) -> None:
        """`variable`, a tile defined before this loop or branch, takes the value of `src` from here on."""
        self._append(Update(variable, src))

    def full(self, shape: tuple[int, ...], of: str | DType, value: float = 0.0) -> str:
        return self._assign(lambda dst: Full(dst, shape, dtype(of), value))

    def dot(self, acc: str, a: str, b: str) -> None:
        self._append(Dot(acc, a, b))

    def map(self, fn: str, *args: str) -> str:
        return self._assign(lambda dst: Map(dst, fn, args))

    def reduce(self, fn: str, src: str, axis: int, keep: bool = True) -> str:
        return self._assign(lambda dst: Reduce(dst, fn, src, axis, keep=keep))

    def cast(self, src: str, to: str | DType) -> str:
        return self._assign(lambda dst: Cast(dst, src, dtype(to)))

    def finish(self, params: dict[str, Any] | None = None, flops: int = 0) -> Program:
        assert len(self._scopes) == 1, "a loop is still open"
        return Program(self.name, tuple(self._tensors), self.grid, tuple(self._scopes[0]), self.warps, params or {}, flops)

    def _append(self, op: Op) -> None:
        self._scopes[-1].append(op)

    def _assign(self, make: Any) -> str:
        dst = f"t{self._count}"
        self._count += 1
        self._append(make(dst))
        return dst


def _box(t: Tensor, origin: Origin, shape: tuple[int, ...], masked: bool, axes: Axes, limits: Limits) -> Box:
    ends = tuple(None if end is None else expr(end) for end in limits)
    return Box(t.name, tuple(expr(o) for o in origin), shape, masked, ends, axes)
