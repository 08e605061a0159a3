"""A small weight-stationary systolic array in which every number moves by itself, one place a cycle.

Activations enter at the left, row k of the array one cycle later than row k - 1, and move right. Partial sums enter as zeros at the top and move down;
what leaves at the bottom of column j is a sum for column j of the result. Weights of the next pass move into a second set of registers, a row of
the array per cycle, and all cells change over to it when the pass before has taken its last row: a cell does so when the first number of the new pass
reaches it. The closed form that this checks is `gpusim/parts/systolic.py`; nothing is shared with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Outcome:
    """values: [m, n]; cycles: from the first weight that moves until the last sum has left; passes: squares of weights; multiplied: cells that
    multiplied, summed over cycles."""

    values: np.ndarray
    cycles: int
    passes: int
    multiplied: int = 0
    history: list[np.ndarray] = field(default_factory=list)


@dataclass
class _Row:
    """A row of activations on its way into the array: of which pass, and which row of the result."""

    number: int
    row: int
    values: np.ndarray


class Grid:
    """dim x dim cells. right[i, j]: (pass, row, activation) in cell (i, j); down[i, j]: its partial sum."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.right: list[list[tuple[int, int, float] | None]] = [[None] * dim for _ in range(dim)]
        self.down = np.zeros((dim, dim))
        self.weights: dict[int, np.ndarray] = {}

    def step(self, entering: list[tuple[int, int, float] | None]) -> tuple[list[tuple[int, int, int, float]], np.ndarray]:
        """One cycle. entering: what comes into each row of the array. Gives the sums that leave, as (pass, row, column, sum), and who multiplied."""
        d = self.dim
        moved = [[entering[i] if j == 0 else self.right[i][j - 1] for j in range(d)] for i in range(d)]
        sums, busy = np.zeros((d, d)), np.zeros((d, d), dtype=bool)
        for i in range(d):
            for j in range(d):
                if (held := moved[i][j]) is not None:
                    above = self.down[i - 1, j] if i else 0.0
                    sums[i, j] = above + held[2] * self.weights[held[0]][i, j]
                    busy[i, j] = True
        self.right, self.down = moved, sums
        bottom = [(j, moved[d - 1][j]) for j in range(d)]
        return [(held[0], held[1], j, sums[d - 1, j]) for j, held in bottom if held is not None], busy


def multiply(a: np.ndarray, b: np.ndarray, dim: int, keep: bool = False) -> Outcome:
    """a [m, k] @ b [k, n] on one array of `dim`: passes over squares of b, sums of passes added outside. keep: remember who multiplied when."""
    m, (k, n) = len(a), b.shape
    squares = [(x, y) for y in range(0, n, dim) for x in range(0, k, dim)]
    grid, out = Grid(dim), Outcome(np.zeros((m, n)), 0, len(squares))
    rows = deque(_Row(p, r, _padded(a[r, x : x + dim], dim)) for p, (x, _) in enumerate(squares) for r in range(m))
    entered: deque[_Row | None] = deque(maxlen=dim)
    loaded, moving, left = 0, 0, m * len(squares) * dim
    while left:
        takes = bool(rows) and rows[0].number < loaded
        # a row of the next weights moves in, unless both sets of registers are in use by passes that have rows left to take
        if loaded < len(squares) and loaded <= (rows[0].number if rows else len(squares)) + 1:
            moving += 1
        entered.appendleft(rows.popleft() if takes else None)
        leaving, busy = grid.step([_number(entered, i) for i in range(dim)])
        for p, row, column, value in leaving:
            y = squares[p][1] + column
            out.values[row, y : y + 1] += value
        left -= len(leaving)
        if moving == dim:
            x, y = squares[loaded]
            grid.weights[loaded] = _square(b[x : x + dim, y : y + dim], dim)
            loaded, moving = loaded + 1, 0
        out.multiplied += int(busy.sum())
        out.cycles += 1
        if keep:
            out.history.append(busy)
    return out


def _number(entered: deque[_Row | None], i: int) -> tuple[int, int, float] | None:
    """What enters row i of the array: of the row of activations that came i cycles ago."""
    row = entered[i] if i < len(entered) else None
    return None if row is None else (row.number, row.row, float(row.values[i]))


def _padded(values: np.ndarray, dim: int) -> np.ndarray:
    return np.concatenate([values, np.zeros(dim - len(values))])


def _square(values: np.ndarray, dim: int) -> np.ndarray:
    full = np.zeros((dim, dim))
    full[: values.shape[0], : values.shape[1]] = values
    return full
