"""Sectors and wavefronts of one warp: measured laws, and sets in plain Python for random addresses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.interp.simt import counting
from gpusim.interp.simt.groups import Group, Space

LANES = np.arange(32)


def waves(word: np.ndarray, width: int) -> int:
    return int(counting.passes(np.asarray(word)[None] * 4, None, width)[0])


@pytest.mark.parametrize("stride", range(66))
def test_passes_by_stride_are_those_measured(stride: int) -> None:
    assert waves(LANES * stride, 4) == (math.gcd(stride, 32) if stride else 1)
    if stride and stride % 2 == 0:
        assert waves(LANES * stride, 8) == 2 * math.gcd(stride // 2, 16)
    if stride and stride % 4 == 0:
        assert waves(LANES * stride, 16) == 4 * math.gcd(stride // 4, 8)


@pytest.mark.parametrize("width", [4, 8, 16])
@pytest.mark.parametrize("sharing", [2, 4, 8, 16, 32])
def test_passes_of_broadcasts_are_those_measured(width: int, sharing: int) -> None:
    assert waves(LANES // sharing * 32, width) == max(32 // sharing, 2 if width == 16 else 1)


def test_passes_of_a_register_tile() -> None:
    """16-byte loads of sgemm_vec: Nsight counts 3 passes a load, half of which read two rows, half sixteen columns twice."""
    assert waves(LANES // 16 * 4, 16) == 2 and waves(LANES % 16 * 4, 16) == 4


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 200), min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32))
def test_passes_and_atomics_of_random_addresses(words: list[int], on: list[bool]) -> None:
    used = [w for w, a in zip(words, on, strict=True) if a]
    active = np.array(on)[None]
    banks = [len({w for w in used if w % 32 == bank}) for bank in range(32)]
    assert counting.passes(np.array(words)[None] * 4, active, 4)[0] == max(banks)
    assert counting.atomic_passes(np.array(words)[None], active)[0] == max(sum(w % 32 == b for w in used) for b in range(32))
    assert counting.distinct_per_warp(np.array(words)[None], active)[0] == len(set(used))
    assert counting.most_equal(np.array(words)[None], active)[0] == max((used.count(w) for w in used), default=0)


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([64, 50]))
def test_sectors_of_whole_and_partial_groups(data: st.DataObject, threads: int) -> None:
    space = Space(2, threads)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=2 * threads, max_size=2 * threads)))
    shape = data.draw(st.sampled_from(["full", "columns", "list"]))
    if shape == "full":
        mask[:] = True
    elif shape == "columns":
        mask = np.tile(mask[:threads], 2)
    mask[[0, threads]] = True
    group = (
        Group(space)
        if shape == "full"
        else Group(space, cols=np.flatnonzero(mask[:threads]))
        if shape == "columns"
        else Group(space, lanes=np.flatnonzero(mask))
    )
    byte = np.array(data.draw(st.lists(st.integers(0, 60), min_size=2 * threads, max_size=2 * threads))) * 4
    here = group.get(byte.reshape(2, threads))
    want = repeated = lines = 0
    for cta in range(2):
        for warp in range(space.warps):
            lanes = [cta * threads + t for t in range(warp * 32, min(threads, warp * 32 + 32)) if mask[cta * threads + t]]
            want += len({byte[x] // 32 for x in lanes})
            lines += len({byte[x] // 128 for x in lanes})
            for sector in {byte[x] // 32 for x in lanes}:
                inside = [byte[x] for x in lanes if byte[x] // 32 == sector]
                repeated += max(inside.count(b) for b in inside)
    assert counting.distinct(group, here >> 5, 2) == (want, lines)
    assert counting.atomic_sectors(group, here)[1].sum() == repeated
    assert group.warps == sum(mask[c * threads + w * 32 : c * threads + min(threads, w * 32 + 32)].any() for c in range(2) for w in range(space.warps))
