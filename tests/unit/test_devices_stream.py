"""Accesses reduced to affine keys and extents, against boxes evaluated one by one; and the steps that a stream keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.devices.stream import Placed, Stream
from gpusim.ir.expr import evaluate
from gpusim.launch.streaming import kept, stream
from gpusim.launch.tally import grid_env
from gpusim.parts.coalesce import touch
from tests.laws.specs import toy, toy_machine
from tests.unit.lowering import lowered

MACHINE = toy_machine()


def _stream(*sizes: int, **options: Any) -> Stream:
    return stream(lowered(toy(), *sizes, **options))


def _places(made: Stream) -> list[tuple[Placed, int, dict[str, int]]]:
    """(place, site, names of the block) of every site of every CTA."""
    return [(Placed(site, made.env(cta), made.var, MACHINE), i, made.env(cta)) for cta in range(made.ctas) for i, site in enumerate(made.sites)]


SIZES = st.integers(1, 200)


@settings(max_examples=15, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(["padded", "packed"]), st.sampled_from([(32, 64, 32), (16, 32, 64)]))
def test_the_extent_of_every_step_is_that_of_its_clipped_box(m: int, n: int, k: int, ld: str, tile: tuple[int, int, int]) -> None:
    made = _stream(m, n, k, tile=tile, ld=ld, dtype="fp16")
    for placed, number, env in _places(made):
        site, t = made.sites[number], made.sites[number].tensor
        for step in range(made.trips):
            row, column = (int(evaluate(o, env | {made.var: step})) for o in site.box.origin)
            height, width = site.box.shape
            rows, columns = min(height, t.shape[0] - row), min(width, t.row_bound - column)
            offset = (row * t.pitch + column) * 2 % MACHINE.line
            whole = (height, width * 2)
            expected = touch(offset, max(rows, 0), max(columns, 0) * 2, t.pitch * 2, site.piece, MACHINE.sector, MACHINE.line, whole)
            assert placed.touched(step) == expected


@settings(max_examples=15, deadline=None)
@given(SIZES, SIZES, SIZES, st.integers(1, 4))
def test_keys_are_equal_exactly_where_tiles_are(m: int, n: int, k: int, group_m: int) -> None:
    made = _stream(m, n, k, tile=(32, 64, 32), group_m=group_m)
    found: dict[int, tuple[str, int, int]] = {}
    for placed, number, env in _places(made):
        site = made.sites[number]
        for step in range(made.trips):
            row, column = (int(evaluate(o, env | {made.var: step})) for o in site.box.origin)
            what = (site.tensor.name, row, column)
            assert found.setdefault(placed.key + step * placed.stride, what) == what
    assert len(set(found.values())) == len(found), "one key a tile"


@pytest.mark.parametrize("group_m", [1, 3, 8])
def test_names_of_one_block_are_those_of_the_whole_grid(group_m: int) -> None:
    made = _stream(300, 500, 64, tile=(32, 64, 32), group_m=group_m)
    everywhere = grid_env(made)
    for cta in range(made.ctas):
        assert made.env(cta) == {name: int(np.broadcast_to(values, (made.ctas,))[cta]) for name, values in everywhere.items()}


def test_blocks_cover_every_output_tile_once() -> None:
    made = _stream(300, 500, 64, tile=(32, 64, 32), group_m=3)
    tiles = sorted((env["pm"], env["pn"]) for env in map(made.env, range(made.ctas)))
    assert tiles == [(i, j) for i in range(10) for j in range(8)]


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_steps_that_are_kept_are_the_first_and_the_last(trips: int, keep: int) -> None:
    steps = kept(trips, keep)
    assert len(steps) == min(trips, keep)
    assert list(steps) == sorted(set(steps))
    assert steps[0] == 0
    assert keep == 1 or steps[-1] == trips - 1
    jumps = [b - a for a, b in zip(steps, steps[1:], strict=False) if b - a > 1]
    assert len(jumps) <= 1, "what is left out lies in one piece"


def test_a_stream_keeps_all_steps_unless_told() -> None:
    made = _stream(64, 64, 640, tile=(32, 64, 32))
    assert made.steps == tuple(range(20))
    assert stream(lowered(toy(), 64, 64, 640, tile=(32, 64, 32)), 8).steps == (0, 1, 2, 3, 16, 17, 18, 19)


def test_the_window_lies_in_the_steady_middle() -> None:
    opens, closes = _stream(64, 64, 640, tile=(32, 64, 32)).window
    assert 0 < opens < closes < 19


def test_copies_of_one_box_are_one_site() -> None:
    made = _stream(64, 64, 640, tile=(32, 64, 32))
    assert [site.tensor.name for site in made.sites] == ["a", "b", "c"]
    used = {site for effects in (made.prologue, made.body, made.epilogue) for _, site in effects}
    assert used == {-1, 0, 1, 2}
