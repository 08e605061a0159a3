"""`parts.sectored_l2`, line by line, against the plain reference."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.parts.lru import Lru
from gpusim.parts.sectored_l2 import SectoredL2
from tests.oracle.l2_reference import Reference

SPAN = 24
OPS = st.lists(st.tuples(st.booleans(), st.integers(0, 1), st.integers(0, SPAN - 1), st.integers(1, 15)), min_size=1, max_size=120)


def _one(line: int, mask: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([line]), np.array([mask], np.uint8)


@settings(max_examples=150, deadline=None)
@given(OPS, st.integers(1, 2), st.integers(2, 12), st.integers(1, 12), st.booleans())
def test_every_access_finds_what_the_reference_finds(ops: list[tuple[bool, int, int, int]], halves: int, lines: int, dirty: int, small: bool) -> None:
    """Either the capacity binds, or the share that may be dirty: where both do, ours counts lines that have left for dirty ones a little longer."""
    lines, dirty = (lines, SPAN) if small else (SPAN, dirty)
    ours = SectoredL2(SPAN, halves, lines, dirty, 2)
    homes = ours.home(np.arange(SPAN)).tolist()
    theirs = Reference(halves, lines, dirty, lambda line: homes[line])
    for writes, half, line, mask in ops:
        half %= halves
        if writes:
            ours.write(half, *_one(line, mask))
            theirs.write(half, line, mask)
        else:
            found = ours.read(half, *_one(line, mask))
            assert (int(found.near[0]), int(found.far[0]), int(found.dram[0])) == theirs.read(half, line, mask)
    back, left = ours.written()
    assert back.sectors == theirs.written
    assert left.sectors == theirs.dirty


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sets(st.integers(0, 39), min_size=1), min_size=1, max_size=40), st.integers(1, 40))
def test_lru_by_steps_never_holds_more_than_fits_and_drops_whole_steps_from_the_oldest(steps: list[set[int]], capacity: int) -> None:
    table = Lru(40, capacity)
    last: dict[int, int] = {}
    for number, lines in enumerate(steps, 1):
        table.use(np.array(sorted(lines)))
        last |= dict.fromkeys(lines, number)
        held = set(np.flatnonzero(table.holds(np.arange(40))).tolist())
        order = sorted({last[line] for line in last}, reverse=True)
        fits: set[int] = set()
        for step in order:
            members = {line for line in last if last[line] == step}
            if fits and len(fits) + len(members) > capacity:
                break
            fits |= members
        assert held == fits
        last = {line: step for line, step in last.items() if line in held}


def test_half_of_the_blocks_live_in_either_half_at_any_pitch() -> None:
    cache = SectoredL2(1 << 20, 2, 100, 100, 2)
    for pitch in (2, 4, 8, 32, 64, 256):
        assert abs(cache.home(np.arange(0, 1 << 20, pitch)).mean() - 0.5) < 0.03
