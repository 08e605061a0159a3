"""The L1: sets and ways, what a chase misses by footprint, writes that take lines, how much shared memory leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.l1 import SectoredL1, capacity, carved, geometry
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve


def h200() -> Machine:
    return resolve(load_spec("h200-sxm"), 1980.0)


def chase(l1: SectoredL1, lines: int) -> float:
    """Share of misses of a pass over `lines` lines in a row, after two others."""
    for _ in range(2):
        for line in range(lines):
            l1.read((4 * line,))
    before = l1.misses
    for line in range(lines):
        l1.read((4 * line,))
    return (l1.misses - before) / lines


def of(shared: int) -> SectoredL1:
    return SectoredL1.of(h200(), capacity(h200(), shared))


@pytest.mark.parametrize(("kib", "capacity", "ways"), [(1, 240.75, 3), (32, 216.75, 3), (100, 148.75, 2), (164, 84.75, 1), (228, 20.75, 1)])
def test_a_chase_misses_all_lines_of_the_sets_that_overflow(kib: int, capacity: float, ways: int) -> None:
    """(ways + 1) (F - C)/F, until every set overflows."""
    for share in (0.9, 1.05, 1.2, 2.2):
        lines = int(capacity * 8 * share)
        expected = min(1.0, max(0.0, (ways + 1) * (lines / 8 - capacity) / (lines / 8)))
        assert chase(of(kib * 1024), lines) == pytest.approx(expected, abs=0.02)


def test_more_shared_memory_never_leaves_more_l1() -> None:
    lines = [geometry(h200(), capacity(h200(), kib * 1024)).lines for kib in range(256)]
    assert lines == sorted(lines, reverse=True) and lines[1] > 1900 and lines[-1] == 0
    assert carved(9 * 1024, (8192, 16384)) == 16384 and carved(9 * 1024, ()) == 9 * 1024


def test_a_write_takes_the_line_and_seven_of_eight_that_fill_it_hit() -> None:
    l1 = SectoredL1(8, 2)
    for line in range(100, 108):
        for piece in range(8):
            l1.write((4 * line + piece // 2,), whole=False)
    assert (l1.write_hits, l1.write_misses) == (56, 8)
    assert l1.read((4 * 107,)) == [4 * 107]
    l1.write((4 * 107 + 1,))
    assert l1.read((4 * 107, 4 * 107 + 1)) == []


def test_what_an_atomic_changed_is_read_anew_and_its_line_stays() -> None:
    l1 = SectoredL1(4, 2)
    l1.read((0, 1))
    l1.drop((1, 99))
    assert l1.read((0, 1)) == [1]
    l1.clear()
    assert l1.read((0, 1)) == [0, 1]


def test_without_lines_nothing_is_kept() -> None:
    l1 = SectoredL1(0)
    assert l1.read((3,)) == l1.read((3,)) == [3]
    assert l1.write((3,)) == 0
    l1.drop((3,))


@given(st.integers(1, 5), st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 80)), max_size=120))
def test_each_set_is_a_list_in_order_of_use(sets: int, ways: int, steps: list[tuple[bool, int]]) -> None:
    """Against a list of lines per set, the one used last at its end, with the sectors that are there."""
    l1 = SectoredL1(sets * ways, ways)
    model: list[list[tuple[int, set[int]]]] = [[] for _ in range(sets)]
    for writes, sector in steps:
        line = sector >> 2
        here = model[line % sets]
        old = next((row for row in here if row[0] == line), None)
        valid = set() if old is None else old[1]
        if writes:
            assert l1.write((sector,)) == (old is not None)
        else:
            assert l1.read((sector,)) == ([] if sector in valid else [sector])
        here[:] = [row for row in here if row is not old] + [(line, valid | {sector})]
        del here[: max(0, len(here) - ways)]
