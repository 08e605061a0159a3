"""Boxes of many blocks gathered and scattered at once do what plain slicing does, one block after the other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.interp.memory import Memory
from gpusim.ir.expr import Const
from gpusim.ir.ops import Box
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DTYPES

SHAPE = (7, 9)
VALUES = np.arange(63, dtype=np.float32).reshape(SHAPE)


def memory(role: str = "in", bound: int = 0) -> Memory:
    program = Program("p", (Tensor("x", DTYPES["fp32"], SHAPE, 12, role, bound),), (8,), (), 1)
    return Memory(program, {} if role == "out" else {"x": VALUES})


def box(shape: tuple[int, int], masked: bool) -> Box:
    return Box("x", (Const(0), Const(0)), shape, masked)


@st.composite
def places(draw: Any) -> tuple[tuple[int, int], list[Any], int]:
    """A box, its origins (a number or an array per axis), and how many blocks."""
    count = draw(st.integers(1, 6))
    starts = st.one_of(st.integers(-6, 12), st.lists(st.integers(-6, 12), min_size=count, max_size=count).map(np.array))
    return (draw(st.integers(1, 8)), draw(st.integers(1, 12))), [draw(starts), draw(starts)], count


def at(origin: list[Any], n: int) -> list[int]:
    return [int(o[n]) if isinstance(o, np.ndarray) else o for o in origin]


@given(places(), st.sampled_from([-1.0, -np.inf]))
@settings(max_examples=300, deadline=None)
def test_masked_loads(place: Any, other: float) -> None:
    shape, origin, count = place
    got = memory().load(box(shape, True), origin, np.arange(count), other)
    assert got.shape == (count, *shape)
    for n in range(count):
        row, column = at(origin, n)
        for i, j in np.ndindex(*shape):
            inside = 0 <= row + i < 7 and 0 <= column + j < 9
            assert got[n, i, j] == (VALUES[row + i, column + j] if inside else other)


@given(places())
@settings(max_examples=300, deadline=None)
def test_masked_stores_write_what_is_inside_and_nothing_else(place: Any) -> None:
    shape, origin, count = place
    tiles = 100 + np.arange(count * shape[0] * shape[1], dtype=np.float32).reshape(count, *shape)
    memory_ = memory("inout")
    memory_.store(box(shape, True), origin, np.arange(count), tiles)
    allowed: list[list[set[float]]] = [[{float(v)} for v in row] for row in VALUES]
    touched = np.zeros(SHAPE, bool)
    for n in range(count):
        row, column = at(origin, n)
        for i, j in np.ndindex(*shape):
            if 0 <= row + i < 7 and 0 <= column + j < 9:
                cell = allowed[row + i][column + j]
                # Where boxes overlap, any of the blocks may be the last.
                allowed[row + i][column + j] = {float(tiles[n, i, j])} | (cell if touched[row + i, column + j] else set())
                touched[row + i, column + j] = True
    got = memory_.outputs()["x"]
    assert all(got[i, j] in allowed[i][j] for i, j in np.ndindex(*SHAPE))


def test_a_box_that_all_blocks_read_is_no_window_into_memory_that_changes() -> None:
    held = memory("inout")
    tiles = held.load(box((2, 2), False), [0, 0], np.arange(3))
    held.store(box((2, 2), False), [0, 0], np.arange(1), np.full((1, 2, 2), 99, np.float32))
    assert tiles.tolist() == [[[0, 1], [9, 10]]] * 3


def test_the_last_block_wins_where_all_write_one_box() -> None:
    held = memory("inout")
    held.store(box((1, 2), False), [2, 3], np.arange(3), np.array([[[1, 2]], [[3, 4]], [[5, 6]]], np.float32))
    assert held.outputs()["x"][2].tolist() == [18, 19, 20, 5, 6, 23, 24, 25, 26]


def test_an_unmasked_box_outside_is_told_with_block_tensor_and_index() -> None:
    for access in (lambda m, o, b: m.load(box((3, 3), False), o, b), lambda m, o, b: m.store(box((3, 3), False), o, b, np.zeros((2, 3, 3)))):
        with pytest.raises(GpusimError, match="block 9 touches index 9 of dimension 1 of 'x', which has 9"):
            access(memory("inout"), [0, np.array([6, 7])], np.array([8, 9]))
        with pytest.raises(GpusimError, match="block 8 touches index -1 of dimension 0 of 'x'"):
            access(memory("inout"), [np.array([-1, 0]), 0], np.array([8, 9]))


def test_padding_reads_as_zero_up_to_the_bound() -> None:
    got = memory(bound=11).load(box((1, 4), True), [np.array([6]), 8], np.arange(1), -1.0)
    assert got.tolist() == [[[62, 0, 0, -1]]]


def test_what_is_stored_in_the_padding_is_cut_off() -> None:
    held = memory("inout", bound=11)
    held.store(box((1, 4), True), [0, 8], np.arange(1), np.array([[[5, 6, 7, 8]]], np.float32))
    got = held.outputs()["x"]
    assert got.shape == SHAPE and got[0, 8] == 5 and (got[1:] == VALUES[1:]).all()


def test_a_read_of_what_nothing_wrote_is_told() -> None:
    held = memory("out")
    held.store(box((7, 8), False), [0, 0], np.arange(1), np.ones((1, 7, 8), np.float32))
    assert held.load(box((7, 8), False), [0, 0], np.arange(2)).sum() == 2 * 56
    with pytest.raises(GpusimError, match=r"block 5 reads 'x' at \[3, 8\], which nothing has written"):
        held.load(box((2, 2), False), [np.array([0, 3]), np.array([0, 7])], np.array([4, 5]))
    with pytest.raises(GpusimError, match=r"block 1 reads 'x' at \[6, 8\], which nothing has written"):
        held.load(box((2, 2), True), [np.array([0, 6]), np.array([-3, 7])], np.arange(2))


def test_an_output_that_is_not_written_in_full_is_told() -> None:
    held = memory("out")
    with pytest.raises(GpusimError, match=r"nothing wrote 63 of 63 elements of 'x', the first at \[0, 0\]"):
        held.outputs()
    held.store(box((7, 8), False), [0, 0], np.arange(1), np.ones((1, 7, 8), np.float32))
    with pytest.raises(GpusimError, match=r"nothing wrote 7 of 63 elements of 'x', the first at \[0, 8\]"):
        held.outputs()
