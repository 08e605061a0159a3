"""What is known about a launch before any thread runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusim.ir.simt.nodes import Geometry


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """geometry, and the uniform parameters: (argument number, `Param.what`) -> value. `overlapping`: numbers of array arguments whose memory
    another array argument also covers; a load from one of these may see a store to any other."""

    geometry: Geometry
    params: dict[tuple[int, str], int | float | bool] = field(default_factory=dict)
    overlapping: frozenset[int] = frozenset()
