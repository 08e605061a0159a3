"""The clock law, on loads made by hand and a made-up chip with round numbers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.errors import GpusimError
from gpusim.launch.clock import BOARD, PEAK, TENSOR, Held, check_clock, first_mhz, held_by, power_of, word
from gpusim.launch.energy import Work, energies, rests, waves
from gpusim.launch.settling import settled
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_gpu
from gpusim.spec.power import Power
from gpusim.spec.resolve import Machine, resolve
from gpusim.trace.load import Load
from gpusim.trace.run import Run
from tests.unit.made_runs import made_run

TOY = load_gpu(Path(__file__).parents[1] / "golden" / "report" / "toy.yaml")
BOOST, TENSOR_MHZ = 1200.0, 1000.0
#: cycles of a launch that is long against every constant of the law
LONG = 1e9


def power(spec: GpuSpec = TOY) -> Power:
    return power_of(spec)


def drawing(watts: float, *, tensor: bool = True, dram: float = 0.0, cycles: float = LONG, counted: float | None = None, **load: float) -> Run:
    """A run whose SMs and L2 draw `watts` above idle at the highest clock that it can have, and DRAM `dram`."""
    mhz = TENSOR_MHZ if tensor else BOOST
    per_watt = cycles / (mhz * 1e-6 * (mhz / BOOST) ** 2)
    energy = {"tensor": watts * per_watt, "DRAM": dram * cycles / (mhz * 1e-6)}
    toggling = energy | {"tensor": (watts if counted is None else counted) * per_watt}
    run = made_run()
    return replace(run, cycles=cycles, protocol=replace(run.protocol, clock_mhz=mhz), load=Load(energy, toggling, tensor, **load))


def clock(run: Run, mode: str = "load", spec: GpuSpec = TOY) -> Held:
    return held_by(run, spec, mode)


def quiet(spec: GpuSpec = TOY) -> GpuSpec:
    """The chip without what the start of a load costs."""
    p = power(spec)
    assert p.quick and p.step
    change = {"quick": p.quick.model_copy(update={"droop": 0.0, "overshoot": 0.0}), "step": p.step.model_copy(update={"switch": 0.0})}
    return spec.model_copy(update={"power": p.model_copy(update=change)})


def test_words_and_numbers() -> None:
    assert [word(c) for c in (None, "load", 1500.0)] == ["boost", "load", "given"]
    assert first_mhz(None, TOY, True) == TENSOR_MHZ and first_mhz("load", TOY, False) == BOOST and first_mhz(900, TOY, True) == 900
    for wrong in ("turbo", 0, 1e9):
        with pytest.raises(GpusimError, match="clock = "):
            check_clock(wrong)


def test_a_light_load_keeps_its_highest_clock() -> None:
    assert clock(drawing(1.0, tensor=False)) == Held(pytest.approx(BOOST), "")
    assert clock(drawing(1.0)) == Held(pytest.approx(TENSOR_MHZ, rel=1e-5), TENSOR)


def test_power_above_the_peak_costs_its_cube_root() -> None:
    held = clock(drawing(80.0), spec=quiet())
    assert held == Held(pytest.approx(TENSOR_MHZ * 0.5 ** (1 / 3)), PEAK), "80 W asked, 40 W allowed"


def test_the_first_answer_comes_late_and_goes_too_far() -> None:
    spec = quiet()
    p = power()
    assert p.quick is not None
    short = clock(drawing(80.0, cycles=40_000), spec=spec).mhz
    dipped = [clock(drawing(80.0, cycles=c)).mhz for c in (40_000, 90_000, 1e8)]
    assert short == pytest.approx(TENSOR_MHZ * 0.5 ** (1 / 3)), "40 us end before the answer"
    assert dipped[1] < dipped[0] and dipped[1] < dipped[2], "a launch of 100 us has most of the dip in it"


def test_a_load_that_starts_costs_time_by_its_power() -> None:
    low, high = (clock(drawing(w, cycles=10_000)).mhz for w in (1.0, 39.0))
    lost = 10_000 / high - 10_000 / low
    assert lost == pytest.approx(38e-3, rel=1e-6), "1 ns for each watt"


def test_time_before_tensor_instructions_runs_at_boost() -> None:
    mhz = clock(drawing(1.0, cycles=10_000, before=4_000), spec=quiet()).mhz
    assert mhz == pytest.approx(10_000 / (4_000 / BOOST + 6_000 / TENSOR_MHZ))


def test_each_rest_of_the_tensor_cores_costs_a_switch_and_gives_time_at_boost() -> None:
    p = power()
    assert p.step is not None
    once, often = (clock(drawing(1.0, cycles=100_000, rests=r, rested=c)).mhz for r, c in ((0, 0), (10, 5_000)))
    gained = 5_000 / TENSOR_MHZ - 5_000 / BOOST
    assert 100_000 / often - 100_000 / once == pytest.approx(10 * p.step.switch * 1e-3 - gained, rel=1e-3)


def test_a_last_wave_that_is_not_full_draws_less() -> None:
    run = drawing(80.0)
    assert run.load is not None
    full = ((0.5, 1.5), (0.5, 0.5))
    uneven = replace(run, load=replace(run.load, waves=full))
    assert clock(uneven, spec=quiet()).mhz == pytest.approx(2 / (1 / (TENSOR_MHZ * (1 / 3) ** (1 / 3)) + 1 / TENSOR_MHZ)), "120 W, then 40 W"


def test_over_seconds_counted_work_and_the_board_count_too() -> None:
    still = drawing(5.0, counted=80.0)
    assert clock(still).mhz == pytest.approx(TENSOR_MHZ, rel=1e-4), "zeros draw little"
    assert clock(still, "sustained") == Held(pytest.approx(TENSOR_MHZ * 0.5 ** (1 / 3)), PEAK), "but they are counted like any data"
    hot = clock(drawing(30.0, dram=60.0), "sustained")
    assert hot.by == BOARD
    f = hot.mhz / TENSOR_MHZ
    assert 20 + 30 * f**3 + 60 * f == pytest.approx(80, rel=1e-6), "idle, SMs and DRAM are the board's limit"


def test_rests_are_counted_for_each_sm() -> None:
    times = [[0.0, 10.0, 50.0, 60.0, 61.0, 70.0], [5.0, 10.0], []]
    assert rests(times, 20.0) == (0.0, 0.5, 10.0), "one rest of 40 on one of two SMs, 20 beyond the hold"
    assert rests([], 20.0) == (0.0, 0.0, 0.0)


def test_waves_are_shares_of_time_and_of_load() -> None:
    run = made_run()
    for ctas, slots, held in ((10, 10, 1), (15, 10, 1), (3, 10, 1), (25, 10, 2), (21, 10, 2)):
        made = waves(replace(run, ctas=ctas, slots=slots, occupancy=replace(run.occupancy, ctas_per_sm=held)))
        assert sum(share for share, _ in made) == pytest.approx(1)
        assert sum(share * load for share, load in made) == pytest.approx(1)


def test_energy_is_a_sum_over_what_was_done() -> None:
    p = power()
    work = Work(instructions=2, lanes=3, tensor={"mma.sync": 5, "wgmma": 7}, l1_bytes=11, l2_bytes=13, dram_bytes=17)
    assert energies(work, p.random) == {"instructions": 70, "tensor": 38_000, "L1 and shared": 110, "L2": 520, "DRAM": 1360}
    assert all(energies(work, p.zeros)[level] <= energy for level, energy in energies(work, p.random).items())
    with pytest.raises(GpusimError, match="wgmma"):
        energies(work, p.random.model_copy(update={"wgmma": None}))


def test_a_chip_of_which_nothing_is_known_says_so() -> None:
    with pytest.raises(GpusimError, match="no section 'power'"):
        power_of(TOY.model_copy(update={"power": None}))


def test_the_clock_is_a_fixed_point() -> None:
    seen = []

    def make(machine: Machine, names: tuple[str, ...]) -> Run:
        seen.append(machine.clock_hz / 1e6)
        run = drawing(80.0)
        return replace(run, protocol=replace(run.protocol, clock_mhz=machine.clock_hz / 1e6))

    _, run = settled(make, lambda one: one, "load", resolve(TOY, TENSOR_MHZ), TOY, ())
    assert len(seen) == 2 and run.protocol.clock_mhz == seen[-1], "the same load again gives the same clock"
    assert (run.protocol.clock, run.protocol.held_by) == ("load", PEAK)
    _, given = settled(make, lambda one: one, 700.0, resolve(TOY, 700.0), TOY, ())
    assert (given.protocol.clock, given.protocol.held_by) == ("given", "")


def test_the_overhead_of_a_launch_is_outside_of_the_kernel() -> None:
    alone = drawing(80.0, cycles=40_000)
    run = replace(alone, cycles=42_000, load=replace(alone.load, outside=2_000.0))
    assert clock(run) == clock(alone)
