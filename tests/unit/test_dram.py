"""Device memory in closed form: peak, activations, turnaround, refresh, and any number of channels."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.parts.dram import NOTHING, Moved, activation_interval, openings, refresh_delay, runs, serve
from gpusim.spec.hbm import STANDARDS, hbm_timings
from gpusim.spec.load import load_spec, names
from gpusim.spec.resolve import DramTimes, resolve

SPEC = load_spec("h200-sxm")
DRAM = resolve(SPEC, 1000).dram
amounts = st.floats(1e3, 1e10)
CHANNELS = st.integers(1, 500)


def with_channels(channels: int) -> DramTimes:
    """The same channels, another number of them."""
    share = channels / SPEC.dram.channels
    dram = SPEC.dram.model_copy(update={"channels": channels, "bandwidth": SPEC.dram.bandwidth * share})
    return resolve(SPEC.model_copy(update={"dram": dram}), 1000).dram


def rate(read: Moved, written: Moved = NOTHING, dram: DramTimes = DRAM) -> float:
    """Bytes per ns, at 1000 MHz."""
    return (read + written).nbytes / serve(dram, read, written).time


@pytest.mark.parametrize("name", names())
def test_long_reads_and_long_writes_reach_the_pins_less_a_little(name: str) -> None:
    spec = load_spec(name)
    dram, expected = resolve(spec, 1000).dram, spec.dram.bandwidth * spec.dram.efficiency / 1e9
    assert rate(runs(dram, 1, 1e9), dram=dram) == pytest.approx(expected)
    assert rate(NOTHING, runs(dram, 1, 1e9), dram=dram) == pytest.approx(expected)


def test_atoms_at_places_of_their_own_are_limited_by_activations() -> None:
    served = serve(DRAM, runs(DRAM, 1e6, 64e6))
    assert served.time == pytest.approx(1e6 * activation_interval(DRAM) / DRAM.pseudo_channels)
    assert served.activate > served.bus and served.row_hits == 0
    assert activation_interval(DRAM) > SPEC.dram.activate_window / 4


@pytest.mark.parametrize("share", [0.0, 0.3, 0.55, 1.0])
@pytest.mark.parametrize("atoms", [1, 2, 4, 8])
def test_openings_of_a_row(atoms: int, share: float) -> None:
    rng, opened, tries = random.Random(atoms), 0, 20_000
    for _ in range(tries):
        left = atoms
        while left:
            opened += 1
            left = sum(rng.random() >= share for _ in range(left - 1))
    assert openings(atoms, share) == pytest.approx(opened / tries, rel=0.02)


def test_more_atoms_than_fit_are_told() -> None:
    with pytest.raises(GpusimError, match="5 atoms of 64 bytes do not fit in 1 pieces of 256 bytes"):
        serve(DRAM, Moved(1, 5, 320))


def test_no_refresh_leaves_the_window_alone() -> None:
    assert activation_interval(replace(DRAM, refresh_interval=1e15)) == pytest.approx(SPEC.dram.activate_window / 4)
    assert activation_interval(replace(DRAM, refresh_interval=1e15, activate_window=0.0)) == pytest.approx(DRAM.activate_gap)


def test_refresh_that_leaves_no_time_is_told() -> None:
    with pytest.raises(GpusimError, match="leaves no time for activations"):
        activation_interval(replace(DRAM, refresh_interval=1.0))


def test_longer_runs_are_never_slower() -> None:
    rates = [rate(runs(DRAM, 1e9 / size, 1e9)) for size in (64, 128, 256, 512, 4096)]
    assert rates == sorted(rates) and rates[0] < 0.65 * rates[-1]


def test_turnaround_grows_with_the_share_of_writes_and_vanishes_without_reads() -> None:
    rates = [rate(runs(DRAM, 0, (1 - w) * 1e9), runs(DRAM, 0, w * 1e9)) for w in (0.0, 0.2, 0.4, 0.6, 0.8)]
    assert rates == sorted(rates, reverse=True)
    few = serve(DRAM, runs(DRAM, 10, 640), runs(DRAM, 0, 1e9))
    assert few.turnarounds == 20, "ten reads turn the bus ten times at most"
    assert serve(DRAM, NOTHING, runs(DRAM, 0, 1e9)).turn == 0


def test_counts() -> None:
    served = serve(DRAM, runs(DRAM, 1000, 256_000), runs(DRAM, 0, 1 << 20))
    assert served.bursts == (256_000 + (1 << 20)) / 32
    assert served.activations + served.row_hits == (256_000 + (1 << 20)) / 64
    assert served.turnarounds == 2 * (1 << 20) / 256 / DRAM.write_batch
    assert served.refreshes == pytest.approx(served.time * DRAM.pseudo_channels / (3900 / 32))
    assert served.time == max(served.bus, served.activate) + served.turn


@given(CHANNELS, amounts, amounts, amounts)
def test_any_number_of_channels(channels: int, pieces: float, read: float, written: float) -> None:
    one, many = with_channels(1), with_channels(channels)
    moved = runs(DRAM, pieces, max(pieces * 64, read)), runs(DRAM, 0, written)
    assert many.pseudo_channels == 2 * channels
    assert serve(one, *moved).time == pytest.approx(channels * serve(many, *moved).time)
    assert serve(one, *moved).turnarounds == serve(many, *moved).turnarounds


@given(amounts, amounts, st.floats(1, 4), st.floats(0, 1))
def test_more_is_never_faster(nbytes: float, written: float, more: float, scatter: float) -> None:
    count = nbytes / 64 * scatter
    small = serve(DRAM, runs(DRAM, count, nbytes), runs(DRAM, 0, written))
    assert serve(DRAM, runs(DRAM, count * more, nbytes * more), runs(DRAM, 0, written)).time >= small.time * (1 - 1e-12)
    assert serve(DRAM, runs(DRAM, count, nbytes), runs(DRAM, 0, written * more)).time >= small.time * (1 - 1e-12)
    assert small.time * (1 + 1e-12) >= max(serve(DRAM, runs(DRAM, count, nbytes)).time, serve(DRAM, NOTHING, runs(DRAM, 0, written)).time)
    assert small.time >= (nbytes + written) / (SPEC.dram.bandwidth / 1e9)


def test_nothing_takes_no_time() -> None:
    assert serve(DRAM).time == serve(DRAM).turnarounds == 0


@pytest.mark.parametrize("count, nbytes", [(-1, 100), (10, 5), (0, -1)])
def test_impossible_runs(count: float, nbytes: float) -> None:
    with pytest.raises(GpusimError, match="a run has at least one byte"):
        runs(DRAM, count, nbytes)


def test_waiting_for_refresh() -> None:
    steps = 10_000
    waits = [refresh_delay(DRAM, (i + 0.5) / steps) for i in range(steps)]
    assert sum(waits) / steps == pytest.approx(0, abs=0.05)
    row = STANDARDS[SPEC.dram.standard]
    least = min(waits)
    assert max(waits) - least == pytest.approx(row.rfc_bank, rel=0.01)
    assert sum(w > least for w in waits) / steps == pytest.approx(row.rfc_bank / row.refi, rel=0.01)


@pytest.mark.parametrize("name", sorted(STANDARDS))
def test_rows_of_the_table(name: str) -> None:
    row = hbm_timings(name)
    assert row.burst_bytes == 32, "half an atom in every standard"
    assert row.ras + row.rp <= row.rc + 1 and row.rrd_short <= row.rrd_long and 4 * row.rrd_short <= row.faw + 1
    assert row.rfc_bank < row.refi / row.banks * 2 and row.rrefd < row.refi / row.banks
    assert row.banks % row.groups == 0


def test_a_standard_without_a_row() -> None:
    with pytest.raises(GpusimError, match="'GDDR9' has no row of timings. There are HBM2, HBM2e, HBM3, HBM3e"):
        hbm_timings("GDDR9")


@pytest.mark.parametrize("text, told", [("channels: 0", "dram.channels = 0"), ("stacks: 0", "dram.stacks = 0"), ("standard: DDR5", "dram.standard = 'DDR5'")])
def test_a_wrong_device_memory_is_one_sentence(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(f"base: h200-sxm\ndram:\n  {text}\n")
    with pytest.raises(GpusimError) as error:
        load_spec(file)
    assert told in str(error.value) and "line 3" in str(error.value) and len(str(error.value).splitlines()) == 1


def test_81_channels(tmp_path: Path) -> None:
    file = tmp_path / "my.yaml"
    file.write_text("base: h200-sxm\ndram: {channels: 81}\n")
    dram = resolve(load_spec(file), 1000).dram
    assert dram.pseudo_channels == 162
    assert rate(runs(dram, 1e6, 64e6), dram=dram) == pytest.approx(rate(runs(DRAM, 1e6, 64e6)) * 81 / 94)


def test_time_does_not_depend_on_the_clock_of_the_sms() -> None:
    slow, fast = (resolve(SPEC, mhz).dram for mhz in (1000, 1980))
    for moved in (runs(DRAM, 1e6, 64e6), runs(DRAM, 1, 1e9)):
        assert serve(fast, moved, moved).time / 1980 == pytest.approx(serve(slow, moved, moved).time / 1000)


def test_latencies_of_a_bank() -> None:
    row = STANDARDS[SPEC.dram.standard]
    assert DRAM.row_miss - DRAM.row_open == pytest.approx(row.rcd_read) and DRAM.row_conflict - DRAM.row_miss == pytest.approx(row.rp)
    assert DRAM.row_conflict < DRAM.latency
