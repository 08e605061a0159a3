"""What decides a thread's way: loaded data, or the number of its CTA. And counters from few CTAs equal those from all."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.errors import GpusimError
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.affine import Periods, regular
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.classes import classes, linear, scaled, signature, total
from gpusim.launch.simt.prepare import prepare
from gpusim.launch.simt.run import simulate_simt
from gpusim.launch.simt.static import data_dependence
from gpusim.spec.load import load_spec
from gpusim.trace.simt import Counts
from tests.unit.made_simt import SPEC


@cuda.jit
def add(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + float32(1.0)


@cuda.jit
def branch_on_data(x, y, n):
    i = cuda.grid(1)
    if x[i] > float32(0.0):
        for _ in range(50):
            y[i] = y[i] * float32(0.5) + float32(1.0)


@cuda.jit
def gather(x, y, n):
    i = cuda.grid(1)
    y[i] = x[int(x[i])]


@cuda.jit
def through_shared(x, y, n):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if s[63 - t] > float32(0.0):
        for _ in range(50):
            y[t] = y[t] * float32(0.5) + float32(1.0)


@cuda.jit
def choose_by_data(x, y, n):
    i = cuda.grid(1)
    v = x[i]
    y[i] = v if v > float32(0.0) else float32(0.0)


@cuda.jit
def turned(x, y, n):
    i = cuda.threadIdx.x + (cuda.blockIdx.x % 7) * 64
    for j in range(cuda.blockIdx.x % 3 + 1):
        y[i + j] = x[i]


@cuda.jit
def inside(x, y, n):
    i, j = cuda.grid(2)
    if i > 0 and j > 0 and i < n - 1 and j < n - 1:
        y[j, i] = x[j, i - 1] + x[j, i + 1] + x[j - 1, i] + x[j + 1, i]


def ready(kernel, grid=(10, 1, 1), block=(64, 1, 1), n=600):
    x = np.zeros(n, np.float32)
    return prepare(kernel, Geometry(grid, block), [x, x.copy(), n], load_spec(SPEC), None, None)


@pytest.mark.parametrize("kernel", [branch_on_data, gather, through_shared])
def test_data_that_decides_is_found_and_named(kernel) -> None:
    found = data_dependence(ready(kernel).code)
    assert found is not None and "x" in found.origins and found.line > 0


@pytest.mark.parametrize("kernel", [add, choose_by_data, turned])
def test_data_that_decides_nothing_is_proved_so(kernel) -> None:
    assert data_dependence(ready(kernel).code) is None


def test_affine_grids_have_periods_and_others_none() -> None:
    a, t = ready(add), ready(turned)
    found = regular(a.code, a.facts)
    assert found is not None and found.periods == Periods((1, 1, 1))
    assert regular(t.code, t.facts) is None


def test_alignment_gives_the_period() -> None:
    r = ready(add, block=(3, 1, 1))
    found = regular(r.code, r.facts)
    assert found is not None and found.periods == Periods((8, 1, 1))


def test_classes_cover_the_grid_and_tell_edges_apart() -> None:
    grid, asked = (40, 30, 2), []

    def run(cta: int) -> Counts:
        asked.append(cta)
        x, y = cta % 40, cta // 40 % 30
        out = Counts.zero(1, 1)
        out.warps[0], out.lanes[0] = 1, 1 + (x == 39) + 2 * (y == 0)
        return out

    found = classes(grid, Periods((1, 1, 1)), run)
    assert found is not None and sum(c.size for c in found) == 2400 and len(found) == 4
    every = [run(linear(grid, (x, y, z))) for x in range(40) for y in range(30) for z in range(2)]
    assert total(found).lanes[0] == sum(int(c.lanes[0]) for c in every)
    assert len(asked) - 2400 <= 60


def test_a_sample_scales_every_count_by_itself() -> None:
    counts = Counts.zero(1, 1)
    counts.lines[0], counts.wavefronts[0], counts.warps[0] = 3, 5, 7
    twice = scaled(counts, 2.0)
    assert (twice.lines[0], twice.wavefronts[0], twice.warps[0], twice.lanes[0]) == (6, 10, 14, 0)


def test_too_many_classes_are_given_up() -> None:
    def run(cta: int) -> Counts:
        out = Counts.zero(1, 1)
        out.warps[0] = cta
        return out

    assert classes((5000, 1, 1), Periods((1, 1, 1)), run) is None


def test_a_signature_does_not_see_lines() -> None:
    a, b = Counts.zero(1, 1), Counts.zero(1, 1)
    b.lines[0] = 5
    assert signature(a) == signature(b)
    b.sectors[0] = 5
    assert signature(a) != signature(b)


SPARE = ("dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes", "l2_read_sectors", "l1_hit_sectors")


@pytest.mark.parametrize(
    "kernel, grid, block, n",
    [
        (add, (391, 1, 1), (256, 1, 1), 99_999),
        (choose_by_data, (40, 1, 1), (96, 1, 1), 3840),
        (turned, (500, 1, 1), (64, 1, 1), 600),
        (add, (300, 1, 1), (40, 1, 1), 11_990),
    ],
)
def test_counters_without_values_equal_those_with(kernel, grid, block, n) -> None:
    spec, x = load_spec(SPEC), np.ones(max(n, 600), np.float32)
    y = np.zeros_like(x)
    whole = simulate_simt(kernel, Geometry(grid, block), [x, y, n], spec).run
    kept = y.copy()
    few = simulate_simt(kernel, Geometry(grid, block), [x, y, n], spec, values=False).run
    assert {k: v for k, v in few.counters.items() if k not in SPARE} == {k: v for k, v in whole.counters.items() if k not in SPARE}
    assert few.cycles == pytest.approx(whole.cycles, rel=0.01)
    assert (y == kept).all()


def test_a_stencil_has_its_edges() -> None:
    spec = load_spec(SPEC)
    args = [ArraySpec((300, 300), "float32"), ArraySpec((300, 300), "float32"), 300]
    few = simulate_simt(inside, Geometry((10, 38, 1), (32, 8, 1)), args, spec, values=False)
    arrays = [np.zeros((300, 300), np.float32) for _ in range(2)]
    whole = simulate_simt(inside, Geometry((10, 38, 1), (32, 8, 1)), [*arrays, 300], spec)
    assert "classes of CTAs" in few.run.extrapolated
    for name in ("instructions", "thread_instructions", "l1_load_requests", "l1_load_sectors", "l1_store_sectors"):
        assert few.run.counters[name] == whole.run.counters[name]


def test_shapes_alone_do_not_tell_where_data_leads() -> None:
    args = [ArraySpec((640,), "float32"), ArraySpec((640,), "float32"), 640]
    with pytest.raises(GpusimError, match="depends on what x holds"):
        simulate_simt(branch_on_data, Geometry((10, 1, 1), (64, 1, 1)), args, load_spec(SPEC), values=False)


def test_a_large_grid_whose_data_decide_is_sampled_with_its_error() -> None:
    x = np.where(np.arange(64 * 80_000) % 3 == 0, 1, -1).astype(np.float32)
    run = simulate_simt(branch_on_data, Geometry((80_000, 1, 1), (64, 1, 1)), [x, np.zeros_like(x), len(x)], load_spec(SPEC), values=False).run
    assert "standard error" in run.extrapolated and "256 of 80000 CTAs executed" in run.extrapolated
