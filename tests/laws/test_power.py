"""More work never raises the clock; energy adds up, and belongs to the work and not to the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.launch.clock import LOAD, SUSTAINED, held_by
from gpusim.report.power import energy_uj, power_w
from gpusim.report.report import Report
from gpusim.trace.load import Load
from tests.laws.cases import Case, cases, few, spec_of
from tests.laws.closed import Gemm
from tests.laws.specs import toy

PJ = st.floats(0, 1e13)
CASE = Case("toy", Gemm(512, 512, 512, (128, 128, 32), "bf16", "padded"))
MODES = (LOAD, SUSTAINED)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", ["tensor", "L2", "DRAM"])
@few(60)
@given(base=PJ, more=PJ, tensor=st.booleans(), cycles=st.floats(1e3, 1e7))
def test_more_energy_never_raises_the_clock(mode: str, level: str, base: float, more: float, tensor: bool, cycles: float) -> None:
    def mhz(added: float) -> float:
        energy = {"tensor": base, "L2": base, "DRAM": base}
        energy[level] += added
        run = replace(CASE.standard(), cycles=cycles, load=Load(energy, energy, tensor, before=min(cycles, 2000.0)))
        return held_by(run, toy(), mode).mhz

    assert mhz(more) <= mhz(0.0) * (1 + 1e-9)
    assert 0 < mhz(more) <= toy().clocks.boost / 1e6 * (1 + 1e-9)


@pytest.mark.parametrize("mode", MODES)
@few(4)
@given(case=cases())
def test_no_clock_is_above_the_boost_clock_and_the_work_stays(mode: str, case: Case) -> None:
    usual, loaded = case.standard(), case.run(clock_mhz=mode)
    assert loaded.protocol.clock_mhz <= spec_of(case.gpu).clocks.boost / 1e6 * (1 + 1e-9)
    assert loaded.counters["instructions"] == usual.counters["instructions"]


@few(4)
@given(case=cases())
def test_energy_adds_up(case: Case) -> None:
    run = case.standard()
    report = Report(run, spec_of(case.gpu))
    energy = report.energy_uj
    assert energy is not None and report.power_w is not None
    assert sum(energy.values()) == pytest.approx(report.power_w * report.time_us)
    assert all(value > 0 for value in energy.values()), "a level without work is absent, not 0"


def test_twice_the_work_is_twice_the_energy() -> None:
    once, twice = (Case("toy", Gemm(512, n, 512, (128, 128, 32), "bf16", "padded")).standard() for n in (512, 1024))
    assert once.load is not None and twice.load is not None
    assert twice.load.energy["tensor"] == pytest.approx(2 * once.load.energy["tensor"])
    assert twice.load.energy["instructions"] == pytest.approx(2 * once.load.energy["instructions"])


def test_energy_of_work_belongs_to_the_work_and_power_to_the_clock() -> None:
    slow, fast = (CASE.run(clock_mhz=mhz) for mhz in (500.0, 1000.0))
    assert slow.load is not None and fast.load is not None
    assert slow.load.energy["tensor"] == fast.load.energy["tensor"], "at the voltage of the boost clock"
    spec = toy()
    slow_uj, fast_uj = energy_uj(slow, spec), energy_uj(fast, spec)
    assert slow_uj is not None and fast_uj is not None
    assert fast_uj["tensor"] == pytest.approx(4 * slow_uj["tensor"]), "the voltage follows the clock"
    assert fast_uj["DRAM"] == pytest.approx(slow_uj["DRAM"], rel=0.2)
    assert (power_w(fast, spec) or 0) > (power_w(slow, spec) or 0)


def test_zeros_take_less_and_never_run_slower() -> None:
    for mode in MODES:
        random, zeros = (CASE.run(clock_mhz=mode, data=data) for data in ("random", "zeros"))
        assert (power_w(zeros, toy()) or 0) < (power_w(random, toy()) or 0)
        assert zeros.protocol.clock_mhz >= random.protocol.clock_mhz
