"""What a product must count, whatever it costs: arithmetic, requests, bytes in and bytes out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.trace.run import Run
from tests.laws.cases import SHORTENED, Case, cases, few, spec_of
from tests.laws.closed import SECTOR, Gemm

FEW = few(30)
#: columns of the widest tile: rows of a wider matrix have no sector in common
WIDEST = 128
#: counters are rounded to whole numbers, and a tile is split between two halves
ROUNDED = 2


def _requests(case: Case, run: Run) -> None:
    p, c = case.product, run.counters
    assert run.ctas == p.ctas
    assert c["tensor_fma"] == (0 if p.dtype == "fp32" else p.fma)
    assert c["l1_load_sectors"] == p.load_sectors
    assert c["l1_store_sectors"] == p.store_sectors
    assert run.flops == 2 * p.m * p.n * p.k <= 2 * p.fma


@FEW
@given(st.one_of(cases(ld=("padded",)), cases(ld=("packed",), smallest=WIDEST + 1)))
def test_arithmetic_and_requests_have_a_closed_form(case: Case) -> None:
    _requests(case, case.run())


def test_a_matrix_narrower_than_its_tile() -> None:
    """B has 3 columns of a tile of 128: every row is 4 instructions, of which one loads, whatever the mask leaves of it."""
    _requests(*_narrow())


def _narrow() -> tuple[Case, Run]:
    case = Case("a100", Gemm(135, 3, 110, (64, 128, 32), "bf16", "packed"), stages=1)
    return case, case.run()


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_what_is_left_out_of_the_simulation_is_counted(case: Case) -> None:
    run = case.standard()
    assert run.extrapolated
    _requests(case, run)


def _levels(case: Case, run: Run) -> None:
    """What a level receives it has, or asks the next one for."""
    c, received = run.counters, run.counters["l2_read_sectors"] + run.counters["l2_write_sectors"]
    assert c["l1_load_sectors"] == c["merged_sectors"] + c["l2_read_sectors"]
    assert c["l1_store_sectors"] == c["l2_write_sectors"]
    assert c["l2_read_sectors"] * spec_of(case.gpu).chip.merge_requests >= c["l1_load_sectors"], "no more join than may"
    assert 0 <= c["l2_hit_sectors"] <= received
    missed = SECTOR * (received - c["l2_hit_sectors"])
    assert c["dram_read_bytes"] <= SECTOR * c["l2_read_sectors"] + ROUNDED
    assert missed <= c["dram_read_bytes"] + SECTOR * (c["fabric_sectors"] + ROUNDED), "a miss of the near half goes to DRAM or to the other half"
    assert c["dram_read_bytes"] <= missed + SECTOR * ROUNDED, "and nothing else reads DRAM"
    if spec_of(case.gpu).l2.halves == 1:
        assert c["fabric_sectors"] == 0


@FEW
@given(cases(ld=("padded",)))
def test_levels_pass_on_what_they_do_not_have(case: Case) -> None:
    _levels(case, case.run())


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_levels_pass_on_what_they_do_not_have_when_shortened(case: Case) -> None:
    _levels(case, case.standard())


@FEW
@given(cases())
def test_cold_operands_are_read_at_least_once(case: Case) -> None:
    assert case.run().counters["dram_read_bytes"] >= case.product.compulsory_bytes - ROUNDED


@FEW
@given(cases(ld=("padded",)))
def test_operands_that_fit_are_read_exactly_once(case: Case) -> None:
    assert case.run().counters["dram_read_bytes"] == pytest.approx(case.product.compulsory_bytes, abs=ROUNDED)


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_large_operands_are_read_at_least_once(case: Case) -> None:
    assert case.standard().counters["dram_read_bytes"] >= case.product.compulsory_bytes


@FEW
@given(cases(ld=("padded",)))
def test_the_result_is_in_dram_or_dirty_in_l2(case: Case) -> None:
    """Every byte of C is written once, so cold: written back + still dirty = C, neither more nor less."""
    cold, dirty = (case.run(l2=l2).counters for l2 in ("cold", "foreign-dirty"))
    result = case.product.c.bytes()
    assert cold["dram_write_bytes"] + cold["l2_dirty_bytes"] == pytest.approx(result, abs=ROUNDED)
    assert dirty["dram_write_bytes"] + dirty["l2_dirty_bytes"] >= result - ROUNDED


@pytest.mark.parametrize("case", SHORTENED.values(), ids=SHORTENED)
def test_a_large_result_is_in_dram_or_dirty_in_l2(case: Case) -> None:
    counters = case.standard().counters
    assert counters["dram_write_bytes"] + counters["l2_dirty_bytes"] == pytest.approx(case.product.c.bytes(), abs=ROUNDED)
    spec = spec_of(case.gpu)
    assert counters["l2_dirty_bytes"] <= spec.l2.capacity * spec.l2.dirty_share + ROUNDED


@few(15)
@given(cases(ld=("padded",)))
def test_what_does_not_depend_on_time(case: Case) -> None:
    """Requests never do, and where everything fits the L2 neither does DRAM. Merging and near hits may."""
    slow, fast = (case.run(clock_mhz=mhz).counters for mhz in (600.0, 2400.0))
    names = ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "shared_wavefronts", "l2_write_sectors", "dram_read_bytes", "l2_dirty_bytes")
    assert {name: slow[name] for name in names} == {name: fast[name] for name in names}
