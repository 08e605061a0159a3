"""A chip that nobody here measured: what random data cost a large product under its power limit, as published."""

from __future__ import annotations

import pytest

import gpusim as gs

#: TFLOP/s of one kernel with random normal data and with zeros, fp16 8192^3, 400 W (thonking.ai; published-results 1.5)
RANDOM, ZEROS = 257, 295


def test_random_data_costs_what_is_published() -> None:
    program = gs.kernels.gemm(8192, 8192, 8192, tile=(256, 128, 32), dtype="fp16")
    random, zeros = (gs.run(program, "a100-sxm-80gb", clock="sustained", data=data) for data in ("random", "zeros"))
    assert random.tflops / zeros.tflops == pytest.approx(RANDOM / ZEROS, rel=0.05)
    assert random.clock_held_by == "board power" and zeros.clock_held_by == ""
    assert random.power_w == pytest.approx(400, rel=0.02)
