"""Kernels of threads for the laws of memory, each with the bytes that it must move, whatever the machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gpusim import cuda
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import simulate_simt
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from gpusim.trace.run import Run

SECTOR, ATOM = 32, 64


@cuda.jit
def copy(x, y, step, at):
    i = cuda.grid(1)
    y[i] = x[i * step + at]


@cuda.jit
def spread(x, y, step, at):
    i = cuda.grid(1)
    y[i * step + at] = x[i]


@cuda.jit
def twice(x, y, step, at):
    i = cuda.grid(1)
    y[i] = x[i * step + at] + x[cuda.gridsize(1) * step - i * step - step + at]


@cuda.jit
def fill(x, y, step, at):
    y[cuda.grid(1) * step + at] = step


@cuda.jit
def total(x, y, step, at):
    i = cuda.grid(1)
    v = x[i * step + at]
    if v > at:
        y[i] = v


KERNELS = {"copy": copy, "spread": spread, "twice": twice, "fill": fill, "total": total}
#: kernels that read x at the step; that write y at the step; at 1; nothing
READS_AT_STEP, WRITES_AT_STEP = ("copy", "twice", "total"), ("spread", "fill")


@dataclass(frozen=True)
class Access:
    """`ctas` of `threads` threads; element i * step + at of float32 arrays is touched by thread i."""

    kernel: str
    ctas: int
    threads: int
    step: int
    at: int

    @property
    def elements(self) -> int:
        return self.ctas * self.threads

    def sectors(self, step: int, at: int) -> int:
        """Distinct sectors that hold the elements."""
        return len(np.unique((np.arange(self.elements, dtype=np.int64) * step + at) // 8))

    @property
    def read(self) -> int:
        """Distinct sectors that are read."""
        if self.kernel in READS_AT_STEP:
            return self.sectors(self.step, self.at)
        return self.sectors(1, 0) if self.kernel == "spread" else 0

    @property
    def written(self) -> int:
        """Distinct sectors that are written. `total` finds zeros and writes none."""
        if self.kernel in WRITES_AT_STEP:
            return self.sectors(self.step, self.at)
        return 0 if self.kernel == "total" else self.sectors(1, 0)

    @property
    def whole(self) -> bool:
        """Whether every sector that is written is written in all of its bytes."""
        return self.written * 8 == self.elements if self.kernel != "total" else True

    def run(self, spec: GpuSpec | None = None, **options: Any) -> Run:
        far = self.elements * self.step + self.at
        x, y = (far if self.kernel in kinds else self.elements for kinds in (READS_AT_STEP, WRITES_AT_STEP))
        args = [np.zeros(x, np.float32) if self.kernel == "total" else ArraySpec((x,), "float32"), ArraySpec((y,), "float32"), self.step, self.at]
        geometry = Geometry((self.ctas, 1, 1), (self.threads, 1, 1))
        return simulate_simt(KERNELS[self.kernel], geometry, args, spec or h200(), values=False, **options).run


@cache
def h200() -> GpuSpec:
    return load_spec("h200")


def accesses(kernels: tuple[str, ...] = tuple(KERNELS), ctas: int = 600) -> st.SearchStrategy[Access]:
    """Small launches of any shape."""
    return st.builds(
        Access,
        st.sampled_from(kernels),
        st.integers(1, ctas),
        st.sampled_from([32, 96, 256]),
        st.sampled_from([1, 2, 3, 8, 16, 33]),
        st.sampled_from([0, 1, 8, 31]),
    )


#: more than L2 holds, in a line each
STREAMS = {
    "copied": Access("copy", 90_000, 256, 1, 0),
    "read": Access("total", 4_000, 256, 32, 0),
    "filled": Access("fill", 100_000, 256, 1, 0),
    "spread": Access("spread", 8_000, 256, 8, 0),
}
