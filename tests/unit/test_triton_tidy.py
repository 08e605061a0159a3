"""The passes behind the translation change no value: kernels compute the same without them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpusim.frontend.tiles import translate as translation
from gpusim.ir.ops import Dot, Load, Reshape, Transpose, Update
from gpusim.ir.program import walk
from gpusim.triton.kernel import Kernel
from tests.unit.triton_kernels import products

RNG = np.random.default_rng(5)


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def attention(causal: bool) -> tuple[Kernel, tuple[int, ...], tuple[Any, ...]]:
    q, k, v = (half(1, 2, 128, 64) for _ in range(3))
    out, m = np.zeros_like(q), np.zeros((1, 2, 128), np.float32)
    return products.attention, (2, 2), (0.5, m, 1, 2, q, k, v, out, 128, 64, 64, 32, 3 if causal else 1)


def persistent() -> tuple[Kernel, tuple[int, ...], tuple[Any, ...]]:
    a, b, c = half(150, 96), half(100, 96), np.zeros((150, 100), np.float16)
    return products.persistent_matmul, (3,), (a, b, c, 150, 100, 96, 64, 64, 32, 2, 3, False)


CASES: dict[str, Callable[[], tuple[Kernel, tuple[int, ...], tuple[Any, ...]]]] = {
    "attention": lambda: attention(False),
    "causal attention": lambda: attention(True),
    "persistent": persistent,
}


def outputs(kernel: Kernel, grid: tuple[int, ...], args: tuple[Any, ...]) -> list[np.ndarray]:
    kernel._programs.clear()
    mine = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    kernel[grid](*mine)
    return [a for a in mine if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("name", CASES)
def test_the_passes_change_no_value(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, grid, args = CASES[name]()
    tidy = outputs(kernel, grid, args)
    for name_of in ("in_variables", "transposed_loads"):
        monkeypatch.setattr(translation, name_of, lambda body: body)
    monkeypatch.setattr(translation, "as_columns", lambda body, types: body)
    plain = outputs(kernel, grid, args)
    kernel._programs.clear()
    assert all((a == b).all() for a, b in zip(tidy, plain, strict=True))


def test_nothing_is_reshaped_or_moved_that_need_not_be() -> None:
    kernel, grid, args = CASES["attention"]()
    program = kernel.program(*args, grid=grid)
    ops = list(walk(program.body))
    assert not any(isinstance(op, Reshape | Transpose) for op in ops)
    variables = {op.dst for op in ops if isinstance(op, Update)}
    assert [op.acc in variables for op in ops if isinstance(op, Dot)] == [False, True]
    assert any(op.box.axes == (1, 0) for op in ops if isinstance(op, Load))
