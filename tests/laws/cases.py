"""Products on GPUs for the laws, each with its closed form beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st

from gpusim.ir.program import Program
from gpusim.kernels.gemm import gemm
from gpusim.launch.run import simulate
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from gpusim.trace.run import Run
from tests.laws.closed import Gemm
from tests.laws.specs import toy

#: GPU -> formats it multiplies
FORMATS = {
    "toy": ("bf16", "fp16", "tf32", "fp32"),
    "v100": ("fp16", "fp32"),
    "a100": ("bf16", "tf32", "fp32"),
    "h200": ("bf16", "fp16", "tf32"),
}
LARGEST = 700
TILES = ((64, 64, 32), (64, 128, 32), (128, 64, 16), (128, 128, 32))


def few(examples: int) -> settings:
    """The same examples in every run, and no search for smaller ones: an example is a simulation."""
    return settings(max_examples=examples, deadline=None, derandomize=True, phases=(Phase.explicit, Phase.generate))


@cache
def spec_of(gpu: str) -> GpuSpec:
    return toy() if gpu == "toy" else load_spec(gpu)


@dataclass(frozen=True)
class Case:
    gpu: str
    product: Gemm
    stages: int | None = None
    group_m: int = 8

    @property
    def program(self) -> Program:
        p = self.product
        return gemm(p.m, p.n, p.k, tile=p.tile, dtype=p.dtype, ld=p.ld, stages=self.stages, group_m=self.group_m)

    def run(self, spec: GpuSpec | None = None, **options: Any) -> Run:
        """Simulated, on `spec` instead of the case's own GPU if one is given."""
        return simulate(self.program, spec or spec_of(self.gpu), **options)

    def standard(self, **options: Any) -> Run:
        """Simulated on its own GPU; remembered, for the tests that ask the same run for different things."""
        return _standard(self, tuple(options.items()))

    def on(self, gpu: str) -> Case:
        return replace(self, gpu=gpu)


@cache
def _standard(case: Case, options: tuple[tuple[str, Any], ...]) -> Run:
    return case.run(**dict(options))


@st.composite
def cases(draw: st.DrawFn, smallest: int = 1, ld: tuple[str, ...] = ("padded", "packed")) -> Case:
    """Small products of any shape; half of the sizes are multiples of 64."""
    size = st.one_of(st.integers(smallest, LARGEST), st.integers(-(-smallest // 64), LARGEST // 64).map(lambda i: 64 * i))
    gpu = draw(st.sampled_from(tuple(FORMATS)))
    m, n, k = draw(size), draw(size), draw(size)
    product = Gemm(m, n, k, draw(st.sampled_from(TILES)), draw(st.sampled_from(FORMATS[gpu])), draw(st.sampled_from(ld)))
    return Case(gpu, product, draw(st.sampled_from([None, 1, 2])), draw(st.sampled_from([1, 8])))


#: larger ones, simulated in part: (loop steps left out), (waves left out), (both)
SHORTENED = {
    "steps": Case("h200", Gemm(2048, 2048, 4096, (128, 128, 64), "bf16", "padded")),
    "waves": Case("h200", Gemm(8192, 4096, 2048, (256, 128, 64), "bf16", "padded")),
    "both": Case("a100", Gemm(4096, 4096, 2048, (256, 128, 32), "fp16", "padded")),
}
