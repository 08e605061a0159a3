"""The measured Triton kernels, from their own source: values against NumPy in float64, and the time of the library's programs of the same kind."""

import ast
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gpusim as gs
import gpusim.triton as triton

SOURCE = Path(__file__).resolve().parents[3] / "shared" / "measure" / "kernels.py"
pytestmark = pytest.mark.skipif(not SOURCE.exists(), reason="the measured sources are not here")
BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(11)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the file that are kernels, with the import lines changed."""
    text = SOURCE.read_text()
    found = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    lines = text.splitlines()
    parts = ["\n".join(lines[n.decorator_list[0].lineno - 1 : n.end_lineno]) for n in found]
    path = tmp_path_factory.mktemp("measured") / "measured_kernels.py"
    path.write_text("import gpusim.triton as triton\nimport gpusim.triton.language as tl\n\n\n" + "\n\n\n".join(parts) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def normal(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def error(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.abs(got.astype(np.float64) - want).max() / np.abs(want).max())


@pytest.mark.parametrize("size", [(256, 128, 128), (250, 200, 100)])
def test_gemm(kernels: ModuleType, size: tuple[int, int, int]) -> None:
    m, n, k = size
    lda, ldb = (v + 7 & ~7 for v in (k, n))
    a, b, c = normal(m, lda, dtype=BF16), normal(k, ldb, dtype=BF16), np.zeros((m, ldb), BF16)
    even = size == (256, 128, 128)
    grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)
    made = kernels.gemm_kernel[grid](a, b, c, m, n, k, lda, ldb, ldb, 64, 64, 32, 8, even, num_warps=4, num_stages=3)
    assert error(c[:, :n], a[:, :k].astype(np.float64) @ b[:, :n].astype(np.float64)) < 2**-7
    library = gs.run(gs.kernels.gemm(m, n, k, tile=(64, 64, 32), warps=4, stages=3, lda=lda, ldb=ldb, ldc=ldb))
    assert made.report.cycles == library.cycles


def test_softmax_with_a_row_at_once_and_in_pieces(kernels: ModuleType) -> None:
    x = normal(20, 2500)
    e = np.exp(x.astype(np.float64))
    for name, block in (("softmax_kernel", 4096), ("softmax_online_kernel", 1024)):
        y = np.zeros_like(x)
        getattr(kernels, name)[(20,)](x, y, 2500, 2500, block, num_warps=4)
        assert error(y, e / e.sum(axis=1, keepdims=True)) < 1e-6
    program = kernels.softmax_kernel.program(x, x.copy(), 2500, 2500, 4096, num_warps=8, grid=(20,))
    assert gs.run(program).cycles == gs.run(gs.kernels.softmax(20, 2500, dtype="fp32")).cycles


def sigmoid(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


ELEMENTS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    0: lambda v: v, 1: lambda v: np.sin(v) ** 2 + np.cos(v) ** 2, 2: lambda v: np.maximum(v, 0), 3: lambda v: sigmoid(sigmoid(sigmoid(v))), 4: np.sin,
    5: lambda v: v * v, 6: sigmoid,
}  # fmt: skip


@pytest.mark.parametrize("op", ELEMENTS)
def test_elements(kernels: ModuleType, op: int) -> None:
    x = normal(3000)
    y = np.zeros_like(x)
    kernels.ew_kernel[(3,)](x, y, 3000, op, 1024)
    assert error(y, ELEMENTS[op](x.astype(np.float64))) < 1e-6


def test_three_sigmoids_and_their_gradient(kernels: ModuleType) -> None:
    x, g = normal(3000), normal(3000)
    saved, dx = [np.zeros_like(x) for _ in range(3)], [np.zeros_like(x) for _ in range(2)]
    kernels.sig_fwd_saved_kernel[(3,)](x, *saved, 3000, 1024)
    kernels.sig_bwd_saved_kernel[(3,)](*saved, g, dx[0], 3000, 1024)
    kernels.sig_bwd_recompute_kernel[(3,)](x, g, dx[1], 3000, 1024)
    a = sigmoid(x.astype(np.float64))
    b = sigmoid(a)
    c = sigmoid(b)
    want = g * c * (1 - c) * b * (1 - b) * a * (1 - a)
    assert error(saved[2], c) < 1e-6 and error(dx[0], want) < 1e-6 and error(dx[1], want) < 1e-6


@pytest.mark.parametrize("rms", [False, True])
def test_norms(kernels: ModuleType, rms: bool) -> None:
    x, w, b = normal(20, 900, dtype=BF16), normal(900), normal(900)
    y = np.zeros_like(x)
    kernels.layernorm_kernel[(20,)](x, w, b, y, 900, rms, 1024, num_warps=8)
    v = x.astype(np.float64)
    centred = v if rms else v - v.mean(axis=1, keepdims=True)
    want = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * w + (0 if rms else b)
    assert error(y, want) < 2**-7


@pytest.mark.parametrize("causal", [False, True])
def test_attention(kernels: ModuleType, causal: bool) -> None:
    batch, heads, seq, dim = 1, 2, 256, 64
    q, k, v = (normal(batch, heads, seq, dim, dtype=BF16) for _ in range(3))
    o = np.zeros_like(q)
    grid = (seq // 128, batch * heads)
    made = kernels.flash_kernel[grid](q, k, v, o, seq * dim, seq, dim**-0.5, dim, 128, 64, causal, num_warps=4, num_stages=3)
    x, y, z = (t.astype(np.float64) for t in (q, k, v))
    p = x @ y.swapaxes(-1, -2) * dim**-0.5
    p = np.exp(np.where(np.tril(np.ones((seq, seq), bool)), p, -np.inf) if causal else p)
    assert error(o, p / p.sum(axis=-1, keepdims=True) @ z) < 2**-7
    library = gs.run(gs.kernels.attention(batch, heads, seq, dim, causal=causal, block=(128, 64), warps=4, stages=3))
    assert made.report.cycles == library.cycles
