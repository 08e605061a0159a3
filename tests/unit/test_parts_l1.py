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


def lost(l1: SectoredL1, *runs: tuple[int, int]) -> int:
    """Of the lines of the first run, how many are missing behind all. A run: (first line, how many)."""
    for first, count in runs:
        for line in range(first, first + count):
            l1.read((4 * line,))
    before = l1.misses
    for line in range(runs[0][0], sum(runs[0])):
        l1.read((4 * line,))
    return l1.misses - before


@pytest.mark.parametrize(
    ("shared_kib", "kib", "share"),
    [(1, 230, 0), (1, 256, 0.25), (1, 320, 1), (228, 20, 0), (228, 24, 0.275), (228, 32, 0.706), (228, 48, 1)],
)
def test_a_chase_misses_as_often_as_measured(shared_kib: int, kib: int, share: float) -> None:
    """Micro.json latency/staircase, share of misses by footprint with most and least L1."""
    assert chase(of(shared_kib * 1024), kib * 8) == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize(
    ("runs", "measured"),
    [
        (((0, 864), (0, 864), (864, 1728)), 1),
        (((0, 1080), (0, 1080), (1080, 1728)), 58),
        (((0, 1296), (0, 1296), (1296, 1728)), 279),
        (((0, 1728), (0, 1728), (1728, 1728)), 706),
        (((0, 864), (864, 1080)), 655),
        (((0, 1296), (1296, 648)), 955),
        (((0, 600), (600, 1200)), 126),
    ],
)
def test_lines_that_were_loaded_twice_are_kept_as_measured(runs: tuple[tuple[int, int], ...], measured: int) -> None:
    """tests/hardware/data/l1-replacement.md: lines of A that are gone behind B, of an L1 of 1728 lines."""
    first = runs[0][1]
    assert lost(of(31 * 1024), *runs) / first == pytest.approx(measured / first, abs=0.1)


@pytest.mark.parametrize(("shared_kib", "measured"), [(32, 1022), (64, 1016), (100, 858), (132, 600), (164, 365), (196, 105), (228, 0)])
def test_so_many_lines_are_protected_at_each_carve_out(shared_kib: int, measured: int) -> None:
    assert of((shared_kib - 1) * 1024).protected == pytest.approx(measured, abs=16)


def test_more_shared_memory_never_leaves_more_l1() -> None:
    lines = [geometry(h200(), capacity(h200(), kib * 1024)).lines for kib in range(256)]
    assert lines == sorted(lines, reverse=True) and lines[1] > 1900 and lines[-1] == 0
    assert carved(9 * 1024, (8192, 16384)) == 16384 and carved(9 * 1024, ()) == 9 * 1024


def test_a_split_that_is_just_large_enough_is_not_chosen() -> None:
    """Eight CTAs of 256 threads have 216 KiB of L1, four of 512 threads 240 (micro.json bandwidth/l1_read); but the largest split may be filled."""
    assert carved(8192, (8192, 32768)) == 32768 == carved(32768, (8192, 32768))
    assert (capacity(h200(), 4 * 1024) - capacity(h200(), 8 * 1024)) == 24 * 1024


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


def choices(line: int, sets: int) -> tuple[int, int]:
    """The two sets in which a line may lie."""
    group, first = divmod(line, sets)
    return first, (first + (group * 0x9E3779B97F4A7C15 % 2**64 >> 33)) % sets


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 8), st.lists(st.tuples(st.booleans(), st.integers(0, 80)), max_size=120))
def test_each_set_loses_its_oldest_line_that_is_not_protected(sets: int, ways: int, protected: int, steps: list[tuple[bool, int]]) -> None:
    """Against a table of the lines that are there: (set, time of the last touch, sectors)."""
    l1 = SectoredL1(sets * ways, ways, protected)
    model: dict[int, tuple[int, int, set[int]]] = {}
    kept: list[int] = []
    for now, (writes, sector) in enumerate(steps):
        line = sector >> 2
        here = line in model
        valid = model[line][2] if here else set()
        if writes:
            assert l1.write((sector,)) == here
        else:
            assert l1.read((sector,)) == ([] if sector in valid else [sector])
        if here:
            kept = [x for x in kept if x != line] + [line]
            kept = kept[max(0, len(kept) - protected) :]
        else:
            choice = choices(line, sets)
            place = next((k for k in choice if sum(row[0] == k for row in model.values()) < ways), None)
            if place is None:
                victim = min((x for x, row in model.items() if row[0] in choice), key=lambda x: (x in kept, model[x][1]))
                place = model.pop(victim)[0]
                kept = [x for x in kept if x != victim]
            model[line] = (place, now, set())
        model[line] = (model[line][0], now, valid | {sector})
