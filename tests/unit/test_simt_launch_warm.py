"""An L2 that holds the arrays before the launch."""

from __future__ import annotations

import numpy as np

import gpusim as gs
from gpusim import cuda


@cuda.jit
def walk(x, y):
    """Every thread reads eight elements, one after the other."""
    i = cuda.grid(1)
    s = x[i]
    for _ in cuda.range(7, unroll=1):
        i = (i + 40961) % x.size
        s += x[i]
    y[cuda.grid(1)] = s


def _report(elements: int, l2: str) -> gs.Report:
    x, y = np.ones(elements, np.float32), np.zeros(8192, np.float32)
    return gs.run(walk, grid=32, block=256, args=(x, y), gpu="h200", l2=l2)


def test_what_lies_in_l2_is_not_read_from_dram() -> None:
    cold, warm = _report(1 << 18, "cold"), _report(1 << 18, "warm")
    assert cold.traffic["dram_read_bytes"] > 0 and warm.traffic["dram_read_bytes"] == 0
    assert warm.cycles < 0.8 * cold.cycles
    assert warm.protocol.l2 == "warm" and "as an identical launch left it" in str(warm)
