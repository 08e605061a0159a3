"""Traffic without time, against the L2 halves of a run in which every block and step was simulated."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.devices.gpu import Gpu, Timed
from gpusim.devices.stream import Stream
from gpusim.launch.dealing import deal
from gpusim.launch.streaming import stream
from gpusim.launch.traffic import Traffic, walk
from gpusim.spec.resolve import Machine
from tests.laws.specs import toy, toy_machine
from tests.unit.lowering import lowered


def _both(machine: Machine, l2: str, *sizes: int, **options: Any) -> tuple[Traffic, Timed, Stream]:
    """(walked, simulated, stream) with one CTA an SM."""
    made = stream(lowered(toy(), *sizes, tile=(64, 64, 32), **options))
    walked = walk(made, machine, 1, l2)
    return walked, Gpu(machine, made, 1, l2).run(range(made.ctas), deal(machine, made.ctas, 1)), made


def _facts(walked: Traffic) -> dict[str, float]:
    return {"dram_read_bytes": walked.dram_read, "dram_write_bytes": walked.dram_write, "l2_dirty_bytes": walked.dirty, "fabric_sectors": walked.fabric / 32}


@pytest.mark.parametrize("l2", ["cold", "foreign-dirty"])
@pytest.mark.parametrize("halves", [1, 2])
@pytest.mark.parametrize("sizes", [(256, 192, 512), (250, 190, 500), (256, 128, 512), (64, 300, 500)], ids=["full", "masked", "8 blocks", "5 blocks"])
def test_one_wave_leaves_the_same(l2: str, halves: int, sizes: tuple[int, int, int]) -> None:
    walked, timed, made = _both(toy_machine(halves=halves), l2, *sizes)
    assert made.ctas <= 12
    expected = {name: timed.counts[name] for name in _facts(walked)}
    assert _facts(walked) == pytest.approx(expected)
    received = timed.counts["l2_read_sectors"] + timed.counts["l2_write_sectors"]
    assert walked.near_misses / 32 == pytest.approx(received - timed.counts["l2_hit_sectors"])


@pytest.mark.parametrize("l2", ["cold", "foreign-dirty"])
def test_waves_whose_data_fit_read_and_write_the_same(l2: str) -> None:
    walked, timed, made = _both(toy_machine(), l2, 512, 512, 256)
    assert made.ctas > 3 * 12
    for name in ("dram_read_bytes", "l2_dirty_bytes"):
        assert _facts(walked)[name] == pytest.approx(timed.counts[name]), name


def test_waves_whose_data_do_not_fit_are_close() -> None:
    """Later blocks land on other SMs than the walk assumes, and their order in time is not the walk's."""
    walked, timed, _ = _both(toy_machine(half_bytes=2.0**18, dirty_bytes=2.0**17), "cold", 1024, 1024, 512)
    assert walked.dram_read > 2 * 1024 * 512 * 2, "some of it is read again"
    assert walked.dram_read == pytest.approx(timed.counts["dram_read_bytes"], rel=0.1)
    assert walked.dram_write == pytest.approx(timed.counts["dram_write_bytes"], rel=0.02)


@pytest.mark.parametrize("l2", ["cold", "foreign-dirty"])
def test_what_is_written_is_in_dram_or_dirty(l2: str) -> None:
    machine = toy_machine(half_bytes=2.0**18, dirty_bytes=2.0**17)
    walked, _, _ = _both(machine, l2, 640, 640, 64)
    result, foreign = 640 * 640 * 2, 2 * machine.dirty_bytes if l2 == "foreign-dirty" else 0.0
    assert result <= walked.dram_write + walked.dirty <= result + foreign
    assert l2 == "foreign-dirty" or walked.dram_write + walked.dirty == pytest.approx(result)


def test_a_larger_l2_never_reads_more() -> None:
    read = [_both(toy_machine(half_bytes=2.0**size, dirty_bytes=2.0 ** (size - 1)), "cold", 768, 768, 256)[0].dram_read for size in (16, 17, 18, 19, 21)]
    assert read == sorted(read, reverse=True)
    assert read[0] > read[-1] == 2 * 768 * 256 * 2
