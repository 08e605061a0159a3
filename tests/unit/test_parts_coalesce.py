"""The coalescer against a count lane by lane."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.parts.coalesce import Touched, touch

SECTOR, LINE, LANES = 32, 128, 32


def lane_by_lane(offset: int, rows: int, row_bytes: int, pitch: int, piece: int) -> Touched:
    """Lanes in the layout of the whole tile, whose rows are the next power of two wide: lanes beyond `row_bytes` are masked off."""
    width = piece
    while width < row_bytes:
        width *= 2
    per_row = width // piece
    instructions: dict[int, set[int]] = {}
    everything: set[int] = set()
    for lane in range(rows * per_row):
        row, column = divmod(lane, per_row)
        if column * piece < row_bytes:
            first = offset + row * pitch + column * piece
            touched = range(first, first + min(piece, row_bytes - column * piece))
            instructions.setdefault(lane // LANES, set()).update(touched)
            everything.update(touched)
    sectors = sum(len({byte // SECTOR for byte in touched}) for touched in instructions.values())
    lines = sum(len({byte // LINE for byte in touched}) for touched in instructions.values())
    return Touched(sectors, lines, len({byte // SECTOR for byte in everything}) * SECTOR, len(instructions))


@given(
    piece=st.sampled_from([2, 4, 8, 16]),
    start=st.integers(0, 63),
    rows=st.integers(1, 24),
    pieces=st.integers(1, 130),
    gap=st.integers(0, 200),
)
def test_against_lanes(piece: int, start: int, rows: int, pieces: int, gap: int) -> None:
    """Any offset, width and pitch at which rows have no line in common, as rows of a tile that is cut out of a matrix have not."""
    offset, row_bytes = start * piece % LINE, pieces * piece
    pitch = row_bytes + LINE + gap * piece
    made, counted = touch(offset, rows, row_bytes, pitch, piece, SECTOR, LINE), lane_by_lane(offset, rows, row_bytes, pitch, piece)
    assert (made.sectors, made.lines, made.unique) == (counted.sectors, counted.lines, counted.unique)


@given(piece=st.sampled_from([2, 4, 16]), rows=st.integers(1, 64), power=st.integers(0, 5))
def test_instructions_of_a_whole_tile(piece: int, rows: int, power: int) -> None:
    row_bytes = piece << power
    counted = lane_by_lane(0, rows, row_bytes, 4096, piece)
    assert touch(0, rows, row_bytes, 4096, piece, SECTOR, LINE).instructions == counted.instructions


@pytest.mark.parametrize(
    ("offset", "rows", "row_bytes", "pitch", "piece", "expected"),
    [
        (0, 64, 128, 8192, 16, Touched(256, 64, 8192, 16)),
        (0, 64, 512, 8192, 16, Touched(1024, 256, 32768, 64)),
        (0, 1, 64, 8192, 2, Touched(2, 1, 64, 1)),
        (2, 1, 64, 8192, 2, Touched(3, 1, 96, 1)),
        (96, 1, 64, 8192, 2, Touched(2, 2, 64, 1)),
        (2, 1, 128, 8192, 2, Touched(6, 3, 160, 2)),
    ],
    ids=["whole lines", "rows of four lines", "narrow", "narrow and shifted", "across a line", "two narrow instructions share a sector"],
)
def test_counted_by_hand(offset: int, rows: int, row_bytes: int, pitch: int, piece: int, expected: Touched) -> None:
    assert touch(offset, rows, row_bytes, pitch, piece, SECTOR, LINE) == expected


@pytest.mark.parametrize(("rows", "row_bytes"), [(0, 128), (-3, 128), (4, 0), (4, -2)])
def test_a_tile_outside_touches_nothing(rows: int, row_bytes: int) -> None:
    assert touch(0, rows, row_bytes, 4096, 16, SECTOR, LINE) == Touched(0, 0, 0, 0)


def test_rows_that_share_a_sector() -> None:
    """17 columns of fp16, packed: 64 rows are 2176 bytes in a row, not 64 rows of two or three sectors."""
    assert touch(0, 64, 34, 34, 2, SECTOR, LINE).unique == lane_by_lane(0, 64, 34, 34, 2).unique == 2176


def test_misalignment_never_touches_less() -> None:
    whole = touch(0, 16, 256, 4096, 2, SECTOR, LINE)
    for offset in range(2, LINE, 2):
        shifted = touch(offset, 16, 256, 4096, 2, SECTOR, LINE)
        assert shifted.sectors >= whole.sectors
        assert shifted.unique >= whole.unique
