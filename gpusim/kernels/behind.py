"""What a product may do to its sums before it stores them: one function a step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpusim.ir.build import Builder, Limits
from gpusim.ir.expr import Expr
from gpusim.ir.program import Tensor

#: sqrt(2 / pi) and the cubic term of the tanh form of GELU
GELU = (0.7978845608028654, 0.044715)


@dataclass(frozen=True, slots=True)
class Place:
    """The block's part of C; limits: as of a box, where C is not the end of its rows."""

    origin: tuple[Expr, Expr]
    shape: tuple[int, int]
    masked: bool
    limits: Limits = ()


def _bias(build: Builder, c: Tensor, at: Place, sums: str) -> str:
    """One number for each column of C."""
    t = build.tensor("bias", c.dtype, (c.shape[1],))
    loaded = build.load(t, at.origin[1:], at.shape[1:], at.masked)
    return build.map("add", sums, build.cast(loaded, "fp32"))


def _residual(build: Builder, c: Tensor, at: Place, sums: str) -> str:
    """An array of the shape of C."""
    t = build.tensor("residual", c.dtype, c.shape)
    loaded = build.load(t, at.origin, at.shape, at.masked)
    return build.map("add", sums, build.cast(loaded, "fp32"))


def _relu(build: Builder, c: Tensor, at: Place, sums: str) -> str:
    return build.map("relu", sums)


def _silu(build: Builder, c: Tensor, at: Place, sums: str) -> str:
    return build.map("mul", sums, build.map("sigmoid", sums))


def _gelu(build: Builder, c: Tensor, at: Place, sums: str) -> str:
    """x / 2 (1 + tanh(s (x + t x^3))) = x sigmoid(2 s (x + t x^3))."""
    scale, cubic = (build.full(at.shape, "fp32", value) for value in (2 * GELU[0], GELU[1]))
    square = build.map("mul", sums, sums)
    inner = build.map("add", sums, build.map("mul", build.map("mul", square, sums), cubic))
    return build.map("mul", sums, build.map("sigmoid", build.map("mul", inner, scale)))


STEPS: dict[str, Callable[[Builder, Tensor, Place, str], str]] = {"bias": _bias, "relu": _relu, "gelu": _gelu, "silu": _silu, "residual": _residual}
