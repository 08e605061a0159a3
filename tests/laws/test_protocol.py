"""What the protocol of a run adds, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from gpusim.spec.resolve import resolve
from tests.laws.cases import SHORTENED, Case, cases, few, spec_of
from tests.laws.specs import changed

FEW = few(20)
#: how much scheduling may gain from being disturbed: requests that wait longer are joined by more others
ANOMALY = 0.02


@FEW
@given(cases())
def test_launch_overhead_is_added_and_changes_nothing_else(case: Case) -> None:
    out, with_it = case.run(launch="out"), case.run(launch="in")
    overhead = resolve(spec_of(case.gpu), out.protocol.clock_mhz).launch_overhead
    assert overhead > 0
    assert with_it.cycles - out.cycles == pytest.approx(overhead)
    assert replace(with_it, cycles=out.cycles, time_ps=out.time_ps, protocol=out.protocol, digest=out.digest, load=out.load) == out
    assert with_it.load and out.load and with_it.load.energy == out.load.energy


@FEW
@given(cases())
def test_the_start_of_a_launch_is_added_and_changes_nothing_else(case: Case) -> None:
    spec = spec_of(case.gpu)
    once, twice = case.run(spec), case.run(changed(spec, launch__start=2 * spec.launch.start))
    assert twice.cycles - once.cycles == pytest.approx(resolve(spec, once.protocol.clock_mhz).launch_start)
    assert twice.counters == once.counters


@FEW
@given(cases())
def test_dirty_lines_of_another_kernel_cost_writes_and_never_help(case: Case) -> None:
    cold, dirty = case.run(l2="cold"), case.run(l2="foreign-dirty")
    assert dirty.counters["dram_write_bytes"] > cold.counters["dram_write_bytes"]
    assert dirty.cycles >= cold.cycles * (1 - ANOMALY)
    assert dirty.counters["dram_read_bytes"] == pytest.approx(cold.counters["dram_read_bytes"], rel=0.05)
    for name in ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "l2_write_sectors"):
        assert dirty.counters[name] == cold.counters[name]


@FEW
@given(cases(ld=("padded",)))
def test_no_more_foreign_lines_are_written_than_there_were(case: Case) -> None:
    spec = spec_of(case.gpu)
    written = case.run(l2="foreign-dirty").counters["dram_write_bytes"]
    assert written <= spec.l2.capacity * spec.l2.dirty_share + case.product.c.bytes() + 2


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_a_launch_that_allocates_all_of_l2_writes_all_foreign_lines_back(case: Case) -> None:
    spec = spec_of(case.gpu)
    cold, dirty = case.standard(), case.standard(l2="foreign-dirty")
    foreign = spec.l2.capacity * spec.l2.dirty_share
    assert dirty.counters["dram_write_bytes"] - cold.counters["dram_write_bytes"] == pytest.approx(foreign, rel=1e-6)
    assert dirty.counters["l2_dirty_bytes"] == cold.counters["l2_dirty_bytes"], "what is dirty at the end is the kernel's own"
    assert dirty.cycles >= cold.cycles * (1 - ANOMALY)


@FEW
@given(cases())
def test_the_same_input_gives_the_same_run_bit_for_bit(case: Case) -> None:
    assert case.run() == case.run()


@FEW
@given(cases(), cases())
def test_different_inputs_have_different_digests(one: Case, other: Case) -> None:
    same = one.gpu == other.gpu and repr(one.program) == repr(other.program)
    assert (one.run().digest == other.run().digest) == same
