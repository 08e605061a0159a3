"""Entries of a table: flags that belong to the caller, and tables that share entries."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.lru import Lru

LINES = st.sets(st.integers(0, 9), min_size=1)


def used(table: Lru, lines: list[int], flags: int) -> None:
    at = np.array(lines)
    here, _, entries = table.look(at)
    table.put(at, here, entries, np.full(len(at), flags, np.uint8))


@given(st.lists(st.tuples(LINES, st.integers(0, 15)), min_size=1, max_size=20), st.integers(1, 10))
def test_flags_are_those_of_the_last_use_while_a_line_is_held(steps: list[tuple[set[int], int]], capacity: int) -> None:
    table, last = Lru(10, capacity), dict.fromkeys(range(10), 0)
    for lines, flags in steps:
        used(table, sorted(lines), flags)
        last |= dict.fromkeys(lines, flags)
    here, found, _ = table.look(np.arange(10))
    assert found.tolist() == [last[line] if held else 0 for line, held in enumerate(here.tolist())]
    assert table.held == np.count_nonzero(here)


def test_other_flags_are_no_use() -> None:
    table = Lru(4, 2)
    used(table, [0], 1)
    used(table, [1], 2)
    _, _, entries = table.look(np.array([0]))
    table.flag(np.array([0]), entries, np.array([8], np.uint8))
    assert table.look(np.array([0, 1]))[1].tolist() == [8, 2]
    used(table, [2], 4)
    assert table.holds(np.arange(4)).tolist() == [False, True, True, False]


def test_tables_that_share_entries_count_their_own_lines() -> None:
    entries = np.zeros(8, np.int32)
    even, odd = Lru(8, 1, entries), Lru(8, 4, entries)
    for line in (0, 2):
        even.use(np.array([line]))
    odd.use(np.array([1, 3]))
    assert even.holds(np.array([0, 2])).tolist() == [False, True]
    assert odd.holds(np.array([1, 3])).all()
    assert (even.held, odd.held) == (1, 2)


@given(st.lists(st.integers(0, 99), min_size=1, max_size=200))
def test_many_small_steps_are_counted_like_few_large_ones(lines: list[int]) -> None:
    """Lines that come back one at a time, of steps long ago: as many are held as differ."""
    table = Lru(100, 100)
    for line in lines:
        table.use(np.array([line]))
    assert table.held == len(set(lines)) == int(table.count[: table.now + 1].sum())
