"""What is known about a launch before any thread runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import Geometry


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """geometry, and the uniform parameters: (argument number, `Param.what`) -> value."""

    geometry: Geometry
    params: dict[tuple[int, str], int | float | bool] = field(default_factory=dict)
