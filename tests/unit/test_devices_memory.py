"""The way of a tile through GPC, L2 halves and DRAM: what it costs, what it counts, and what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.devices.memory import Memory
from gpusim.parts.sm import Gpc, Sm
from tests.laws.specs import quiet_machine

NBYTES, SECTORS = 6400, 200
#: long after everything that went before has arrived
LATER = 10_000.0


class _Chip:
    """Two GPCs in half 0 and one in half 1, two SMs each, on one memory."""

    def __init__(self, l2: str = "cold", **changes: Any) -> None:
        self.machine = quiet_machine(**changes)
        self.memory = Memory(self.machine, l2)
        gpcs = [Gpc(half, 256.0) for half in (0, 0, 1)]
        self.sms = [Sm(i, gpcs[i // 2], self.machine) for i in range(6)]

    def fetch(self, sm: int, key: int = 7, now: float = 0.0, nbytes: int = NBYTES, extra: float = 0.0) -> float:
        """Cycles until the tile is there."""
        return self.memory.fetch(self.sms[sm], key, nbytes, nbytes // 32, now, now, extra) - now


def test_a_hit_takes_its_latency_and_the_slowest_port() -> None:
    chip = _Chip()
    chip.fetch(0)
    assert chip.fetch(0, now=LATER) == pytest.approx(NBYTES / chip.machine.fill_rate + chip.machine.l2_latency)


def test_what_is_farther_takes_longer_by_the_latency_of_the_way() -> None:
    chip, m = _Chip(), quiet_machine()
    miss = chip.fetch(0)
    near = chip.fetch(0, now=LATER)
    far = chip.fetch(4, now=LATER)
    assert far - near == pytest.approx(m.far_latency)
    assert miss - far == pytest.approx(m.dram_latency)
    assert chip.fetch(4, now=2 * LATER) == pytest.approx(near), "the half now has copies"


def test_the_kind_of_access_adds_its_latency_to_hits_and_misses() -> None:
    plain, longer = _Chip(), _Chip()
    assert longer.fetch(0, extra=80.0) - plain.fetch(0) == pytest.approx(80.0)
    assert longer.fetch(0, now=LATER, extra=80.0) - plain.fetch(0, now=LATER) == pytest.approx(80.0)


def test_a_tile_is_read_from_dram_once() -> None:
    chip = _Chip()
    for i, sm in enumerate((0, 1, 2, 4, 5, 0)):
        chip.fetch(sm, now=i * LATER)
    assert chip.memory.dram_read == NBYTES
    assert chip.memory.read_sectors == 6 * SECTORS


@pytest.mark.parametrize("halves", [1, 2])
def test_sectors_hit_near_or_miss(halves: int) -> None:
    chip = _Chip(halves=halves, gpc_half=(0,) * 4)
    chip.sms = [Sm(i, Gpc(half, 256.0), chip.machine) for i, half in enumerate((0, halves - 1))]
    for i, sm in enumerate((0, 0, 1, 1)):
        chip.fetch(sm, now=i * LATER)
    missed = 1 if halves == 1 else 1.5
    assert chip.memory.hit_sectors == pytest.approx((4 - missed) * SECTORS)
    assert chip.memory.fabric_sectors == pytest.approx(0 if halves == 1 else SECTORS), "each half fetches half of the tile from the other"


def test_requests_of_a_gpc_for_a_tile_in_flight_are_merged() -> None:
    chip = _Chip()
    done = chip.fetch(0)
    assert chip.fetch(1, now=10.0) == pytest.approx(done - 10.0), "a follower gets the data with the first"
    assert (chip.memory.merged_sectors, chip.memory.read_sectors) == (SECTORS, SECTORS)


def test_requests_of_different_gpcs_are_not_merged() -> None:
    chip = _Chip()
    chip.fetch(0)
    chip.fetch(2, now=10.0)
    assert (chip.memory.merged_sectors, chip.memory.read_sectors) == (0, 2 * SECTORS)
    assert chip.memory.dram_read == NBYTES, "it waits for the same data"


def test_as_many_requests_merge_as_the_gpc_can() -> None:
    chip = _Chip(merge_requests=3)
    for _ in range(7):
        chip.fetch(0)
    assert chip.memory.read_sectors / SECTORS == 3, "7 requests in groups of 3"
    assert chip.memory.merged_sectors / SECTORS == 4


@pytest.mark.parametrize(("after", "merged"), [(-1, SECTORS), (20, 0)])
def test_after_the_window_of_a_hit_nothing_merges(after: int, merged: int) -> None:
    chip = _Chip()
    for now in (0.0, LATER):
        chip.fetch(0, now=now)
    chip.fetch(1, now=LATER + chip.machine.merge_window + after)
    assert chip.memory.merged_sectors == merged


def test_a_hit_on_data_still_under_way_waits_for_them() -> None:
    chip = _Chip(merge_requests=1)
    done = chip.fetch(0)
    assert chip.fetch(1, now=10.0) == pytest.approx(done - 10.0, rel=0.3)
    assert chip.memory.dram_read == NBYTES


def test_dram_is_as_fast_as_its_bandwidth() -> None:
    chip = _Chip()
    ends = [chip.fetch(i % 6, key=i) for i in range(600)]
    moved = 600 * NBYTES
    m = chip.machine
    assert max(ends) == pytest.approx(moved / m.dram_rate, rel=0.05)
    assert max(ends) >= moved / m.dram_rate + m.dram_latency
    assert chip.memory.dram.served == moved


def test_stores_are_dirty_in_the_home_half_and_come_back_as_hits() -> None:
    chip = _Chip()
    chip.memory.store(chip.sms[0], 9, NBYTES, SECTORS, 0.0)
    halves = chip.memory.halves
    assert sum(h.dirty for h in halves) == NBYTES
    assert [h.used for h in halves] == [NBYTES, NBYTES / 2], "the writer's half keeps a copy of what lives in the other"
    assert (chip.memory.write_sectors, chip.memory.hit_sectors, chip.memory.dram_write, chip.memory.dram_read) == (SECTORS, SECTORS, 0, 0)
    assert chip.fetch(0, key=9, now=LATER) == pytest.approx(NBYTES / chip.machine.fill_rate + chip.machine.l2_latency)
    assert chip.memory.dram_read == 0


def test_stores_leave_an_sm_no_faster_than_its_port() -> None:
    chip = _Chip()
    ends = [chip.memory.store(chip.sms[0], key, NBYTES, SECTORS, 0.0) for key in range(10)]
    assert ends[-1] == pytest.approx(10 * NBYTES / chip.machine.store_rate)


@pytest.mark.parametrize("l2", ["cold", "foreign-dirty"])
def test_what_was_written_is_in_dram_or_dirty(l2: str) -> None:
    chip = _Chip(l2)
    foreign = sum(h.foreign for h in chip.memory.halves)
    assert foreign == (0.0 if l2 == "cold" else 2 * chip.machine.dirty_bytes)
    for key in range(800):
        chip.memory.store(chip.sms[key % 6], key, NBYTES, SECTORS, 100.0 * key)
    left = sum(h.dirty + h.foreign for h in chip.memory.halves)
    assert chip.memory.dram_write + left == pytest.approx(800 * NBYTES + foreign)
    assert chip.memory.dram_write > 0
    assert chip.memory.dram.served == pytest.approx(chip.memory.dram_write)


def test_irregularity_is_fixed() -> None:
    def ends() -> list[float]:
        chip = _Chip(dram_spread=100.0)
        return [chip.fetch(i % 6, key=i, now=100.0 * i) for i in range(50)]

    assert ends() == ends()
    assert len({round(e, 3) for e in ends()}) > 25
