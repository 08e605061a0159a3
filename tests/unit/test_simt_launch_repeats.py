"""Launches again and again: what is lowered once, and what must not be shared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusim.launch.simt.passes as passes
from gpusim import cuda
from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt.args import describe, facts
from gpusim.lower.simt import lower
from gpusim.lower.simt.sharing import MOST, Codes


@cuda.jit
def scaled(n: int, a: float, x: Any, y: Any) -> None:
    i = cuda.grid(1)
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit
def strided(x: Any, first: int, step: int) -> None:
    for i in range(first + cuda.grid(1) * step, x.size if step > 0 else -1, step * cuda.gridsize(1)):
        x[i] += 1


@cuda.jit
def add_to(x: Any, y: Any) -> None:
    i = cuda.grid(1)
    y[i] += x[i]
    y[i] += x[i]


X = np.ones(256, np.float32)


def launched(kernel: Any, *args: Any, grid: int = 4, block: int = 64) -> tuple[Any, LaunchFacts]:
    program = kernel.program_for(describe(args))
    return program, facts(program, Geometry((grid, 1, 1), (block, 1, 1)), args)


def test_the_same_as_lowering_anew() -> None:
    for kernel, args in ((scaled, (200, 2.0, X, X.copy())), (strided, (X, 0, 1)), (add_to, (X, X.copy()))):
        program, known = launched(kernel, *args)
        assert Codes(program)(known) == lower(program, known)


def test_numbers_that_prove_the_same_share_a_code() -> None:
    program, first = launched(scaled, 200, 2.0, X, X)
    codes = Codes(program)
    one = codes(first)
    assert codes(launched(scaled, 100, 2.0, X, X)[1]) is one
    assert codes(launched(scaled, 200, 3.5, X, X)[1]) is one
    assert codes(launched(scaled, 200, 2.0, X, X, grid=5)[1]) == one


def test_numbers_that_prove_something_else_do_not() -> None:
    program, first = launched(scaled, 200, 2.0, X, X)
    codes = Codes(program)
    large = launched(scaled, 1 << 40, 2.0, X, X)[1]
    assert codes(large) != codes(first)
    assert codes(large) == lower(program, large)


def test_directions_of_loops_and_overlaps_count() -> None:
    program, up = launched(strided, X, 0, 1)
    codes = Codes(program)
    down = launched(strided, X, 255, -1)[1]
    assert codes(up) == lower(program, up) and codes(down) == lower(program, down)
    program, apart = launched(add_to, X, X.copy())
    codes = Codes(program)
    same = launched(add_to, X, X)[1]
    assert codes(same) == lower(program, same) and codes(apart) == lower(program, apart)


def test_many_different_launches_are_forgotten() -> None:
    program, _ = launched(scaled, 1, 2.0, X, X)
    codes = Codes(program)
    for n in range(3 * MOST):
        codes(launched(scaled, n, 2.0, X, X)[1])
    assert len(codes._by_facts) <= MOST


def test_an_array_and_itself_after_two_arrays() -> None:
    """The second load must see the first store where the arrays are one."""
    x, y = np.ones(64), np.ones(64)
    add_to[1, 64](x, y)
    assert (y == 3).all()
    add_to[1, 64](x, x)
    assert (x == 4).all()


def test_values_of_changing_scalars_are_right_and_named_in_the_report() -> None:
    y = np.zeros(256, np.float32)
    for n, a in ((256, 1.0), (100, 2.0), (0, 4.0), (256, 0.5)):
        scaled[4, 64](n, a, X, y)
    assert (y[:100] == 3.5).all() and (y[100:] == 1.5).all()
    assert scaled.report.run.params["a"] == 0.5 and scaled.report.run.params["n"] == 256


def test_a_large_launch_is_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    original = passes.execute
    monkeypatch.setattr(passes, "execute", lambda *a, **k: calls.append(k) or original(*a, **k))
    x, y = np.zeros(132 * 20 * 1024, np.float32), np.zeros(132 * 20 * 1024, np.float32)
    for _ in range(3):
        scaled[132 * 20, 1024](10, 1.0, x, y)
    assert sum("ctas" in k for k in calls) == 1
    scaled[132 * 20, 1024](20, 1.0, x, y)
    assert sum("ctas" in k for k in calls) == 2
    small = len(calls)
    scaled[4, 64](10, 1.0, X, y)
    assert len(calls) == small + 1
