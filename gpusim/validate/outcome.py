"""What became of one measured case."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """`status` is "ok", "short" (simulated and listed, but too short to count), "unsupported" (`reason` says why; `simulated` and
    `error` are None) or "excluded" (the record is about the run that was measured, not about the machine). `error` is simulated /
    measured - 1. `shape` names the problem the case solves, "" if unsupported. `counters`: of a launch, what was counted.
    `clock`: MHz inside the measured launch, and what the model gives it under its own load; None where one of them is unknown."""

    id: str
    group: str
    family: str
    measured: float | None
    simulated: float | None
    unit: str
    error: float | None
    status: str
    reason: str | None
    noise: float = 0.0
    shape: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)
    clock: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The case as `--json` writes it."""
        keys = ("id", "group", "family", "measured", "simulated", "unit", "error", "status", "reason")
        clock = {} if self.clock is None else dict(zip(("clock_mhz_measured", "clock_mhz_simulated"), self.clock, strict=True))
        return {key: getattr(self, key) for key in keys} | clock
