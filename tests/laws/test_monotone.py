"""A better machine is not slower. Blocks may land differently, so a small share of a wave is granted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from gpusim.spec.device import GpuSpec, MmaSync, Wgmma
from gpusim.trace.run import Run
from tests.laws.cases import SHORTENED, Case, cases, few, spec_of
from tests.laws.specs import changed

#: share of a wave by which scheduling may undo a gain
GRANTED = 0.1
CLOCK = 1500.0

Better = Callable[[GpuSpec], GpuSpec]

BETTER: dict[str, Better] = {
    "DRAM bandwidth": lambda s: changed(s, dram__bandwidth=2 * s.dram.bandwidth),
    "L2 bandwidth": lambda s: changed(s, l2__read_bandwidth=2 * s.l2.read_bandwidth, l2__write_bandwidth=2 * s.l2.write_bandwidth),
    "L2 capacity": lambda s: changed(s, l2__capacity=2 * s.l2.capacity),
    "SM ports": lambda s: changed(s, sm__fill_bytes_per_cycle=2 * s.sm.fill_bytes_per_cycle, sm__store_bytes_per_cycle=2 * s.sm.store_bytes_per_cycle),
    "SMs": lambda s: changed(s, chip__gpc_sms=tuple(n + 2 for n in s.chip.gpc_sms)),
    "DRAM latency": lambda s: changed(s, dram__latency=s.dram.latency / 2),
    "L2 latency": lambda s: changed(s, l2__hit_latency=s.l2.hit_latency / 2, l2__far_latency=s.l2.far_latency / 2),
    "launch": lambda s: changed(s, launch__start=s.launch.start / 2, launch__cta_change=s.launch.cta_change / 2),
    "tensor cores": lambda s: changed(s, tensor__mma_sync=_faster(s.tensor.mma_sync), tensor__wgmma=s.tensor.wgmma and _faster(s.tensor.wgmma)),
}


def _faster(unit: MmaSync | Wgmma) -> MmaSync | Wgmma:
    return unit.model_copy(update={"fma_per_cycle": {fmt: 2 * rate for fmt, rate in unit.fma_per_cycle.items()}})


def _compare(case: Case, better: Better) -> tuple[Run, Run]:
    before, after = case.standard(clock_mhz=CLOCK), case.run(better(spec_of(case.gpu)), clock_mhz=CLOCK)
    assert after.cycles <= before.cycles + GRANTED * before.cycles / before.waves
    return before, after


@pytest.mark.parametrize("what", BETTER)
@few(10)
@given(case=cases())
def test_better_is_not_slower(what: str, case: Case) -> None:
    _compare(case, BETTER[what])


@pytest.mark.parametrize("what", BETTER)
@pytest.mark.parametrize("case", [SHORTENED["steps"], SHORTENED["both"]], ids=["steps", "both"])
def test_better_is_not_slower_when_shortened(what: str, case: Case) -> None:
    _compare(case, BETTER[what])


def test_what_limits_helps() -> None:
    """The test could not fail if the simulator ignored the machine."""
    large = SHORTENED["waves"]
    before, after = _compare(large.on("a100"), BETTER["SMs"])
    assert after.cycles < 0.95 * before.cycles
    before, after = _compare(large.on("a100"), BETTER["tensor cores"])
    assert after.cycles < 0.8 * before.cycles
    spec = changed(spec_of("h200"), dram__bandwidth=2e11)
    slow, fast = large.run(spec), large.run(BETTER["DRAM bandwidth"](spec))
    assert slow.cycles > 1.7 * fast.cycles


@few(15)
@given(cases(ld=("padded",)))
def test_latency_of_dram_moves_time_and_no_byte(case: Case) -> None:
    spec = spec_of(case.gpu)
    near, far = case.standard(), case.run(changed(spec, dram__latency=2 * spec.dram.latency))
    for name in ("l1_load_sectors", "l1_store_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes"):
        assert near.counters[name] == far.counters[name], name
    assert far.cycles > near.cycles, "nothing in L2: somebody waits"


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_latency_of_dram_moves_no_byte_when_shortened(case: Case) -> None:
    spec = spec_of(case.gpu)
    near, far = case.standard(), case.run(changed(spec, dram__latency=2 * spec.dram.latency))
    for name in ("l1_load_sectors", "l1_store_sectors", "l2_write_sectors", "dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes"):
        assert near.counters[name] == far.counters[name], name


@few(10)
@given(cases())
def test_in_time_a_slower_sm_clock_is_not_faster(case: Case) -> None:
    slow, fast = case.run(clock_mhz=900.0), case.run(clock_mhz=1800.0)
    assert fast.time_ps <= slow.time_ps * (1 + GRANTED)
    assert fast.time_ps >= slow.time_ps / 2 * (1 - GRANTED), "twice the clock is at most twice as fast"
