"""Nothing is faster than its resources allow, and every cycle of every warp is accounted for."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given

from gpusim.spec.resolve import resolve
from gpusim.trace.run import Run
from tests.laws.cases import SHORTENED, Case, cases, few, spec_of

FEW = few(30)


def _fma_rate(case: Case) -> float:
    """The fastest unit of an SM for the operands, in multiply-adds a cycle."""
    spec, dtype = spec_of(case.gpu), case.product.dtype
    units = [spec.tensor.mma_sync.fma_per_cycle.get(dtype, 0.0), spec.tensor.wgmma.fma_per_cycle.get(dtype, 0.0) if spec.tensor.wgmma else 0.0]
    return max(units) or spec.sm.fma_lanes


def _holds(case: Case, run: Run) -> None:
    spec, p = spec_of(case.gpu), case.product
    m = resolve(spec, run.protocol.clock_mhz)
    busiest = ceil(p.ctas / m.sms)
    bounds = {
        "arithmetic": p.fma / p.ctas * busiest / _fma_rate(case),
        "filling the busiest SM": p.load_sectors / p.ctas * 32 * busiest / m.fill_rate,
        "DRAM": p.compulsory_bytes / m.dram_rate,
        "launch and two latencies": m.launch_start + m.l2_latency + m.dram_latency,
    }
    if p.m % p.tile[0] or p.n % p.tile[1] or p.ld == "packed":
        del bounds["filling the busiest SM"]  # tiles differ, and narrow loads ask for a sector more than once
    for name, cycles in bounds.items():
        assert run.cycles >= cycles * (1 - 1e-6), name


@FEW
@given(cases())
def test_time_is_at_least_every_bound(case: Case) -> None:
    _holds(case, case.run())


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_time_is_at_least_every_bound_when_shortened(case: Case) -> None:
    _holds(case, case.standard())


@FEW
@given(cases())
def test_the_bounds_of_the_report_are_bounds(case: Case) -> None:
    run = case.run()
    assert min(run.bounds.values()) >= 0
    assert max(run.bounds.values()) <= run.cycles
    assert {"issue", "shared memory", "SM fill", "L2 read", "L2 write", "DRAM"} < set(run.bounds)
    assert ("FMA pipe" if case.product.dtype == "fp32" else "tensor") in run.bounds


@FEW
@given(cases())
def test_stalls_partition_the_life_of_the_warps(case: Case) -> None:
    run = case.run()
    assert sum(run.stalls.values()) == pytest.approx(run.warp_cycles)
    assert min(run.stalls.values()) > 0, "a reason that costs nothing is left out"
    assert run.warp_cycles <= run.slots * run.occupancy.warps_per_cta * run.cycles, "no more warps than fit, for no longer than the launch"
    assert run.stalls["selected"] <= run.counters["instructions"] + 1, "a warp is selected once an instruction"


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_stalls_partition_the_life_of_the_warps_when_shortened(case: Case) -> None:
    run = case.standard()
    assert sum(run.stalls.values()) == pytest.approx(run.warp_cycles)
    assert run.warp_cycles <= run.slots * run.occupancy.warps_per_cta * run.cycles * 1.01
