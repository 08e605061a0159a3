"""A weight-stationary systolic array in closed form: how many passes a product takes, and for how many cycles.

The array holds a square of `dim` x `dim` weights. A pass streams rows of activations through it: they enter at the left, one column of the
array further each cycle, while partial sums move down. The next square of weights moves in meanwhile (double buffering). So a product costs

- the first square of weights, for which nobody can hide the wait;
- for every pass the rows, or the next square of weights where that takes longer (few rows);
- the drain: 2 dim - 2 cycles until the last row has passed all rows and columns of the array.

Without double buffering every pass costs all three: weights, rows, drain. The model that moves every number by itself is
tests/oracle/systolic_array.py; passes and cycles are equal to the cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Array:
    """One array and its twins in a core. rows: of activations it takes per cycle; weight_rows: of the next weights per cycle. double_buffered: these move
    in while it multiplies."""

    count: int
    dim: int
    rows: float = 1.0
    weight_rows: float = 1.0
    double_buffered: bool = True

    @property
    def load(self) -> float:
        """Cycles in which a square of weights moves in."""
        return self.dim / self.weight_rows


@dataclass(frozen=True, slots=True)
class Product:
    """[m, k] @ [k, n] on a core. passes: of all arrays. deepest: passes of the array that has most. rows: of one pass.
    stream: cycles in which rows enter; starve: that a pass waits for its weights beyond that; latency: first weights and drain."""

    passes: int
    deepest: int
    rows: int
    stream: float
    starve: float
    latency: float

    @property
    def cycles(self) -> float:
        return self.stream + self.starve + self.latency


def passes(dim: int, k: int, n: int) -> int:
    """Squares of weights in [k, n]: edges count whole."""
    return ceil(k / dim) * ceil(n / dim)


def product(a: Array, m: int, k: int, n: int) -> Product:
    """[m, k] @ [k, n], spread over the arrays of a core in the quickest way: by squares of weights, and where there are fewer than arrays, by
    rows as well (several arrays then hold the same weights)."""
    squares = passes(a.dim, k, n)
    splits = [s for s in range(1, a.count + 1) if a.count % s == 0]
    return min((_split(a, m, squares, s) for s in splits), key=lambda p: p.cycles)


def _split(a: Array, m: int, squares: int, split: int) -> Product:
    """Every square on `split` arrays, each with a part of the rows."""
    rows, deepest = ceil(m / split), ceil(squares * split / a.count)
    stream, load, drain = rows / a.rows, a.load, 2 * a.dim - 2
    if not a.double_buffered:
        return Product(squares * split, deepest, rows, deepest * stream, (deepest - 1) * load, load + deepest * drain)
    return Product(squares * split, deepest, rows, deepest * stream, (deepest - 1) * max(0.0, load - stream), load + drain)
