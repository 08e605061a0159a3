"""Where cost jumps, and how it grows: staircases of waves, the K sweep, and the measured wave quantisation to the CTA."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpusim.kernels.gemm import gemm
from gpusim.launch.run import simulate
from gpusim.spec.load import load_spec
from gpusim.validate.cases import Case, read, shipped_bytes
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.outcome import Outcome
from tests.hardware.choose import k_sweep
from tests.hardware.stairs import JUMP, cycles, jumps, staircases

Outcomes = dict[str, Outcome]


def _known(outcomes: Outcomes) -> list[Case]:
    return [case for case in read(DEFAULT_GPU) if case.id in outcomes]


def _simulated(outcomes: Outcomes, case: Case) -> float:
    found = outcomes[case.id].simulated
    assert found is not None, outcomes[case.id].reason
    return found


def test_every_jump_of_the_staircases_is_where_it_was_measured(outcomes: Outcomes) -> None:
    stairs = staircases(_known(outcomes))
    assert len(stairs) == 2
    for stair in stairs:
        measured = [(a.id, b.id) for a, b in jumps(stair, cycles)]
        ours = [(a.id, b.id) for a, b in jumps(stair, lambda case: _simulated(outcomes, case))]
        assert len(measured) == 3
        assert ours == measured


def test_the_line_of_the_k_sweep(outcomes: Outcomes) -> None:
    sweep = k_sweep(_known(outcomes))
    assert len(sweep) == 5
    steps = [case.params["K"] / case.params["BK"] for case in sweep]
    slope, intercept = np.polyfit(steps, [cycles(case) for case in sweep], 1)
    ours, base = np.polyfit(steps, [_simulated(outcomes, case) for case in sweep], 1)
    assert ours == pytest.approx(slope, rel=0.04), "cycles a k-step"
    assert base == pytest.approx(intercept, abs=1500), "cycles that do not depend on K"


#: measured CTAs per SM -> a GEMM of which as many fit. The measured kernel is limited by shared memory and does nothing but arithmetic. What is
#: compared is the grids at which all slots are full and one CTA more costs a wave, so a kernel with the same occupancy stands in. With two CTAs on
#: an SM the measured kernel also has smaller steps where a second CTA begins to share SMs; how high those are is its own affair.
STAND_INS: dict[int, dict[str, Any]] = {
    1: {"tile": (128, 256, 64), "warps": 8, "stages": 3},
    2: {"tile": (128, 128, 64), "warps": 4, "stages": 3},
}


def _records() -> list[dict[str, Any]]:
    return [r for r in json.loads(shipped_bytes(DEFAULT_GPU, "micro.json"))["results"] if r["name"] == "wave_quantization"]


@pytest.mark.parametrize("record", _records(), ids=lambda r: f"{r['params']['ctas_per_sm']} per SM")
def test_wave_quantization_to_the_cta(record: dict[str, Any]) -> None:
    resident = record["params"]["ctas_per_sm"]
    grids = np.arange(1, len(record["list"]) + 1) * (1 if resident == 1 else 4)
    ns = dict(zip(grids.tolist(), record["list"], strict=True))
    measured = jumps(list(ns), ns.__getitem__)
    assert len(measured) == 4 // resident, "as many waves as were measured"
    unit = int(grids[0])
    near = sorted({grid for a, b in measured for grid in (a - unit, a, b, b + unit) if grid in ns})
    ours = {grid: _cost(grid, resident) for grid in near}
    neighbours = [(a, b) for a, b in pairwise(near) if b - a == unit]
    assert [(a, b) for a, b in neighbours if ours[b] > JUMP * ours[a]] == measured


def _cost(ctas: int, resident: int) -> float:
    """Simulated cycles of a column of `ctas` tiles."""
    shape = STAND_INS[resident]
    run = simulate(gemm(ctas * shape["tile"][0], shape["tile"][1], 2048, **shape), load_spec(DEFAULT_GPU), launch="in")
    assert (run.ctas, run.occupancy.ctas_per_sm) == (ctas, resident)
    return run.cycles
