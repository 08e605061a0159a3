"""Two claims on which reuse rests, on the real engine: a steady loop is a line in its length, and traffic is not.

Both lengths from which a line is drawn, and those that it predicts, are simulated step by step.
"""

from __future__ import annotations

from functools import cache

import pytest

from gpusim.spec.device import GpuSpec
from gpusim.trace.run import Run
from tests.laws.cases import Case
from tests.laws.closed import Gemm
from tests.laws.specs import changed, toy

BK = 32
FIT, PREDICTED = (32, 64), (128, 256)


def _slow_tensor_cores() -> GpuSpec:
    unit = toy().tensor.wgmma
    assert unit is not None
    return changed(toy(), tensor__wgmma=unit.model_copy(update={"fma_per_cycle": {"bf16": 256.0}}))


#: what limits the loop -> (machine, sizes and format of one wave)
LOOPS: dict[str, tuple[GpuSpec, int, int, str]] = {
    "DRAM": (changed(toy(), dram__bandwidth=5e10), 512, 192, "bf16"),
    "tensor": (_slow_tensor_cores(), 512, 192, "bf16"),
    "issue": (toy(), 256, 192, "fp32"),
}


@cache
def _run(limit: str, steps: int) -> Run:
    spec, m, n, dtype = LOOPS[limit]
    return Case("toy", Gemm(m, n, BK * steps, (64, 64, BK), dtype, "padded")).run(spec, exact=True)


def _line(limit: str, fact: str, steps: int) -> float:
    """The value at `steps` of the line through both fitted lengths."""
    a, b = (_fact(_run(limit, s), fact) for s in FIT)
    return a + (b - a) * (steps - FIT[0]) / (FIT[1] - FIT[0])


def _fact(run: Run, fact: str) -> float:
    return run.cycles if fact == "cycles" else float(run.counters[fact])


@pytest.mark.parametrize("steps", PREDICTED)
@pytest.mark.parametrize("limit", LOOPS)
def test_the_time_of_a_steady_loop_is_a_line(limit: str, steps: int) -> None:
    assert _line(limit, "cycles", steps) == pytest.approx(_run(limit, steps).cycles, rel=0.015)


@pytest.mark.parametrize("steps", PREDICTED)
@pytest.mark.parametrize("limit", LOOPS)
@pytest.mark.parametrize("fact", ["dram_read_bytes", "l1_load_sectors", "instructions", "tensor_fma"])
def test_what_a_steady_loop_counts_is_a_line(limit: str, steps: int, fact: str) -> None:
    """One wave reads every tile once, so even DRAM bytes are."""
    assert _line(limit, fact, steps) == pytest.approx(_fact(_run(limit, steps), fact), rel=1e-5)


@pytest.mark.parametrize("limit", LOOPS)
def test_the_loops_are_limited_by_different_things(limit: str) -> None:
    bounds = _run(limit, 128).bounds
    assert max(bounds, key=bounds.__getitem__) == limit


#: 48 blocks in four waves, on an L2 that holds the operands of a short loop and not those of a long one, and blocks in step
SMALL = changed(toy(), l2__capacity=2**20, sm__max_ctas=1, sm__copy_jitter=0.0)


def _waves(steps: int, exact: bool) -> Run:
    return Case("toy", Gemm(512, 384, BK * steps, (64, 64, BK), "bf16", "padded")).run(SMALL, exact=exact)


def test_where_the_operands_outgrow_the_l2_bytes_leave_the_line() -> None:
    """A fit on short loops would miss this, and a third length shows it: the guard."""
    a, b, c = (_waves(steps, exact=True).counters["dram_read_bytes"] for steps in (2, 4, 64))
    assert b == 2 * a
    assert c > 2 * (64 / 4) * b


def test_traffic_is_walked_and_not_extrapolated() -> None:
    """The walk keeps blocks in step; simulated one by one they drift apart in a long loop and share less of what the L2 holds."""
    fast, exact = (_waves(400, exact).counters["dram_read_bytes"] for exact in (False, True))
    assert _waves(400, exact=False).extrapolated
    once = Gemm(512, 384, BK * 400, (64, 64, BK), "bf16", "padded").compulsory_bytes
    assert 2 * once < fast <= exact <= 1.4 * fast
