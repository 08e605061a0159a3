"""Fast by structure: which loop steps and which blocks are simulated, and how the rest follows.

Steady steps are left out of the middle of the loop and added at the measured time per step; steady waves are repeated at the
measured time per wave. The L2 shrinks with the loop (`Plan.scale`), so that what survives from wave to wave is what would
survive in the full run; traffic comes from its own pass (`traffic.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusim.devices.gpu import Life, Timed
from gpusim.devices.stream import Stream

#: a launch of at most this many effects in loop steps is simulated whole
WHOLE = 140_000
#: loop steps kept where the loop is shortened (fewer where that is too much), and leading waves kept
#: where waves are repeated
KEPT_STEPS, KEPT_WAVES = 32, 3
#: effects to simulate at most, as far as the least number of steps allows (small tiles put thousands of CTAs in a wave)
MOST, LEAST_STEPS = 800_000, 8


@dataclass(frozen=True, slots=True)
class Plan:
    """`steps` kept of each loop (None: all), `ctas` simulated in this order, `repeated` full waves left out after the
    leading ones, `slots` CTAs a wave."""

    steps: int | None
    ctas: Sequence[int]
    repeated: int
    slots: int
    scale: float
    trips: int = 1

    def ages(self, drift: float) -> tuple[float, ...]:
        """Loop steps before each simulated wave. The wave that stands for the repeated ones has the age at which as many CTAs are in step as on average of
        them, where one in 1 + steps / drift is."""
        if not self.repeated:
            return tuple(float(self.trips * wave) for wave in range(-(-len(self.ctas) // self.slots) or 1))
        steady = KEPT_WAVES - 1
        in_step = [1.0 / (1.0 + self.trips * wave / drift) for wave in range(steady, steady + self.repeated + 1)]
        middle = drift * (len(in_step) / sum(in_step) - 1.0)
        last = [float(self.trips * (steady + self.repeated + 1 + wave)) for wave in range(3)]
        return (*(float(self.trips * wave) for wave in range(steady)), middle, *last)

    @property
    def whole(self) -> bool:
        return self.steps is None and not self.repeated


def plan(ctas: int, made: Stream, slots: int, exact: bool) -> Plan:
    """What to simulate of `ctas` blocks that run `made`, `slots` at a time."""
    trips, effects = made.trips, len(made.body)
    if exact or ctas * trips * effects <= WHOLE:
        return Plan(None, range(ctas), 0, slots, 1.0, trips)
    full = ctas // slots
    repeated = max(0, full - KEPT_WAVES - 1)
    head = range((full - repeated - 1) * slots) if repeated else range(ctas)
    kept = [*head, *range(ctas - slots - ctas % slots, ctas)] if repeated else head
    most = max(LEAST_STEPS, min(KEPT_STEPS, MOST // (len(kept) * effects)))
    steps = most if trips > most * 3 // 2 else None
    return Plan(steps, kept, repeated, slots, steps / trips if steps else 1.0, trips)


@dataclass(frozen=True, slots=True)
class Whole:
    """The full launch: `cycles`, stall cycles summed over all CTAs by reason, sectors merged before L2, and how well the
    steady part was steady."""

    cycles: float
    spans: tuple[float, ...]
    merged: float
    residual: float


def restore(timed: Timed, made: Stream, p: Plan) -> Whole:
    """The time, the spans and the merged sectors of the full launch from those of the shortened one."""
    groups = _waves(timed.lives, p.slots)
    missing = made.trips - len(made.steps)
    per_step = [_per_step(g, made) for g in groups]
    cycles = timed.end + missing * sum(per_step)
    sums = [_sums(g, made, missing) for g in groups]
    total = [sum(column) for column in zip(*sums, strict=True)]
    if p.repeated:
        steady = KEPT_WAVES - 1
        duration = _end(groups[steady]) - _end(groups[steady - 1]) + missing * per_step[steady]
        cycles += p.repeated * duration
        total = [t + p.repeated * s for t, s in zip(total, sums[steady], strict=True)]
    residual = max((_unsteady(g, made) for g in groups), default=0.0) if missing else 0.0
    return Whole(cycles, tuple(total[1:]), total[0], residual)


def _waves(lives: Sequence[Life], slots: int) -> list[list[Life]]:
    """CTAs in the order of their ends, a wave's worth at a time."""
    ordered = sorted(lives, key=lambda life: life.ended)
    return [ordered[i : i + slots] for i in range(0, len(ordered), slots)]


def _end(group: list[Life]) -> float:
    return group[-1].ended


def _per_step(group: list[Life], made: Stream) -> float:
    """Mean time of a step in the steady window."""
    opens, closes = made.window
    if closes <= opens:
        return 0.0
    return sum(life.marks[closes] - life.marks[opens] for life in group) / len(group) / (closes - opens)


def _unsteady(group: list[Life], made: Stream) -> float:
    """How much the two halves of the window differ, relative to a step."""
    opens, closes = made.window
    middle = (opens + closes) // 2
    if middle <= opens or closes <= middle:
        return 0.0
    first = sum(life.marks[middle] - life.marks[opens] for life in group) / (middle - opens)
    second = sum(life.marks[closes] - life.marks[middle] for life in group) / (closes - middle)
    return abs(second / first - 1.0) if first else 0.0


def _sums(group: list[Life], made: Stream, missing: int) -> list[float]:
    """(merged sectors, *spans) of the group, with `missing` steady steps more than were simulated."""
    opens, closes = made.window
    seen = [[life.merged, *life.spans] for life in group]
    total = [sum(column) for column in zip(*seen, strict=True)]
    steady = [[life.merging, *life.window] for life in group if life.window]
    if not steady or closes <= opens:
        return total
    return [t + missing * sum(column) / (closes - opens) for t, column in zip(total, zip(*steady, strict=True), strict=True)]
