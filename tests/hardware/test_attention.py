"""Attention against the measured GPU: every twelfth measured configuration, and the counters of those that were profiled."""

from __future__ import annotations

from functools import cache

import pytest

from gpusim.launch.run import simulate
from gpusim.spec.load import load_gpu
from gpusim.trace.run import Run
from gpusim.validate.cases import Case, read
from gpusim.validate.mapping import DEFAULT_GPU, map_case
from gpusim.validate.protocol import MEASURES

CASES = sorted((case for case in read(DEFAULT_GPU) if case.family == "flash_triton"), key=lambda case: case.id)
SAMPLE = CASES[::12]


@cache
def _run(number: int) -> Run:
    mapped = map_case(SAMPLE[number], MEASURES["cycles"])
    return simulate(mapped.program, load_gpu(DEFAULT_GPU), **mapped.options)


def _errors(cases: list[Case]) -> list[float]:
    return [_run(SAMPLE.index(case)).cycles / float(case.number("sm_cycles") or 1) - 1 for case in cases]


def test_cycles() -> None:
    errors = _errors(SAMPLE)
    assert sum(map(abs, errors)) / len(errors) < 0.07, errors
    assert abs(sum(errors) / len(errors)) < 0.03, errors


@pytest.mark.parametrize("causal", [False, True])
def test_masks_are_no_worse(causal: bool) -> None:
    errors = _errors([case for case in SAMPLE if bool(case.params["causal"]) is causal])
    assert abs(sum(errors) / len(errors)) < 0.04, errors


def test_order_of_configurations() -> None:
    """Among configurations of one problem the model orders nearly all pairs whose times differ by more than 15 %."""
    wrong = pairs = 0
    for i, a in enumerate(SAMPLE):
        for j, b in enumerate(SAMPLE[:i]):
            same = all(a.params[k] == b.params[k] for k in ("batch", "heads", "seq", "head_dim", "causal"))
            x, y = float(a.number("sm_cycles") or 1), float(b.number("sm_cycles") or 1)
            if same and abs(x / y - 1) > 0.15:
                pairs += 1
                wrong += (x > y) != (_run(i).cycles > _run(j).cycles)
    assert pairs >= 10 and wrong <= pairs // 10, (wrong, pairs)
