"""The same kernels here and under Numba's simulator: `GPUSIM_NUMBA_PYTHON=.../python python -m tests.speed.against_numba`.

Each side is one process; every kernel is launched twice and the second launch counts. Exit status 1 if a kernel with a bar is not that many
times faster. collatz has none: it is all divergence, and so little work a thread that Numba's cost of starting threads hardly shows.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: kernel -> how many times faster it must be; None: only noted
BARS: dict[str, int | None] = {"vector_add": 100, "fast_matmul": 100, "collatz": None}
KERNELS = Path(__file__).parents[1] / "oracle" / "simt_numba"

TIMED = """
import sys, time
import numpy as np
sys.path.insert(0, sys.argv[1])
import blocks, simple

def seconds(kernel, grid, block, make):
    for _ in range(2):
        arrays = make()
        start = time.perf_counter()
        kernel[grid, block](*arrays)
        spent = time.perf_counter() - start
    return spent

n = 1 << 15
rng = np.random.default_rng(0)
print(seconds(simple.vector_add, n // 256, 256, lambda: (np.ones(n), np.ones(n), np.zeros(n))))
print(seconds(blocks.fast_matmul, (8, 8), (8, 8), lambda: (np.ones((64, 64), "f4"), np.ones((64, 64), "f4"), np.zeros((64, 64), "f4"))))
print(seconds(simple.collatz, n // 1024, 128, lambda: (rng.integers(1, 999, n // 8), np.zeros(n // 8, np.int64))))
"""


def main() -> int:
    """Print the table; 1 if a kernel misses the bar."""
    theirs = _seconds(os.environ["GPUSIM_NUMBA_PYTHON"], {"GPUSIM_KERNELS_FROM": "numba", "NUMBA_ENABLE_CUDASIM": "1"})
    ours = _seconds(sys.executable, {"GPUSIM_KERNELS_FROM": "gpusim"})
    missed = False
    print(f"{'':14}{'Numba':>10}{'here':>10}{'faster':>9}")
    for (name, bar), a, b in zip(BARS.items(), theirs, ours, strict=True):
        below = bar is not None and a < bar * b
        missed |= below
        print(f"{name:14}{a:8.2f} s{b:8.4f} s{a / b:8.0f}x" + " below the bar" * below)
    return int(missed)


def _seconds(python: str, environment: dict[str, str]) -> list[float]:
    done = subprocess.run([python, "-W", "ignore", "-c", TIMED, str(KERNELS)], check=True, capture_output=True, text=True, env={**os.environ, **environment})
    return [float(line) for line in done.stdout.split()]


if __name__ == "__main__":
    raise SystemExit(main())
