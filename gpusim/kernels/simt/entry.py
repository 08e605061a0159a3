"""One row of the library: a kernel with all that is needed to launch it at any size and to judge what it leaves behind.

`params` are the numbers that name a problem ("n", "rows", "cols", ...). From them follow the kernel (a factory closes over those that are
compile-time constants), the launch and the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Params = Mapping[str, Any]
Fill = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True, slots=True)
class Array:
    """An array argument. `fill` makes its random values; None: the kernel writes it, and it begins as a pattern that no result has."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    fill: Fill | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """grid and block as in `kernel[grid, block]`: (x, y); shared: dynamic shared memory in bytes."""

    grid: tuple[int, int]
    block: tuple[int, int]
    shared: int = 0


Args = Mapping[str, Array | int | np.floating]


@dataclass(frozen=True, slots=True)
class Entry:
    """`kernel`: the kernel itself, or, with `template` (names of params), a factory that takes these as keywords. `expected`: what the
    outputs hold afterwards, in float64 or exactly, from the params and the arguments before the launch. `params`: an example size.
    `data`: branches or addresses depend on what these arguments hold, so timing needs them too."""

    kernel: Callable[..., Any]
    launch: Callable[[Params], Launch]
    args: Callable[[Params], Args]
    expected: Callable[[Params, Mapping[str, Any]], dict[str, np.ndarray]]
    params: Params
    template: tuple[str, ...] = ()
    rtol: float = 1e-6
    atol: float = 1e-6
    data: tuple[str, ...] = ()

    def build(self, params: Params) -> Any:
        """The kernel for these params."""
        return self.kernel(**{name: params[name] for name in self.template}) if self.template else self.kernel


def materialise(args: Args, rng: np.random.Generator) -> dict[str, Any]:
    """The arguments by name, with arrays of random values."""
    return {name: _array(arg, rng) if isinstance(arg, Array) else arg for name, arg in args.items()}


def _array(arg: Array, rng: np.random.Generator) -> np.ndarray:
    dtype = numpy_dtype(arg.dtype)
    if arg.fill is None:
        return np.frombuffer(b"\xff" * (int(np.prod(arg.shape)) * dtype.itemsize), dtype).reshape(arg.shape).copy()
    return arg.fill(rng, arg.shape).astype(dtype)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of a name; "bfloat16" comes from ml_dtypes."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def uniform(low: float = -1.0, high: float = 1.0) -> Fill:
    """Uniformly distributed values."""
    return lambda rng, shape: rng.uniform(low, high, shape)


def integers(low: int, high: int) -> Fill:
    """Integers of low <= value < high."""
    return lambda rng, shape: rng.integers(low, high, shape)


def cdiv(a: int, b: int) -> int:
    """a / b rounded up."""
    return -(-a // b)


def line(n: int, block: int = 256) -> Launch:
    """One thread for each of n elements."""
    return Launch((cdiv(n, block), 1), (block, 1))
