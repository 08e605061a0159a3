"""What a launch asks of the chip's supply: raw facts, from which the clock and the power follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Load:
    """energy: level -> pJ of the launch at the boost clock's voltage, for the data that the run supposes; counted: the same for data that toggles at
    random, as a counter of work supposes. tensor: whether tensor cores run. outside: cycles of the run that are launch overhead,
    in which the kernel does not run; before: SM cycles of the others until the first of their instructions.
    rests: how often an SM's tensor cores rest for longer than the chip holds its clock for them; rested: SM cycles of these rests beyond that.
    waves: for each stretch of equal load, (share of the cycles, load over the mean load)."""

    energy: dict[str, float]
    counted: dict[str, float]
    tensor: bool
    outside: float = 0.0
    before: float = 0.0
    rests: float = 0.0
    rested: float = 0.0
    waves: tuple[tuple[float, float], ...] = ((1.0, 1.0),)
