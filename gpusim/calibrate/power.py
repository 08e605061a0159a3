"""Energies and limits from loops that last for seconds: watts over idle, by what was done in a second."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from gpusim.calibrate.bench import Bench, Row, digits
from gpusim.calibrate.records import Missing, Record

LANES = 32
#: words with which loads begin
FFMA, MMA, WGMMA, DRAM = "FFMA", "mma.sync", "wgmma", "DRAM read"
RANDOM, ZEROS = "random", "zero"
#: arithmetic of one lane for each byte that the read loop loads: a step of folding for each of the four words of 16 bytes
FOLDS = 4 / 16


def _all(bench: Bench, name: str, unit: str, load: str, data: str) -> list[Record]:
    """The records `name` of loads that begin with the word. Raises Missing where there is none."""
    loads = dict.fromkeys(r.params["load"] for r in bench.records.records if r.group == "power" and str(r.params.get("load", "")).startswith(load))
    if not loads:
        raise Missing(f"no record power/{name} of a load {load}")
    return [record for text in loads for record in bench.records.points(f"power/{name}", unit, load=text, data=data)]


def _idle(bench: Bench) -> float:
    return bench.records.value("power/board_power", "W", load="idle context")


def _over_idle(bench: Bench, load: str, data: str) -> list[float]:
    return [r.value - _idle(bench) for r in _all(bench, "board_power", "W", load, data)]


def _per_cycle(load: str, data: str) -> Callable[[Bench], float]:
    """pJ of a cycle of an SM at the boost clock's voltage, the mean over formats."""

    def value(bench: Bench) -> float:
        clocks = [r.value for r in _all(bench, "sm_clock", "MHz", load, data)]
        sms = bench.records.of_device("multiProcessorCount")
        energies = [w / (sms * mhz * 1e6) * (bench.mhz / mhz) ** 2 for w, mhz in zip(_over_idle(bench, load, data), clocks, strict=True)]
        return fmean(energies) * 1e12

    return value


def _ffma(bench: Bench, data: str) -> float:
    """pJ of an FFMA of one lane."""
    operations = _all(bench, "rate", "TFLOP/s", FFMA, data)[0].value / 2
    return _over_idle(bench, FFMA, data)[0] / operations


def _instruction(bench: Bench) -> float:
    return _ffma(bench, ZEROS) * LANES


def _lane(bench: Bench) -> float:
    return _ffma(bench, RANDOM) - _ffma(bench, ZEROS)


def _dram(data: str, level: str) -> Callable[[Bench], float]:
    """pJ of a byte, less what L2 and the loop take of it."""

    def value(bench: Bench) -> float:
        rate = _all(bench, "rate", "GB/s", DRAM, data)[0].value
        return _over_idle(bench, DRAM, data)[0] / rate * 1e3 - bench.spec(f"power.{level}.l2_byte") - bench.spec(f"power.{level}.lane") * FOLDS

    return value


def _limit(bench: Bench) -> float:
    return max(r.value for r in bench.records.points("power/board_power", "W"))


def _peak(bench: Bench) -> float:
    """W over idle that random data would draw at the clocks of loops with zeros: data does not slow these, so counted work does."""
    sms, each = bench.records.of_device("multiProcessorCount"), bench.spec("power.random.wgmma")
    slowed = [r.value for r in _all(bench, "sm_clock", "MHz", WGMMA, ZEROS)]
    return fmean(each * 1e-6 * sms * mhz * (mhz / bench.mhz) ** 2 for mhz in slowed)


def _rows(level: str, data: str) -> tuple[Row, ...]:
    over = f"{data} data: W over idle"
    return (
        Row(
            f"power.{level}.mma_sync",
            "power/board_power, sm_clock",
            f"mma.sync, {over} by SM cycles, at the boost clock's voltage",
            _per_cycle(MMA, data),
            digits,
        ),
        Row(
            f"power.{level}.wgmma", "power/board_power, sm_clock", f"wgmma, mean of formats, {over} by SM cycles, as mma_sync", _per_cycle(WGMMA, data), digits
        ),
        Row(f"power.{level}.dram_byte", "power/board_power, rate", f"DRAM read, {over} by bytes, less L2 and the loop", _dram(data, level), digits),
    )


ROWS: tuple[Row, ...] = (
    Row("power.idle", "power/board_power", "idle context", _idle, digits),
    Row("power.limit", "power/board_power", "highest of all loads", _limit, digits),
    Row("power.random.instruction", "power/board_power, rate", "FFMA with zeros: W over idle by warp instructions", _instruction, digits),
    Row("power.zeros.instruction", "power/board_power, rate", "FFMA with zeros: W over idle by warp instructions", _instruction, digits),
    Row("power.random.lane", "power/board_power, rate", "FFMA, random data less zeros, by lanes", _lane, digits),
    *_rows("random", RANDOM),
    *_rows("zeros", ZEROS),
    Row("power.quick.peak", "power/sm_clock", "wgmma with zeros: what random data would draw at its clocks, mean of formats", _peak, digits),
)
