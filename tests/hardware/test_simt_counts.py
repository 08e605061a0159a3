"""Executed warp instructions against Nsight: the smallest profiled case of every kernel (all: `simt_counts.py`)."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median

import pytest

from gpusim.validate.cases import shipped_bytes
from gpusim.validate.mapping import DEFAULT_GPU
from tests.hardware.simt_counts import Row, cases, compare

#: bars of the issue; launches of more elements than `MOST` take too long here
MEDIAN, MEAN, WORST, ACTIVE, MOST = 0.10, 0.05, 0.30, 0.02, 1 << 22


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    path: Path = tmp_path_factory.mktemp("counters") / "counters.json"
    path.write_bytes(shipped_bytes(DEFAULT_GPU, "counters.json"))
    smallest: dict[str, tuple[float, int]] = {}
    found = cases(str(path))
    for at, (case, _) in enumerate(found):
        p = case.params
        size = max(float(p.get("n", 0)), float(p.get("M", 0)) * float(p.get("K", 0)), float(p.get("rows", 0)) * float(p.get("cols", 1)))
        if size <= MOST and (size, at) < smallest.get(case.kernel, (float("inf"), 0)):
            smallest[case.kernel] = (size, at)
    return [compare(*found[at]) for _, at in smallest.values()]


def test_executed_instructions_are_as_measured(rows: list[Row]) -> None:
    errors = {row.id: row.error for row in rows}
    assert len(errors) >= 15
    assert median(map(abs, errors.values())) <= MEDIAN and abs(mean(errors.values())) <= MEAN, errors
    assert max(map(abs, errors.values())) <= WORST, errors


def test_active_lanes_are_as_measured(rows: list[Row]) -> None:
    off = {row.id: row.simulated["active"] / row.measured["active"] - 1 for row in rows}
    assert max(map(abs, off.values())) <= ACTIVE, off


def test_each_pipe_gets_its_share(rows: list[Row]) -> None:
    """Branches and memory instructions are nearly exact; ALU and FMA share what either can do."""
    for pipe, most in (("branch", 0.03), ("lsu", 0.05)):
        off = [abs(row.simulated[pipe] / row.measured[pipe] - 1) for row in rows if row.measured[pipe] > 4]
        assert median(off) <= most, pipe
    both = [abs((r.simulated["alu"] + r.simulated["fma"]) / max(1.0, r.measured["alu"] + r.measured["fma"]) - 1) for r in rows]
    assert median(both) <= 0.10
