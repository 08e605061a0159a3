"""Physics of launches of threads: what must hold whatever the model's constants are."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import SimtResult, simulate_simt
from gpusim.spec.load import load_spec


@cuda.jit
def chain(x, y, n):
    i = cuda.grid(1)
    v = x[i]
    for _ in range(n):
        v = v * float32(1.5) + float32(1.0)
    y[i] = v


@cuda.jit
def strided(x, y, step):
    i = cuda.grid(1)
    y[i] = x[i * step]


def timed(kernel, ctas: int, threads: int, scalar: int, elements: int | None = None, **options) -> SimtResult:
    args = [ArraySpec((elements or ctas * threads,), "float32"), ArraySpec((ctas * threads,), "float32"), np.int32(scalar)]
    return simulate_simt(kernel, Geometry((ctas, 1, 1), (threads, 1, 1)), args, load_spec("h200"), values=False, **options)


def test_stalls_partition_the_warps_life_and_no_bound_is_beaten() -> None:
    for ctas in (1, 132, 3000):
        run = timed(chain, ctas, 128, 40).run
        assert sum(run.stalls.values()) == pytest.approx(run.warp_cycles)
        assert all(b <= run.cycles * 1.001 for b in run.bounds.values())
        assert run.counters["instructions"] <= run.counters["thread_instructions"] <= 32 * run.counters["instructions"]


def test_the_timed_sm_issues_what_the_paths_hold() -> None:
    result = timed(chain, 132 * 3, 128, 40, exact=True)
    assert [run.instructions * 132 for run in result.timed] == [result.run.counters["instructions"]]


def test_more_work_takes_longer_and_more_sms_do_not() -> None:
    assert timed(chain, 1056, 128, 400).run.cycles > timed(chain, 1056, 128, 100).run.cycles
    assert timed(chain, 264, 128, 400).run.cycles <= timed(chain, 1056, 128, 400).run.cycles


def test_wide_strides_move_more_sectors_and_take_longer() -> None:
    near, far = (timed(strided, 4000, 256, step, 4000 * 256 * step).run for step in (1, 8))
    assert far.counters["l1_load_sectors"] == 8 * near.counters["l1_load_sectors"]
    assert far.counters["dram_read_bytes"] == 8 * near.counters["dram_read_bytes"]
    assert far.cycles > 1.5 * near.cycles


def test_a_slower_clock_takes_as_many_cycles_of_arithmetic_but_longer() -> None:
    slow, fast = (timed(chain, 132, 128, 2000, clock_mhz=clock).run for clock in (990.0, 1980.0))
    assert slow.time_ps > 1.8 * fast.time_ps


def test_launch_overhead_comes_on_top() -> None:
    out, inside = (timed(chain, 132, 128, 10, launch=launch).run for launch in ("out", "in"))
    assert inside.time_ps - out.time_ps == pytest.approx(load_spec("h200").launch.overhead * 1000, abs=2)


def test_the_same_input_has_the_same_digest() -> None:
    assert timed(chain, 300, 96, 33).run.digest == timed(chain, 300, 96, 33).run.digest


def test_extrapolation_holds_against_the_whole() -> None:
    short, whole = (timed(chain, 132 * 16 * 3, 128, 700, exact=exact).run for exact in (False, True))
    assert short.extrapolated.count(";") >= 1
    assert short.cycles == pytest.approx(whole.cycles, rel=0.03)
