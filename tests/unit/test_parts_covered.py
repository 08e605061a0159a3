"""Bytes written of each sector, four counts in a number, against plain Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.covered import WHOLE, add, put, short

COUNTS = st.lists(st.lists(st.integers(0, WHOLE), min_size=4, max_size=4), min_size=1, max_size=6)
MASKS = st.integers(0, 15)


def packed(rows: list[list[int]]) -> np.ndarray:
    return np.array([sum(n << 8 * i for i, n in enumerate(row)) for row in rows], np.uint32)


def unpacked(counts: np.ndarray) -> list[list[int]]:
    return [[int(c) >> 8 * i & 0xFF for i in range(4)] for c in counts]


@given(COUNTS, st.data())
def test_counts_of_a_mask_are_replaced(rows: list[list[int]], data: st.DataObject) -> None:
    masks = [data.draw(MASKS) for _ in rows]
    for value in (0, WHOLE):
        found = unpacked(put(packed(rows), np.array(masks, np.uint8), value))
        assert found == [[value if mask >> i & 1 else n for i, n in enumerate(row)] for row, mask in zip(rows, masks, strict=True)]


@given(COUNTS, st.data())
def test_bytes_add_up_to_a_whole_sector_and_no_more(rows: list[list[int]], data: st.DataObject) -> None:
    lines = np.cumsum([data.draw(st.integers(1, 3)) for _ in rows])
    more = {(n, i): data.draw(st.integers(1, 90)) for n in range(len(rows)) for i in range(4) if data.draw(st.booleans())}
    sectors = np.array([4 * lines[n] + i for n, i in more], np.int64)
    found = unpacked(add(packed(rows), lines, sectors, np.array(list(more.values()), np.int64)))
    assert found == [[min(WHOLE, count + more.get((n, i), 0)) for i, count in enumerate(row)] for n, row in enumerate(rows)]


@given(COUNTS)
def test_what_is_less_than_whole_is_short(rows: list[list[int]]) -> None:
    assert short(packed(rows)).tolist() == [sum((n < WHOLE) << i for i, n in enumerate(row)) for row in rows]
