"""Constant caches: sets in order of use, and what a chase through constants costs on a device."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.parts.constant import ConstantCache
from gpusim.probe import latency
from gpusim.spec.load import load_spec


def share(lines: int, ways: int, walked: int) -> float:
    cache = ConstantCache(lines, ways)
    for _ in range(2):
        cache.misses(range(walked))
    return cache.misses(range(walked)) / walked


def test_a_walk_misses_the_lines_of_the_sets_that_overflow() -> None:
    assert [share(32, 4, n) for n in (32, 36, 40, 64)] == pytest.approx([0, 20 / 36, 1, 1])
    assert [share(4, 4, n) for n in (4, 5)] == [0, 1]
    assert share(0, 4, 3) == 1


def test_the_line_used_last_stays() -> None:
    cache = ConstantCache(2, 2)
    assert cache.misses((0, 1, 0, 2)) == 3
    assert (cache.misses((0,)), cache.misses((1,))) == (0, 1)


@pytest.mark.parametrize(("instr", "footprint", "cycles"), [("LDC", 2048, 28), ("LDC", 4096, 98), ("ULDC", 256, 5.4), ("ULDC", 512, 64)])
def test_a_chase_sees_both_caches(instr: str, footprint: int, cycles: float) -> None:
    value = latency.PLANS["constant"]({"footprint": footprint, "stride": 64, "instr": instr})(load_spec("h200-sxm"))
    assert value == pytest.approx(cycles, rel=0.02)


def test_a_smaller_cache_misses_earlier() -> None:
    spec = load_spec("h200-sxm")
    assert spec.simt is not None
    small = spec.model_copy(update={"simt": spec.simt.model_copy(update={"constant_cache": 1024})})
    found = [latency.PLANS["constant"]({"footprint": 2048, "stride": 64, "instr": "LDC"})(s) for s in (spec, small)]
    assert np.diff(found)[0] == pytest.approx(spec.simt.constant_miss, rel=0.05)
