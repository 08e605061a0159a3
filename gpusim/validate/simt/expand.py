"""Records that hold a curve in one list, taken apart into points that can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusim.validate.cases import Case

#: CTAs per SM -> grid of the i-th entry of a list of waves, and how many entries are left out between two points
WAVES = {1: (lambda i: i + 1, 33), 2: (lambda i: 4 * (i + 1), 16)}


def expand(cases: Iterable[Case]) -> list[Case]:
    """`cases`, with curves as points: both sides of every step, and some in between."""
    return [point for case in cases for point in (_waves(case) if _is_waves(case) else (case,))]


def _is_waves(case: Case) -> bool:
    return case.family == "wave_quantization" and isinstance(case.record.get("list"), list) and case.params.get("ctas_per_sm") in WAVES


def _waves(case: Case) -> Iterable[Case]:
    grid_of, step = WAVES[case.params["ctas_per_sm"]]
    times = case.record["list"]
    for i in sorted({0, len(times) - 1, *(j + side for j in range(step - 1, len(times) - 1, step) for side in (0, 1))}):
        params = {**case.params, "grid": grid_of(i)}
        yield replace(case, id=f"{case.id}[grid={grid_of(i)}]", params=params, record={**case.record, "params": params, "value": times[i], "list": None})
