"""Attention computes softmax(scale Q K^T) V: against float64, in all its masks and shapes; the online update against numbers done by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.interp.tile import compute
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.kernels.attention import attention
from gpusim.kernels.attention.reference import attention_reference, heads_of, weights

SHAPES: dict[str, dict[str, Any]] = {
    "full": {"seq": 128},
    "causal": {"seq": 128, "causal": True},
    "ragged": {"seq": 100, "causal": True},
    "ragged full": {"seq": 100},
    "grouped": {"seq": 96, "heads": 4, "kv_heads": 2, "causal": True},
    "window": {"seq": 160, "causal": True, "window": 40},
    "one query": {"seq": 160, "queries": 1, "block": (16, 32), "warps": 1},
    "head of 80": {"seq": 64, "head_dim": 80},
    "head of 128": {"seq": 64, "head_dim": 128},
    "dropout": {"seq": 128, "dropout": 0.2, "seed": 7},
}


def _inputs(program: Program) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {t.name: rng.standard_normal(t.shape).astype(np.float16) for t in program.tensors if t.role == "in"}


@pytest.mark.parametrize("name", SHAPES)
def test_against_float64(name: str) -> None:
    options = {"batch": 2, "heads": 2, "head_dim": 64, "block": (32, 32), "dtype": "fp16"} | SHAPES[name]
    program = attention(**options)
    inputs = _inputs(program)
    got = compute(program, inputs)["o"].astype(np.float64)
    want = attention_reference(program, inputs)["o"]
    assert np.linalg.norm(got - want) < 2e-3 * np.linalg.norm(want)


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    plain = attention(1, 1, 256, 64, dtype="fp32", block=(32, 32))
    dropped = attention(1, 1, 256, 64, dtype="fp32", block=(32, 32), dropout=0.5, seed=3)
    ones = {"q": np.zeros((256, 64), np.float32), "k": np.zeros((256, 64), np.float32), "v": np.ones((256, 64), np.float32)}
    assert np.allclose(compute(plain, ones)["o"], 1.0)
    rows = compute(dropped, ones)["o"][:, 0]
    assert abs(rows.mean() - 1.0) < 0.02 and rows.std() > 0.03


def test_online_update_by_hand() -> None:
    """Scores [2, 1], then [4, 3]: m = 2, l = 1 + e^-1; then m' = 4, l' = l e^-2 + 1 + e^-1 = 1.5530."""
    b = Builder("online", grid=(1,), warps=1)
    x, out = b.tensor("x", "fp32", (1, 4)), b.tensor("out", "fp32", (1, 2), role="out")
    m, total = b.full((1, 1), "fp32", float("-inf")), b.full((1, 1), "fp32")
    with b.loop("j", 2) as j:
        scores = b.load(x, (0, j * 2), (1, 2))
        new = b.map("maximum", m, b.reduce("max", scores, 1))
        shrunk = b.map("mul", total, b.map("exp", b.map("sub", m, new)))
        b.update(total, b.map("add", shrunk, b.reduce("sum", b.map("exp", b.map("sub", scores, new)), 1)))
        b.update(m, new)
    b.store(out, (0, 0), m, (1, 1))
    b.store(out, (0, 1), total, (1, 1))
    got = compute(b.finish(), {"x": np.array([[2, 1, 4, 3]], np.float32)})["out"][0]
    assert got[0] == 4.0
    assert got[1] == pytest.approx(np.exp(-2) + np.exp(-3) + 1 + np.exp(-1), abs=1e-6)


def _run_all(programs: tuple[Program, ...], memory: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    for p in programs:
        memory |= compute(p, {t.name: memory[t.name] for t in p.tensors if t.role == "in"})
    return memory


@pytest.mark.parametrize("variant", ["naive", "split-kv"])
@pytest.mark.parametrize("shape", [{"seq": 160, "causal": True}, {"seq": 100}, {"seq": 192, "head_dim": 80}])
def test_several_kernels_give_the_same(variant: str, shape: dict[str, Any]) -> None:
    options: dict[str, Any] = {"batch": 1, "heads": 2, "head_dim": 64, "block": (32, 32), "dtype": "fp16"} | shape
    one = attention(**options)
    assert isinstance(one, Program)
    inputs = _inputs(one)
    several = attention(**options, variant=variant)
    assert isinstance(several, tuple)
    got = _run_all(several, dict(inputs))["o"].astype(np.float64)
    want = attention_reference(one, inputs)["o"]
    assert np.linalg.norm(got - want) < 2e-3 * np.linalg.norm(want)


def test_outer_loop_over_keys_gives_the_same() -> None:
    program = attention(1, 2, 128, 64, block=(32, 64), dtype="fp16", variant="fa1")
    assert isinstance(program, Program)
    rng = np.random.default_rng(3)
    inputs = {t.name: rng.standard_normal(t.shape).astype(np.float32 if t.dtype.name == "fp32" else np.float16) for t in program.tensors}
    got, want = compute(program, inputs)["o"].astype(np.float64), attention_reference(program, inputs)["o"]
    assert np.linalg.norm(got - want) < 2e-3 * np.linalg.norm(want)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_the_analytic_ones(causal: bool) -> None:
    options: dict[str, Any] = {"batch": 1, "heads": 2, "seq": 96, "head_dim": 64, "block": (32, 32), "dtype": "fp16", "causal": causal}
    forward = attention(**options, statistics=True)
    assert isinstance(forward, Program)
    memory = _run_all((forward,), _inputs(forward))
    q, k, v = heads_of(forward, memory)
    do = np.random.default_rng(2).standard_normal(q.shape)
    memory["do"] = do.reshape(-1, 64).astype(np.float16)
    backward = attention(**options, direction="backward")
    assert isinstance(backward, tuple)
    memory = _run_all(backward, memory)
    w = weights(forward.params, q, k)
    dp = do @ v.swapaxes(-1, -2)
    ds = w * (dp - (dp * w).sum(-1, keepdims=True)) / 8
    for name, want in (("dv", w.swapaxes(-1, -2) @ do), ("dq", ds @ k), ("dk", ds.swapaxes(-1, -2) @ q)):
        got = memory[name].astype(np.float64).reshape(want.shape)
        assert np.linalg.norm(got - want) < 2e-3 * np.linalg.norm(want), name


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"kv_heads": 3}, "cannot share 3 heads"),
        ({"head_dim": 40}, "head_dim = 40"),
        ({"block": (100, 64)}, "100 rows"),
        ({"window": 8}, "window = 8 needs causal"),
        ({"dropout": 1.0}, "dropout = 1.0"),
        ({"variant": "fa9"}, "variant 'fa9'"),
        ({"block": "128"}, "is not BrxBc"),
    ],
)
def test_refusals(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(GpusimError, match=says):
        attention(**({"heads": 4} | wrong))
