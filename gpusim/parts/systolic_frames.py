"""A systolic array cycle by cycle, for pictures: which cell multiplies for which pass, and how far the next weights are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.errors import GpusimError

IDLE = -1


@dataclass(frozen=True, slots=True)
class Frame:
    """One cycle. cells: for each row and column of the array the pass that it multiplies for, or IDLE. loading: the pass whose weights move in, or
    IDLE; moved: rows of them that are in behind this cycle. phase: "load", "fill", "full", "drain"; "gap" between passes that wait for weights."""

    cycle: int
    cells: tuple[tuple[int, ...], ...]
    loading: int
    moved: int
    phase: str

    @property
    def busy(self) -> float:
        """Share of the cells that multiply."""
        flat = [cell for row in self.cells for cell in row]
        return sum(cell != IDLE for cell in flat) / len(flat)


def frames(dim: int, rows: int, passes: int) -> Iterator[Frame]:
    """Every cycle of `passes` passes of `rows` rows through an array of `dim`, from the first weight until the last sum has left. One row of
    activations and one of weights a cycle; weights are double-buffered."""
    for name, value in (("dim", dim), ("rows", rows), ("passes", passes)):
        if value < 1:
            raise GpusimError(f"{name} = {value} is no number of {name}.", where="systolic", hint="Give 1 or more.")
    begins = [dim + p * max(rows, dim) for p in range(passes)]
    end = begins[-1] + rows + 2 * dim - 2
    for cycle in range(end):
        cells = tuple(tuple(_pass(cycle - i - j, begins, rows) for j in range(dim)) for i in range(dim))
        loading, moved = _loading(cycle, dim, begins)
        yield Frame(cycle, cells, loading, moved, _phase(cycle, cells, begins, rows))


def _pass(entered: int, begins: list[int], rows: int) -> int:
    """The pass of the row that entered at `entered`."""
    return next((p for p, begin in enumerate(begins) if 0 <= entered - begin < rows), IDLE)


def _loading(cycle: int, dim: int, begins: list[int]) -> tuple[int, int]:
    starts = [0, *begins[:-1]]
    return next(((p, cycle - start + 1) for p, start in enumerate(starts) if 0 <= cycle - start < dim), (IDLE, 0))


def _phase(cycle: int, cells: tuple[tuple[int, ...], ...], begins: list[int], rows: int) -> str:
    if cycle < begins[0]:
        return "load"
    if all(cell != IDLE for row in cells for cell in row):
        return "full"
    if cycle >= begins[-1] + rows:
        return "drain"
    return "fill" if cycle < begins[0] + 2 * len(cells) - 2 else "gap"
