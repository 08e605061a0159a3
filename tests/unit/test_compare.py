"""`gs.compare` and `gpusim compare`: one kernel on several devices, side by side."""

from __future__ import annotations

import json

import pytest

import gpusim as gs
from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.report.side_by_side import CONCEPTS, Comparison, concepts


@pytest.fixture(scope="module")
def made() -> Comparison:
    return gs.compare(gs.kernels.gemm(1024, 1024, 1024), ["a100", "tpu-v4", "tpu-v5p"])


def test_a_column_for_each_device_and_a_line_for_each_number(made: Comparison) -> None:
    lines = str(made).splitlines()
    assert lines[0] == "gemm m=1024 n=1024 k=1024 dtype=bf16"
    assert lines[1].split() == ["a100-sxm-80gb", "tpu-v4", "tpu-v5p"]
    assert {line[:30].strip() for line in lines[2:]} >= {"time", "share of the published peak", "matrix work that is padding", "memory traffic", "bottleneck"}
    assert made.mixed


def test_numbers_are_those_of_the_reports(made: Comparison) -> None:
    numbers = made.to_dict()
    assert list(numbers) == ["a100-sxm-80gb", "tpu-v4", "tpu-v5p"]
    for report in made.reports:
        own = numbers[report.gpu]
        assert own["time_us"] == report.time_us and own["bottleneck"] == report.bottleneck
        assert own["dram_rate"] * report.time_us == pytest.approx(own["dram_bytes"] * 1e6)
    assert numbers["tpu-v4"]["tile"] != numbers["a100-sxm-80gb"]["tile"], "an open tile is chosen for each device"
    assert numbers["tpu-v4"]["on_chip_bytes"] == made.reports[1].run.counters["vmem_bytes"]


def test_a_device_that_cannot_says_why() -> None:
    made = gs.compare(gs.kernels.gemm(1024, 1024, 1024, dtype="fp16"), ["a100", "tpu-v4"])
    assert list(made.refused) == ["tpu-v4"] and "multiply no fp16" in str(made)
    assert not made.mixed
    with pytest.raises(GpusimError, match="nothing to compare.*multiply no fp16"):
        gs.compare(gs.kernels.gemm(1024, 1024, 1024, dtype="fp16"), ["tpu-v4"])
    with pytest.raises(GpusimError, match="no device is given"):
        gs.compare(gs.kernels.gemm(1024, 1024, 1024), [])


def test_small_batches_hurt_the_large_array() -> None:
    """The lesson: with 8 rows a chip lives off its memory, whatever its arrays could do."""
    busy = {}
    for m in (8, 4096):
        for name, own in gs.compare(gs.kernels.gemm(m, 4096, 4096), ["h100", "tpu-v5e", "tpu-v6e"]).to_dict().items():
            busy[name, m] = own["fraction_of_peak"]
    assert all(busy[name, 8] < 0.05 and busy[name, 4096] > 0.6 for name in ("h100-sxm", "tpu-v5e", "tpu-v6e"))


def test_few_rows_take_a_tile_of_few_rows() -> None:
    made = gs.compare(gs.kernels.gemm(8, 2048, 2048), ["h100", "tpu-v5e"])
    tiles = [report.params["tile"] for report in made.reports]
    assert tiles[0].startswith("16x") and tiles[1].startswith("8x")
    assert made.reports[0].time_us < gs.run(gs.kernels.gemm(8, 2048, 2048), gpu="h100").time_us
    fixed = gs.compare(gs.kernels.gemm(8, 2048, 2048, tile="128x128x128"), ["h100", "tpu-v5e"])
    assert [report.params["tile"] for report in fixed.reports] == ["128x128x128"] * 2


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = "compare gemm --gpu a100,tpu-v5e --m 512 --n 512 --k 512".split()
    assert main(line) == 0
    out = capsys.readouterr().out
    assert "tpu-v5e" in out and CONCEPTS[0][0] in out and out.endswith(concepts() + "\n")
    assert main([*line, "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert set(json.loads(captured.out)) == {"a100-sxm-80gb", "tpu-v5e"} and CONCEPTS[0][0] in captured.err
    assert main([*line, "--no-concepts"]) == 0
    assert CONCEPTS[0][0] not in capsys.readouterr().out
    assert main("compare gemm --gpu a100,tpu-v9".split()) == 2
    assert "unknown GPU 'tpu-v9'" in capsys.readouterr().err


def test_block_is_another_name_of_tile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("run gemm --gpu tpu-v5e --m 1024 --n 1024 --k 1024 --block 256x512x256".split()) == 0
    assert "tile=256x512x256" in capsys.readouterr().out
    assert main("run gemm --gpu tpu-v5e --m 1024 --n 1024 --k 1024 --block 256x64x256".split()) == 2
    assert "The nearest legal block of 'b' is 256x128: tile 256x128x256." in capsys.readouterr().err.replace("\n", " ")


def test_variants_of_a_kernel_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    from gpusim.cli.app import main

    assert main("compare attention --variant naive,fa2 --heads 4 --seq 512 --gpu h200".split()) == 0
    out = capsys.readouterr().out
    head = out.splitlines()[0].split()
    assert head == ["naive", "fa2"]
    moved = next(line for line in out.splitlines() if line.strip().startswith("s moved")).split()
    assert moved[-1] == "-", "only the naive way moves scores"
