"""Launches of probes: the same one is simulated once, and no other counts as the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.launch.simt.args import ArraySpec
from gpusim.probe import loops
from gpusim.spec.load import load_spec

SPEC = load_spec("h200")


@cuda.jit
def fill(x, n, value):
    i = cuda.grid(1)
    if i < n:
        x[i] = value


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Arguments of the launches that are simulated."""
    made: list[tuple[Any, ...]] = []
    launched = loops.launched

    def noted(spec: Any, kernel: Any, geometry: Any, args: Any, **options: Any) -> Any:
        made.append((geometry.grid, args, options))
        return launched(spec, kernel, geometry, args, **options)

    monkeypatch.setattr(loops, "launched", noted)
    loops._once.cache_clear()
    return made


def args(n: Any, value: Any = 1.0) -> tuple[Any, ...]:
    return ArraySpec((4096,), "float32"), n, value


def test_the_same_launch_is_simulated_once(launches: list[Any]) -> None:
    first, second = (loops.run(SPEC, fill, (4, 128), args(np.int32(512))) for _ in range(2))
    assert first == second
    assert len(launches) == 1


def test_what_differs_in_anything_is_another_launch(launches: list[Any]) -> None:
    given = [
        ((4, 128), args(np.int32(512)), {}),
        ((4, 128), args(512), {}),
        ((4, 128), args(np.int32(512)), {"l2": "warm"}),
        ((8, 128), args(np.int32(512)), {}),
    ]
    for threads, numbers, options in given:
        loops.run(SPEC, fill, threads, numbers, **options)
    assert len(launches) == len(given)


def test_arrays_with_data_are_simulated_each_time(launches: list[Any]) -> None:
    held = np.zeros(4096, np.float32)
    for _ in range(2):
        loops.run(SPEC, fill, (4, 128), (held, np.int32(512), 1.0))
    assert len(launches) == 2
