"""The timeline of programs of tiles: lanes without overlaps, and the picture."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusim as gs
from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.report.timeline import lanes_of
from gpusim.trace.run import Span


def test_lanes_hold_spans_one_after_the_other() -> None:
    spans = [Span(0, 0, 0, 5, "copy_in"), Span(0, 1, 2, 6, "copy_in"), Span(0, 2, 5, 8, "copy_in"), Span(0, 0, 5, 9, "compute"), Span(0, 0, 9, 10, "copy_out")]
    lanes = dict(lanes_of(spans))
    assert list(lanes) == ["core 0 copy in 1", "core 0 copy in 2", "core 0 compute", "core 0 copy out 1"]
    assert [s.cta for s in lanes["core 0 copy in 1"]] == [0, 2]


@pytest.mark.parametrize("gpu, reasons", [("tpu-v5p", {"copy_in", "compute", "copy_out"}), ("h100", {"prologue", "step", "epilogue"})])
def test_every_step_is_there(gpu: str, reasons: set[str], tmp_path: Path) -> None:
    report = gs.run(gs.kernels.gemm(1024, 1024, 512, tile="128x128x128"), gpu=gpu, timeline=True)
    assert {s.reason for s in report.run.spans} == reasons
    for _, spans in lanes_of(report.run.spans):
        assert all(a.end <= b.start for a, b in zip(spans, spans[1:], strict=False))
    assert max(s.end for s in report.run.spans) <= report.cycles
    picture = tmp_path / "steps.png"
    report.plot_timeline(picture)
    assert picture.stat().st_size > 5000
    same = gs.run(gs.kernels.gemm(1024, 1024, 512, tile="128x128x128"), gpu=gpu)
    assert same.time_us == report.time_us and not same.run.spans
    with pytest.raises(GpusimError, match="timeline=True"):
        same.plot_timeline()


def test_a_kernel_that_is_timed_as_threads_says_so() -> None:
    with pytest.raises(GpusimError, match="one of warps"):
        gs.run(gs.kernels.softmax(64, 256), gpu="h100", timeline=True).plot_timeline()


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "steps.svg"
    assert main(["run", "gemm", "--gpu", "tpu-v5e", "--m", "512", "--n", "512", "--k", "512", "--timeline", str(picture)]) == 0
    assert picture.exists() and f"wrote {picture}" in capsys.readouterr().out
    assert main(["run", "gemm", "--timeline", "steps.txt"]) == 2
