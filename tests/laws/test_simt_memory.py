"""Bytes of thread kernels: what a level receives it has, passes on or keeps; nothing appears and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given

from gpusim.trace.run import Run
from tests.laws.cases import few
from tests.laws.simt_memory import ATOM, SECTOR, STREAMS, Access, accesses, h200

FEW = few(25)


def _levels(run: Run) -> None:
    c = run.counters
    halves = h200().l2.halves
    received = c["l2_read_sectors"] + c["l2_write_sectors"] + c.get("l2_atomic_sectors", 0)
    assert c["l1_load_sectors"] == c["l1_hit_sectors"] + c.get("merged_sectors", 0) + c["l2_read_sectors"]
    assert c["l1_store_sectors"] == c["l2_write_sectors"]
    assert c["l2_hit_sectors"] == c["l2_read_hit_sectors"] + c["l2_write_sectors"] + c.get("l2_atomic_sectors", 0) <= received
    assert c["fabric_sectors"] == c["fabric_read_sectors"] + c["fabric_write_sectors"]
    near = SECTOR * c["l2_read_miss_sectors"]
    assert c["l2_read_sectors"] <= c["l2_read_hit_sectors"] + c["l2_read_miss_sectors"], "a read hits or misses; a miss asks for a whole atom"
    assert SECTOR * c["fabric_read_sectors"] <= near, "only what the near half misses crosses"
    assert near - SECTOR * c["fabric_read_sectors"] <= c["dram_read_bytes"], "a near miss that stays on its side goes to DRAM"
    assert c["fabric_write_sectors"] <= c["l2_write_sectors"] + c.get("l2_atomic_sectors", 0)
    assert halves == 2


@FEW
@given(accesses())
def test_levels_pass_on_what_they_do_not_have(access: Access) -> None:
    _levels(access.run())


@pytest.mark.parametrize("access", STREAMS.values(), ids=STREAMS)
def test_levels_pass_on_what_they_do_not_have_beyond_l2(access: Access) -> None:
    _levels(access.run())


@FEW
@given(accesses())
def test_cold_data_are_read_once_in_atoms_and_at_least(access: Access) -> None:
    """What fits L2 is read once. Where a sector is written in part and evicted, it is read too; nothing is evicted here."""
    read = access.run().counters["dram_read_bytes"]
    assert SECTOR * access.read <= read <= ATOM * access.read


@FEW
@given(accesses())
def test_what_is_written_is_in_dram_or_dirty_in_l2(access: Access) -> None:
    c = access.run().counters
    assert c["dram_write_bytes"] + c["l2_dirty_bytes"] == SECTOR * access.written


@pytest.mark.parametrize("access", [s for s in STREAMS.values() if s.whole], ids=[n for n, s in STREAMS.items() if s.whole])
def test_streams_beyond_l2(access: Access) -> None:
    c, l2 = access.run().counters, h200().l2
    assert c["dram_read_bytes"] == pytest.approx(max(SECTOR, ATOM if access.step > 8 else 0) * access.read, rel=1e-3)
    assert c["dram_write_bytes"] + c["l2_dirty_bytes"] == SECTOR * access.written
    assert c["l2_dirty_bytes"] <= l2.capacity * l2.dirty_share + ATOM


@FEW
@given(accesses())
def test_foreign_dirty_lines_cost_writes_and_never_help(access: Access) -> None:
    cold, clean, dirty = (access.run(l2=l2) for l2 in ("cold", "foreign-clean", "foreign-dirty"))
    assert clean.counters == cold.counters and clean.cycles == cold.cycles, "clean lines of others leave for nothing"
    assert dirty.counters["dram_write_bytes"] >= cold.counters["dram_write_bytes"] + (1 if access.written else 0), "who only reads little displaces clean lines"
    assert dirty.counters["dram_write_bytes"] <= cold.counters["dram_write_bytes"] + h200().l2.capacity * h200().l2.dirty_share + SECTOR
    assert dirty.cycles >= cold.cycles
    changed = {name for name in cold.counters if dirty.counters.get(name) != cold.counters[name]}
    assert changed <= {"dram_write_bytes", "dram_bursts", "dram_row_hits", "dram_turnarounds"}


@FEW
@given(accesses())
def test_a_warm_l2_is_never_slower_and_reads_nothing_that_fits(access: Access) -> None:
    cold, warm = access.run(), access.run(l2="warm")
    assert warm.cycles <= 1.01 * cold.cycles, "what other SMs leave of L2 is an estimate, and depends on when this SM asks: good for 1 %"
    assert warm.counters["dram_read_bytes"] == 0
    for name in ("instructions", "l1_load_sectors", "l1_store_sectors", "l2_write_sectors"):
        assert warm.counters.get(name) == cold.counters.get(name)


@FEW
@given(accesses())
def test_nothing_beats_a_bound(access: Access) -> None:
    run, dram = access.run(), h200().dram
    assert max(run.bounds.values()) <= run.cycles * 1.001
    moved = run.counters["dram_read_bytes"] + run.counters["dram_write_bytes"]
    assert run.time_ps * 1e-12 * dram.bandwidth >= moved, "no more bytes a second than the pins carry"
    assert run.cycles >= h200().l2.hit_latency


@FEW
@given(accesses())
def test_the_same_launch_gives_the_same_run(access: Access) -> None:
    assert access.run().digest == access.run().digest
