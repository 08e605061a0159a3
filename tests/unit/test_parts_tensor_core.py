"""Cycles of matrix instructions, and an SM as servers, on the made-up GPU (2048 FMA a cycle by wgmma, 1024 by mma.sync)."""

from __future__ import annotations

import pytest

from gpusim.parts.sm import Gpc, Sm
from gpusim.parts.tensor_core import mma_sync_cycles, wgmma_cycles
from tests.laws.specs import toy_machine

MACHINE = toy_machine()


@pytest.mark.parametrize(("n", "cycles"), [(256, 128.0), (128, 64.0), (64, 32.0)])
def test_a_wide_wgmma_takes_its_multiply_adds(n: int, cycles: float) -> None:
    assert wgmma_cycles(MACHINE, "bf16", 64, n, 16) == cycles


@pytest.mark.parametrize(("n", "cycles"), [(8, 18.0), (16, 20.0), (32, 24.0)])
def test_a_narrow_wgmma_takes_the_reading_of_its_operands(n: int, cycles: float) -> None:
    assert wgmma_cycles(MACHINE, "bf16", 64, n, 16) == cycles


def test_mma_sync_takes_its_share_of_the_tensor_cores() -> None:
    assert mma_sync_cycles(MACHINE, "bf16", 16, 8, 16) == 2.0
    assert mma_sync_cycles(MACHINE, "tf32", 16, 8, 8) == 2.0


@pytest.mark.parametrize("count", [1, 3, 32])
def test_cycles_are_never_below_the_peak_rate(count: int) -> None:
    for n in range(8, 257, 8):
        assert count * wgmma_cycles(MACHINE, "fp16", 64, n, 16) * 2048 >= count * 64 * n * 16


def test_an_sm_serves_at_the_rates_of_its_machine() -> None:
    sm = Sm(3, Gpc(1, 256.0), MACHINE)
    rates = {name: getattr(sm, name).rate for name in ("issue", "tensor", "shared", "l1", "fill", "store")}
    assert rates == {"issue": 1.0, "tensor": 1.0, "shared": 1.0, "l1": 1.0, "fill": 64.0, "store": 32.0}
    assert (sm.index, sm.gpc.half, sm.gpc.port.rate, sm.warm) == (3, 1, 256.0, False)
