"""The clock as a user asks for it: Python, command line, programs, sweeps, kernels of threads; and what the report says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.report.report import Report

TOY = Path(__file__).parents[1] / "golden" / "report" / "toy.yaml"
GEMM = {"m": 512, "n": 512, "k": 512, "tile": (128, 128, 32)}


@cuda.jit
def add(x, y):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    y[i] = x[i] + y[i]


def gemm(**options: Any) -> Report:
    return gs.run(gs.kernels.gemm(**GEMM), TOY, **options)


def threads(**options: Any) -> Report:
    x = np.ones(64 * 256, np.float32)
    return gs.run(add, "h200", grid=64, block=256, args=(x, x.copy()), **options)


def test_the_default_is_the_highest_clock() -> None:
    for make, mhz in ((gemm, 1000.0), (threads, 1980.0)):
        assert make().clock_mhz == make(clock="boost").clock_mhz == mhz
        assert make().digest == make(clock="boost").digest


@pytest.mark.parametrize("clock", ["load", "sustained"])
def test_time_is_cycles_at_the_clock_under_load(clock: str) -> None:
    loaded = gemm(clock=clock)
    assert 500 < loaded.clock_mhz <= 1200
    assert loaded.time_us == pytest.approx(loaded.cycles / loaded.clock_mhz, rel=1e-5)
    assert loaded.protocol.clock == clock


def test_threads_have_power_too() -> None:
    report = threads(clock="load")
    assert report.power_w is not None and report.power_w > 237
    assert report.energy_uj is not None and set(report.energy_uj) == {"idle", "instructions", "L2", "DRAM"}
    assert threads(data="zeros").power_w < report.power_w  # type: ignore[operator]


def test_the_report_says_what_holds_the_clock() -> None:
    text = str(gs.run(gs.kernels.gemm(m=2048, n=2048, k=2048, tile=(256, 128, 64)), "h200", clock="sustained"))
    assert "held by board power" in text
    assert "Power holds the clock" in text and "repeated for seconds" in text


def test_wrong_words_are_told() -> None:
    with pytest.raises(GpusimError, match=r"clock = 'turbo' is unknown. Give one of boost, load, sustained"):
        gemm(clock="turbo")
    with pytest.raises(GpusimError, match="data = 'ones' is unknown"):
        gemm(data="ones")
    with pytest.raises(GpusimError, match="nothing is known of the power"):
        gs.run(gs.kernels.gemm(**GEMM), "tpu-v5e", clock="load")


def test_a_chip_without_power_has_the_other_clocks(tmp_path: Path) -> None:
    path = tmp_path / "bare.yaml"
    path.write_text(f"base: {TOY}\nname: bare\npower: null\n")
    report = gs.run(gs.kernels.gemm(**GEMM), path)
    assert report.power_w is None and report.energy_uj is None and "power_w" not in report.to_dict()
    with pytest.raises(GpusimError, match="no section 'power'"):
        gs.run(gs.kernels.gemm(**GEMM), path, clock="load")


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "gemm", "--gpu", str(TOY), "--m", "512", "--n", "512", "--k", "512", "--tile", "128x128x32", "--json", "-"]
    assert main([*arguments, "--clock", "load", "--data", "zeros"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["clock"] == {"clock": "load", "held_by": "tensor instructions", "data": "zeros"}
    assert told["power_w"] > 20 and sum(told["energy_uj"].values()) == pytest.approx(told["power_w"] * told["time_us"])
    assert main([*arguments, "--clock", "quick"]) == 2
    assert "clock = 'quick' is unknown" in capsys.readouterr().err


def test_programs_and_sweeps() -> None:
    x = np.ones(64 * 256, np.float32)
    report = gs.program([gs.Launch(add, grid=64, block=256, args=(x, x.copy()))] * 2, "h200", clock="load", launch="out")
    assert all(launch.protocol.clock == "load" for launch in report.launches)
    table = gs.sweep(gs.kernels.gemm, gpu=[str(TOY)], m=[256, 512], n=512, k=512, tile=(128, 128, 32), clock="load")
    assert list(table["power_w"] > 20) == [True, True]


def test_costs_that_are_taken_away_leave_the_clock() -> None:
    whole, without = gemm(clock="load"), gemm(clock="load", without=["dram-latency"])
    assert without.clock_mhz == whole.clock_mhz
    assert without.saved is not None and without.time_us + sum(without.saved.values()) == pytest.approx(whole.time_us)
