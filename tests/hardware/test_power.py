"""Loops of two seconds on the measured GPU: SM clock within 4 %, board power within 15 %, with random data and with zeros."""

from __future__ import annotations

import pytest

from gpusim.probe.power import sustained
from gpusim.report.power import power_w
from gpusim.spec.load import load_gpu
from gpusim.validate.mapping import DEFAULT_GPU

#: load, data -> MHz, W: medians of the second second, micro.json group power
MEASURED = {
    ("FFMA, 16 warps/SM, ILP 8", "random"): (1979.9, 521.2),
    ("FFMA, 16 warps/SM, ILP 8", "zeros"): (1980.0, 263.6),
    ("mma.sync m16n8k16 bf16, 16 warps/SM, ILP 4", "random"): (1814.5, 685.8),
    ("mma.sync m16n8k16 bf16, 16 warps/SM, ILP 4", "zeros"): (1815.0, 247.9),
    ("wgmma m64n256k16 bf16, A and B in smem, 2 warpgroups/SM", "random"): (1619.9, 687.6),
    ("wgmma m64n256k16 bf16, A and B in smem, 2 warpgroups/SM", "zeros"): (1754.8, 277.7),
    ("wgmma m64n256k32 e4m3, A and B in smem, 2 warpgroups/SM", "random"): (1586.8, 677.0),
    ("wgmma m64n256k32 e4m3, A and B in smem, 2 warpgroups/SM", "zeros"): (1680.0, 275.5),
    ("DRAM read", "random"): (1979.5, 657.9),
    ("DRAM read", "zeros"): (1980.0, 426.5),
}


@pytest.mark.parametrize(("load", "data"), MEASURED, ids=[f"{load.split(',')[0]} {data}" for load, data in MEASURED])
def test_two_seconds(load: str, data: str) -> None:
    spec = load_gpu(DEFAULT_GPU)
    run = sustained(load, data, spec)
    mhz, watts = MEASURED[load, data]
    assert run.protocol.clock_mhz == pytest.approx(mhz, rel=0.04)
    assert power_w(run, spec) == pytest.approx(watts, rel=0.15)
