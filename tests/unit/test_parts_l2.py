"""One half of the L2: order of replacement, capacity, what is written back and when, and that no byte is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.l2 import Half


def _filled(capacity: float = 100.0, dirty_limit: float = 100.0, foreign: float = 0.0, **cells: float) -> Half:
    half = Half(capacity, dirty_limit, foreign)
    for key, nbytes in cells.items():
        half.put(key, nbytes, 0.0)
    return half


def test_the_least_recently_used_cell_leaves() -> None:
    half = _filled(a=40, b=40)
    half.put("c", 40, 0.0)
    assert list(half.cells) == ["b", "c"]


def test_finding_a_cell_makes_it_recent() -> None:
    half = _filled(a=40, b=40)
    assert half.find("a") is not None
    half.put("c", 40, 0.0)
    assert list(half.cells) == ["a", "c"]


def test_what_is_not_here_is_not_found() -> None:
    assert _filled(a=40).find("b") is None


def test_a_cell_remembers_when_its_data_arrive() -> None:
    half = _filled()
    half.put("a", 10, 123.0)
    cell = half.find("a")
    assert cell is not None
    assert (cell.bytes, cell.ready, cell.dirty) == (10, 123.0, 0.0)


def test_a_cell_that_fills_the_rest_evicts_nothing() -> None:
    half = _filled(a=40, b=40)
    half.put("c", 20, 0.0)
    assert list(half.cells) == ["a", "b", "c"]
    assert half.used == 100


def test_a_cell_larger_than_the_half_leaves_it_empty() -> None:
    half = _filled(a=40)
    half.put("b", 101, 0.0)
    assert (half.used, len(half.cells)) == (0, 0)


def test_evicting_clean_cells_writes_nothing() -> None:
    half = _filled(a=60)
    assert half.put("b", 60, 0.0) == 0.0


def test_evicting_a_dirty_cell_writes_it_once() -> None:
    half = Half(100.0, 100.0)
    assert half.put("a", 60, 0.0, dirty=True) == 0.0
    assert half.put("b", 60, 0.0) == 60
    assert half.put("a", 60, 0.0) == 0.0
    assert half.dirty == 0.0


def test_beyond_the_limit_the_oldest_dirty_cells_are_cleaned_and_stay() -> None:
    half = Half(1000.0, 100.0)
    assert [half.put(key, 40, 0.0, dirty=True) for key in "abc"] == [0.0, 0.0, 40]
    assert [half.cells[key].dirty for key in "abc"] == [0.0, 40, 40]
    assert half.used == 120
    assert half.dirty == 80


def test_reading_a_dirty_cell_does_not_save_it_from_cleaning() -> None:
    """Cleaning goes by the age of the write, replacement by the last use."""
    half = Half(1000.0, 80.0)
    half.put("a", 40, 0.0, dirty=True)
    half.put("b", 40, 0.0, dirty=True)
    half.find("a")
    assert half.put("c", 40, 0.0, dirty=True) == 40
    assert half.cells["a"].dirty == 0.0


def test_writing_a_cell_again_replaces_its_bytes() -> None:
    half = Half(100.0, 100.0)
    half.put("a", 30, 0.0, dirty=True)
    assert half.put("a", 50, 0.0, dirty=True) == 0.0
    assert (half.used, half.dirty) == (50, 50)


def test_foreign_dirty_bytes_leave_in_step_with_what_is_allocated() -> None:
    half = Half(100.0, 50.0, foreign=40.0)
    assert half.put("a", 25, 0.0) == pytest.approx(10.0)
    assert half.put("b", 50, 0.0) == pytest.approx(20.0)
    assert half.foreign == pytest.approx(10.0)


def test_foreign_dirty_bytes_are_gone_when_the_half_was_filled_once() -> None:
    half = Half(100.0, 50.0, foreign=40.0)
    written = [half.put(i, 10, 0.0) for i in range(20)]
    assert sum(written[:10]) == pytest.approx(40.0)
    assert sum(written[10:]) == pytest.approx(0.0, abs=1e-9)
    assert half.foreign == pytest.approx(0.0, abs=1e-9)


def test_foreign_dirty_bytes_leave_before_the_kernels_own() -> None:
    half = Half(100.0, 100.0, foreign=50.0)
    written = [half.put(i, 10, 0.0, dirty=True) for i in range(10)]
    assert written == pytest.approx([5.0] * 10)
    assert half.dirty == 100


def test_the_oldest_foreign_lines_leave_when_no_place_is_empty() -> None:
    half = Half(100.0, 100.0, oldest=20.0)
    assert [half.put(i, 30, 0.0) for i in range(2)] == [0.0, 0.0]
    assert half.put(2, 30, 0.0) == 10.0
    assert half.put(3, 30, 0.0) == 10.0
    assert half.put(4, 30, 0.0, dirty=True) == 0.0


class _Plain:
    """The same half, thought of as a list: (key, bytes, dirty) from the least to the most recently used."""

    def __init__(self, capacity: int, limit: int) -> None:
        self.capacity, self.limit = capacity, limit
        self.cells: list[tuple[int, int, bool]] = []
        self.writes: list[int] = []

    def put(self, key: int, nbytes: int, dirty: bool) -> int:
        self.cells = [c for c in self.cells if c[0] != key] + [(key, nbytes, dirty)]
        self.writes = [k for k in self.writes if k != key] + ([key] if dirty else [])
        back = 0
        while dirty and self.dirty() > self.limit:
            oldest = self.writes.pop(0)
            back += next(size for k, size, _ in self.cells if k == oldest)
            self.cells = [(k, size, d and k != oldest) for k, size, d in self.cells]
        while sum(size for _, size, _ in self.cells) > self.capacity:
            gone, size, was_dirty = self.cells.pop(0)
            back += size if was_dirty else 0
            self.writes = [k for k in self.writes if k != gone]
        return back

    def dirty(self) -> int:
        return sum(size for _, size, d in self.cells if d)


#: (key, bytes, written?); a key is always written or never, as tensors are
PUTS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 40)), max_size=60)


@given(PUTS, st.integers(20, 120), st.integers(0, 100))
def test_against_a_list(puts: list[tuple[int, int]], capacity: int, limit: int) -> None:
    half, plain = Half(capacity, limit), _Plain(capacity, limit)
    for key, nbytes in puts:
        dirty = key % 3 == 0
        assert half.put(key, nbytes, 0.0, dirty) == plain.put(key, nbytes, dirty)
        assert [(k, c.bytes, c.dirty > 0) for k, c in half.cells.items()] == plain.cells
        assert half.used == sum(c.bytes for c in half.cells.values()) <= capacity
        assert half.dirty == plain.dirty() <= max(limit, 0)


@given(st.lists(st.tuples(st.integers(1, 40), st.booleans()), max_size=60), st.integers(20, 120), st.integers(0, 100), st.integers(0, 100))
def test_bytes_written_are_kept_or_were_sent_to_dram(puts: list[tuple[int, bool]], capacity: int, limit: int, percent: int) -> None:
    """Every cell once: dirty bytes put + foreign ones = written back + still dirty + still foreign."""
    foreign = capacity * percent / 100
    half, back, put = Half(capacity, limit, foreign), 0.0, 0
    for key, (nbytes, dirty) in enumerate(puts):
        back += half.put(key, nbytes, 0.0, dirty)
        put += nbytes * dirty
    assert put + foreign == pytest.approx(back + half.dirty + half.foreign)
    assert half.foreign >= 0.0
    assert half.dirty <= limit
