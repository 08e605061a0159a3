"""What the cycles of an SM were spent on, by lines of the source."""

from __future__ import annotations

from collections.abc import Sequence

from gpusim.devices.simt.costs import Compiled
from gpusim.devices.simt.result import REASONS, LineCost


def line_costs(compiled: Compiled, passes: Sequence[int], lanes: Sequence[int], waited: Sequence[Sequence[float]]) -> dict[int, LineCost]:
    """Line -> issues, lanes and cycles by reason. passes, lanes: of each block; waited: of each instruction, by its number."""
    rows: dict[int, list[float]] = {}
    for count, active, block in zip(passes, lanes, compiled.blocks, strict=True):
        for ins in block:
            row = rows.setdefault(ins[12].line, [0.0] * (2 + len(REASONS)))
            row[0] += count
            row[1] += active
            for i, cycles in enumerate(waited[ins[8]], 2):
                row[i] += cycles
    return {line: LineCost(int(row[0]), int(row[1]), sum(row[2:]), _named(row[2:])) for line, row in sorted(rows.items())}


def _named(cycles: Sequence[float]) -> dict[str, float]:
    return {name: v for name, v in zip(REASONS, cycles, strict=True) if v}
