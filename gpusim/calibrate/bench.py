"""What a formula sees: the records of one file, and the values of the specification that are already known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import floor
from typing import Any

from gpusim.calibrate.records import Missing, Records

Found = float | tuple[int, ...] | tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Bench:
    """known: field path -> value in base units, of the base where no row before this one has found another."""

    records: Records
    known: Mapping[str, Any]

    def spec(self, path: str) -> float:
        """A number of the specification. Raises Missing if the base has none."""
        if path not in self.known:
            raise Missing(f"the base has no {path}")
        return float(self.known[path])

    @property
    def mhz(self) -> float:
        """The SM clock without tensor work, at which cycles and nanoseconds meet."""
        return self.spec("clocks.boost") / 1e6


@dataclass(frozen=True, slots=True)
class Row:
    """How one field follows from records. uses: their names, "group/name"; how: the formula in words; value: the formula, in base units;
    precision: what is done with its result; kind: the first word of the source; tolerance: what may differ from the base and still confirm it, in
    the field's unit (None: the share by which measurements repeat)."""

    path: str
    uses: str
    how: str
    value: Callable[[Bench], Found]
    precision: Callable[[float], float]
    kind: str = "measured"
    tolerance: float | None = None


def digits(value: float) -> float:
    """Four significant digits: no microbenchmark repeats better."""
    return float(f"{value:.4g}")


def tenths(values: tuple[float, ...]) -> tuple[float, ...]:
    """A list of cycles to one digit behind the point."""
    return tuple(round(value, 1) for value in values)


def whole(value: float) -> float:
    """The nearest whole number."""
    return float(round(value))


def whole_cycles(value: float) -> float:
    """Whole cycles of a chain of dependent instructions, which advances on clock edges: what is over comes from the measuring loop, which only adds.
    What is missing comes from timing several passes and is small."""
    return float(floor(value + 0.05))


def nearly_whole(value: float) -> float:
    """Whole cycles if they are within 2 %, which is what loop counters and branches cost; else three digits (pipes that share a port)."""
    nearest = float(round(value))
    return nearest if nearest and abs(value / nearest - 1) <= 0.02 else float(f"{value:.3g}")


def lanes(value: float) -> float:
    """Pipes are 16 lanes wide, or a half or a quarter of that."""
    step = 16 if value > 12 else 4
    return float(max(step, round(value / step) * step))
