"""Launches on a machine without some of its costs: what is taken away saves what it cost, and the parts are the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.kernels.simt import LIBRARY
from gpusim.launch.ablations import chosen
from gpusim.report.report import Report

GPU = "h200"


def transpose(n: int, pad: int, without: Sequence[str] = (), **options: Any) -> Report:
    entry = LIBRARY["transpose_tiled"]
    params: dict[str, Any] = {**entry.params, "n": n, "pad": pad}
    shape = entry.launch(params)
    args: list[Any] = [np.zeros(n * n, np.float32), np.zeros(n * n, np.float32), n]
    return gs.run(entry.build(params), GPU, grid=shape.grid, block=shape.block, args=args, values=False, without=without, **options)


def picoseconds(report: Report) -> int:
    return report.run.time_ps + sum(part for _, part in report.run.saved)


@pytest.mark.parametrize("names", [["bank-conflicts"], ["all"], ["all", "merging"]])
def test_parts_are_the_whole_time_of_a_kernel_of_threads(names: list[str]) -> None:
    left = transpose(256, 0, names)
    assert [name for name, _ in left.run.saved] == list(chosen(names))
    assert picoseconds(left) == transpose(256, 0).run.time_ps


def test_parts_are_the_whole_time_of_a_program_of_tiles() -> None:
    program = gs.kernels.gemm(m=512, n=512, k=512)
    left = gs.run(program, GPU, without=["all", "merging"], l2="foreign-dirty")
    assert picoseconds(left) == gs.run(program, GPU, l2="foreign-dirty").run.time_ps
    assert left.run.counters["merged_sectors"] == 0


def test_without_conflicts_a_tile_needs_no_padding() -> None:
    """32 passes become one; the padded tile has none to lose."""
    conflicts, padded = transpose(512, 0, ["bank-conflicts"]), transpose(512, 1, ["bank-conflicts"])
    assert conflicts.run.saved[0][1] > 0.2 * picoseconds(conflicts)
    assert padded.run.saved[0][1] == 0
    assert conflicts.time_us == pytest.approx(padded.time_us, rel=0.1)
    assert not conflicts.bank_conflicts


def test_without_misses_nothing_comes_from_dram() -> None:
    left = transpose(512, 1, ["l2-misses"])
    assert left.dram_read_bytes == 0 and left.run.counters["fabric_sectors"] == 0
    assert left.time_us < transpose(512, 1).time_us


def test_launch_overhead_is_part_of_the_launch() -> None:
    out, into = transpose(256, 1, ["launch"]), transpose(256, 1, ["launch"], launch="in")
    assert into.time_us == pytest.approx(out.time_us)
    assert into.run.saved[0][1] > out.run.saved[0][1]


def test_a_run_without_a_cost_has_a_digest_of_its_own() -> None:
    digests = {transpose(256, 1, names).digest for names in ([], ["barriers"], ["atomics"])}
    assert len(digests) == 3


def test_the_report_says_what_each_saves(capsys: pytest.CaptureFixture[str]) -> None:
    left = transpose(256, 0, ["bank-conflicts", "launch"])
    assert left.saved is not None and list(left.saved) == ["launch", "bank-conflicts"]
    assert left.to_dict()["saved_us"] == left.saved
    assert "\nwithout " in str(left) and "what is left" in str(left)
    assert transpose(256, 0).saved is None and "saved_us" not in transpose(256, 0).to_dict()


def test_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--m", "256", "--n", "256", "--k", "256", "--gpu", GPU, "--without", "launch,dram-latency"]) == 0
    assert "without=launch,dram-latency" in capsys.readouterr().out
    assert main(["run", "saxpy", "--n", "1024", "--gpu", GPU, "--without", "l2-misses"]) == 0
    assert "l2-misses" in capsys.readouterr().out
    assert main(["run", "saxpy", "--n", "1024", "--without", "l2-miss"]) == 2
    assert "Did you mean 'l2-misses'?" in capsys.readouterr().err


def test_an_unknown_cost_is_told() -> None:
    with pytest.raises(GpusimError, match="without = 'gravity' is unknown"):
        transpose(256, 0, ["gravity"])
