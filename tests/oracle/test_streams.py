"""Streams whose middle is only counted, against the walk of every round: the same counts, and the same lines in L2 afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt import streams
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.run import begin
from gpusim.launch.simt.state import MemoryState
from gpusim.launch.simt.walk import Moved
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec

N = 1 << 23
EXACT = ("missed", "near_misses", "changed", "atoms", "blocks")
HASHED = ("fabric_read", "remote", "allocated")


@cuda.jit
def copy(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i]


@cuda.jit
def in_place(x, n):
    i = cuda.grid(1)
    if i < n:
        x[i] = 2 * x[i]


@cuda.jit
def read(x, y, n):
    i = cuda.grid(1)
    if i < n:
        s = x[i]
        if cuda.threadIdx.x == 0:
            y[cuda.blockIdx.x & 15] = s


@cuda.jit
def write(y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = 1


@cuda.jit
def strided(x, y, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = x[i]


@cuda.jit
def neighbours(x, y, n):
    i = cuda.grid(1)
    if 0 < i < n:
        y[i] = x[i - 1] + x[i]


@cuda.jit
def turned(x, y, n):
    i, j = cuda.grid(2)
    if i < n and j < n:
        y[i * n + j] = x[j * n + i]


@cuda.jit
def empty():
    pass


@pytest.fixture(scope="module")
def spec() -> GpuSpec:
    """An L2 that a fraction of the arrays fills."""
    whole = load_spec("h200")
    return whole.model_copy(update={"l2": whole.l2.model_copy(update={"capacity": 1 << 20})})


def array(n: int = N) -> ArraySpec:
    return ArraySpec((n,), "float32")


def walked(spec: GpuSpec, launches: list[tuple[Any, tuple[int, ...], tuple[Any, ...]]], l2: str = "cold") -> tuple[list[Moved], MemoryState, list[Any]]:
    """What each launch moved, what L2 holds behind them, and where the timed CTAs found their sectors."""
    state, moved, asked = MemoryState(spec, l2), [], []
    for kernel, grid, args in launches:
        geometry = Geometry((*grid, 1, 1)[:3], (256, 1, 1) if len(grid) == 1 else (32, 8, 1), 0)
        begun = begin(kernel, geometry, args, spec, state=state, l2=l2)
        begun.execute(values=False)
        assert begun.trace is not None
        moved.append(begun.trace.walk.finish())
        asked.append(begun.trace.walk.asked)
    return moved, state, asked


def both(spec: GpuSpec, launches: list[Any], monkeypatch: pytest.MonkeyPatch, l2: str = "cold") -> tuple[Any, Any, list[int]]:
    """(with every round walked, as it is, how many repetitions were left out)."""
    left: list[int] = []
    leave_out = streams._leave_out

    def noted(*args: Any) -> int:
        left.append(leave_out(*args))
        return left[-1]

    monkeypatch.setattr(streams, "_leave_out", noted)
    made = walked(spec, launches, l2)
    monkeypatch.setattr(streams, "stream", lambda *_: None)
    return walked(spec, launches, l2), made, left


def the_same(whole: Any, made: Any) -> None:
    for one, other in zip(whole[0], made[0], strict=True):
        for name in EXACT:
            assert getattr(other, name) == getattr(one, name), name
        for name in HASHED:
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=0.01), name
        assert (other.back, other.dirty) == (one.back, one.dirty)
    a, b = whole[1].cache, made[1].cache
    lines = np.arange(len(a.dirty))
    for mine, theirs in zip(a.held, b.held, strict=True):
        assert (mine.holds(lines) == theirs.holds(lines)).all()


ONE = (N // 256,)
#: CTAs of a loop over the arrays: all that run at once
LOOPING = 132 * 8
X, Y, Z = array(), array(), array()
STREAMS: dict[str, list[Any]] = {
    "copy": [(copy, ONE, (X, Y, N))],
    "in place": [(in_place, ONE, (X, N))],
    "write": [(write, ONE, (Y, N))],
    "a loop": [(strided, (LOOPING,), (X, Y, N // LOOPING // 256 * LOOPING * 256))],
    "a tail": [(copy, ONE, (X, Y, N - 1000))],
    "behind others": [(copy, ONE, (X, Y, N)), (copy, ONE, (Y, Z, N)), (in_place, ONE, (Z, N))],
}
#: lines that are read again, or by neighbours; no rounds that are alike
OTHERS: dict[str, list[Any]] = {
    "read, and one line": [(read, ONE, (X, array(16), N))],
    "neighbours": [(neighbours, ONE, (X, Y, N))],
    "turned": [(turned, (32, 128), (array(1 << 20), array(1 << 20), 1024))],
    "small": [(copy, (1 << 10,), (X, Y, 1 << 18))],
}


@pytest.mark.parametrize("l2", ["cold", "warm"])
@pytest.mark.parametrize("name", STREAMS)
def test_what_is_left_out_changes_nothing(name: str, l2: str, spec: GpuSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, made, left = both(spec, STREAMS[name], monkeypatch, l2)
    assert len(left) == len(STREAMS[name]) * (1 + (l2 == "warm")) and min(left) >= streams.LEAST
    the_same(whole, made)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_stream_is_walked(name: str, spec: GpuSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, made, left = both(spec, OTHERS[name], monkeypatch)
    assert not sum(left)
    the_same(whole, made)
    assert made[2] == whole[2]


def test_timed_ctas_of_the_middle_find_their_sectors_where_they_are(spec: GpuSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("copy", "a loop", "in place"):
        with monkeypatch.context() as patch:
            whole, made, left = both(spec, STREAMS[name], patch)
        assert sum(left)
        assert made[2] == whole[2]


def test_one_half_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chip with one half, whose DRAM blocks are lines."""
    whole = load_spec("v100")
    small = whole.model_copy(update={"l2": whole.l2.model_copy(update={"capacity": 1 << 20})})
    assert small.l2.halves == 1
    one, made, left = both(small, STREAMS["copy"], monkeypatch)
    assert sum(left)
    the_same(one, made)


def test_an_exact_run_walks_every_round(spec: GpuSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "stream", lambda *_: pytest.fail("looked for a stream"))
    for exact in (True, False):
        begun = begin(copy, Geometry((N // 256, 1, 1), (256, 1, 1), 0), (X, Y, N), spec, exact=exact)
        begun.loads = ()
        if exact:
            begun.execute(values=False)
        else:
            with pytest.raises(pytest.fail.Exception):
                begun.execute(values=False)


def test_a_kernel_that_touches_nothing(spec: GpuSpec) -> None:
    moved, _, _ = walked(spec, [(empty, (100_000,), ())])
    assert moved[0].missed == moved[0].changed == 0
