"""Kernels, sizes and data whose counters nothing was fitted on (tests/hardware/data/simt-heldout.json): instructions and active lanes."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, median

import pytest

from tests.hardware.simt_counts import Row, cases, compare

HELD_OUT = Path(__file__).parent / "data" / "simt-heldout.json"
#: every other launch in the tests of every day
CHOSEN = slice(0, None, 2)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The chosen launches in the form of a profiler's file."""
    held = json.loads(HELD_OUT.read_text())
    profiled = [{**case, "launches": [{"launch__registers_per_thread": case["regs"], **case["counters"]}]} for case in held["cases"]]
    path = tmp_path_factory.mktemp("heldout") / "counters.json"
    path.write_text(json.dumps({"meta": held["meta"], "cases": profiled}))
    found = cases(str(path))
    assert len(found) == len(profiled) == 58, "a kernel of the file is not in the library"
    return [compare(*pair) for pair in found[CHOSEN]]


def test_executed_instructions(rows: list[Row]) -> None:
    errors = {row.id: row.error for row in rows}
    assert len(errors) == 29
    assert median(map(abs, errors.values())) <= 0.05 and abs(mean(errors.values())) <= 0.05, errors
    assert max(map(abs, errors.values())) <= 0.30, errors


def test_active_lanes(rows: list[Row]) -> None:
    off = {row.id: row.simulated["active"] / row.measured["active"] - 1 for row in rows}
    assert median(map(abs, off.values())) <= 0.01, off
