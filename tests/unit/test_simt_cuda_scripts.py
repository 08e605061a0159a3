"""Scripts written for Numba, notebook cells, lambdas, reductions."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from gpusim import GpusimError, cuda

SCRIPT = """
from numba import cuda, float32, int32
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
import numpy as np

@cuda.jit('void(float32[:], int32)')
def kernel(x, n):
    held = cuda.shared.array(shape=32, dtype=float32)
    i = cuda.grid(1)
    held[cuda.threadIdx.x] = float32(i)
    cuda.syncthreads()
    if i < n:
        x[i] = held[31 - cuda.threadIdx.x]

x = np.zeros(64, np.float32)
kernel[2, 32](x, int32(64))
"""


def test_a_numba_script_runs_after_changing_its_imports(tmp_path: Any) -> None:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("from numba", "from gpusim"))
    names: dict[str, Any] = {"__name__": "script", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert names["x"][:33].tolist() == [*range(31, -1, -1), 63]


def test_a_notebook_cell_works_and_bare_exec_says_what_to_do() -> None:
    text = "@cuda.jit\ndef kernel(x):\n    x[cuda.grid(1)] = 5\n"
    cell = "/tmp/ipykernel_1/123.py"
    linecache.cache[cell] = (len(text), None, text.splitlines(keepends=True), cell)
    names: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, cell, "exec"), names)
    x = np.zeros(32)
    names["kernel"][1, 32](x)
    assert (x == 5).all()
    exec(compile(text, "<stdin>", "exec"), names)
    with pytest.raises(GpusimError, match="(?i)source.*file|file.*source"):
        names["kernel"][1, 32](x)


def test_reductions() -> None:
    largest = cuda.Reduce(_larger)
    x = np.random.default_rng(0).integers(-5000, 5000, 3001)
    assert largest(x, init=-10000) == x.max() and largest(x, size=10, init=-10000) == x[:10].max() and largest(x[:0], init=7) == 7
    out = np.zeros(1, x.dtype)
    assert largest(cuda.to_device(x), res=out, init=-10000) is None and out[0] == x.max()
    with pytest.raises(GpusimError, match="ravel"):
        largest(np.zeros((2, 2)))


def _larger(a: Any, b: Any) -> Any:
    return a if a > b else b


def test_lambdas_are_functions_too() -> None:
    add, less = cuda.reduce(lambda a, b: a + b), cuda.Reduce(lambda a, b: min(a, b))
    x = np.random.default_rng(0).integers(-99, 99, 500)
    assert add(x) == x.sum() and less(x) == min(x.min(), 0)
    shift = 3
    moved = cuda.jit(
        lambda a: a * 2 + shift,
        device=True,
    )

    @cuda.jit
    def kernel(x: Any) -> None:
        x[cuda.grid(1)] = moved(cuda.grid(1))

    out = np.zeros(32, np.int64)
    kernel[1, 32](out)
    assert (out == 2 * np.arange(32) + 3).all()
    with pytest.raises(GpusimError, match="lambda cannot be read"):
        cuda.reduce(eval("lambda a, b: a + b"))(x)
