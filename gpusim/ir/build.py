"""The builder: Python calls that append ops. It builds data and executes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gpusim.ir.expr import Expr, ExprLike, Name, expr
from gpusim.ir.ops import Box, Cast, Dot, Full, Let, Load, Loop, Map, Op, Reduce, Store
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DType, dtype


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

    def load(self, t: Tensor, origin: tuple[ExprLike, ...], shape: tuple[int, ...], masked: bool = False, other: float = 0.0) -> str:
        return self._assign(lambda dst: Load(dst, _box(t, origin, shape, masked), other))

    def store(self, t: Tensor, origin: tuple[ExprLike, ...], src: str, shape: tuple[int, ...], masked: bool = False) -> None:
        self._append(Store(_box(t, origin, shape, masked), src))

    def full(self, shape: tuple[int, ...], of: str | DType, value: float = 0.0) -> str:
        return self._assign(lambda dst: Full(dst, shape, dtype(of), value))

    def dot(self, acc: str, a: str, b: str) -> None:
        self._append(Dot(acc, a, b))

    def map(self, fn: str, *args: str) -> str:
        return self._assign(lambda dst: Map(dst, fn, args))

    def reduce(self, fn: str, src: str, axis: int) -> str:
        return self._assign(lambda dst: Reduce(dst, fn, src, axis))

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


def _box(t: Tensor, origin: tuple[ExprLike, ...], shape: tuple[int, ...], masked: bool) -> Box:
    return Box(t.name, tuple(expr(o) for o in origin), shape, masked)
