"""Launches behind each other: what L2 keeps between them, what lies between them in time, and what the report says."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.launch.program import timeline
from gpusim.spec.load import load_spec

GPU = "h200"
MIB = 1 << 20
US = 1_000_000


@cuda.jit
def produce(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = i


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]


@cuda.jit
def gather(x, at, y):
    i = cuda.grid(1)
    y[i] = x[at[i]]


def floats(mib: float) -> np.ndarray:
    return np.zeros(int(mib * MIB) // 4, np.float32)


def launch(kernel: Any, *args: Any) -> gs.Launch:
    return gs.Launch(kernel, grid=args[0].size // 256, block=256, args=args)


def pair(mib: float, **options: Any) -> gs.ProgramReport:
    x, y = floats(mib), floats(mib)
    return gs.program([launch(produce, x), launch(double, x, y)], GPU, **{"values": False, **options})


def test_what_fits_is_found_in_l2_by_the_next_launch() -> None:
    first, second = pair(16).launches
    assert second.dram_read_bytes == 0 and second.l2_hit_rate == 1
    assert [first.protocol.l2, second.protocol.l2] == ["cold", "kept"]
    assert "as the launches before left it" in str(second)


def test_what_does_not_fit_comes_from_dram() -> None:
    first, second = pair(128).launches
    assert second.dram_read_bytes == 128 * MIB
    assert first.dram_write_bytes + second.dram_write_bytes > 200 * MIB, "what is not dirty in L2 at the end was written, by either launch"


def test_values_are_computed_in_order_and_change_no_traffic() -> None:
    x, y = floats(1), floats(1)
    report = gs.program([launch(produce, x), launch(double, x, y)], GPU)
    assert (y == 2 * np.arange(y.size)).all()
    assert report.traffic == pair(1).traffic and report.time_ps == pair(1).time_ps


def test_where_no_classes_can_be_proved_l2_counts_all_the_same() -> None:
    """More CTAs than are executed where nothing lies in L2."""
    x, y, at = floats(4), floats(4), np.arange(MIB, dtype=np.int32)[::-1].copy()
    made = [launch(produce, x), gs.Launch(gather, grid=MIB // 256, block=256, args=(x, at, y))]
    second = gs.program(made, GPU, values=False).launches[1]
    assert second.dram_read_bytes == 4 * MIB, "the indices only"


def test_two_views_of_one_array_share_their_lines() -> None:
    x, y = floats(4), floats(2)
    half = x.size // 2
    report = gs.program([launch(produce, x), launch(double, x[half:], y), launch(double, floats(2), y)], GPU, values=False)
    assert [r.dram_read_bytes for r in report.launches] == [0, 0, 2 * MIB]


def test_one_launch_is_what_run_gives() -> None:
    x = floats(2)
    for overhead in ("out", "in"):
        alone = gs.run(produce, GPU, grid=x.size // 256, block=256, args=(x,), values=False, launch=overhead)
        report = gs.program([launch(produce, x)], GPU, values=False, launch=overhead)
        assert report.time_ps == pytest.approx(alone.run.time_ps, abs=1)
        assert report.traffic == alone.traffic


@pytest.mark.parametrize(
    ("overhead", "submit", "begins", "total"),
    [
        ("out", "graph", [0, 3, 5], 15.0),
        ("in", "graph", [0, 3, 5 - 1.01], 1.7 + 15 - 2 * 1.01),
        # the host brings the second after 4.02 us and the third after 8.04, when the device waits for it
        ("in", "stream", [0, 4.02, 8.04], 1.7 + 8.04 + 10 - 1.01),
    ],
)
def test_what_lies_between(overhead: str, submit: str, begins: list[float], total: float) -> None:
    found = timeline([3 * US, 2 * US, 10 * US], load_spec(GPU), overhead, submit)
    assert list(found.begins) == pytest.approx([b * US for b in begins])
    assert found.total == pytest.approx(total * US)


def test_long_launches_hide_the_host() -> None:
    spec, times = load_spec(GPU), [20 * US] * 5
    assert timeline(times, spec, "in", "stream") == timeline(times, spec, "in", "graph")


def test_a_thousand_empty_launches() -> None:
    """micro.json scheduling/empty_kernel: 597 ns a node, about 4 us a launch of the host."""
    times = [1_604_343] * 1000
    assert timeline(times, load_spec(GPU), "in", "graph").total / 1e6 == pytest.approx(597, rel=0.01)
    assert timeline(times, load_spec(GPU), "in", "stream").total / 1e6 == pytest.approx(4020, rel=0.01)


def test_a_machine_that_does_not_say_what_lies_between() -> None:
    spec = load_spec(GPU)
    silent = spec.model_copy(update={"launch": spec.launch.model_copy(update={"between": None})})
    assert timeline([US, US], silent, "out", "graph").total == 2 * US
    assert timeline([US], silent, "in", "graph").total == pytest.approx(2.7 * US)
    with pytest.raises(gs.GpusimError, match=r"launch\.between is not given"):
        timeline([US, US], silent, "in", "graph")


def test_programs_of_tiles_have_an_l2_of_their_own_and_the_report_says_so() -> None:
    x = floats(1)
    report = gs.program([gs.kernels.gemm(m=256, n=256, k=256), launch(produce, x), gs.kernels.gemm(m=256, n=256, k=256)], GPU, values=False, l2="foreign-dirty")
    tiles = report.launches[0], report.launches[2]
    assert tiles[0].run == tiles[1].run and tiles[0].protocol.l2 == "foreign-dirty"
    assert any("programs with matrix products (gemm)" in note for note in report.notes) and "matrix products" in str(report)
    assert not pair(1).notes


def test_foreign_lines_leave_once() -> None:
    alone = gs.run(produce, GPU, grid=64 * MIB // 1024, block=256, args=(floats(64),), values=False, l2="foreign-dirty")
    x, z = floats(64), floats(64)
    dirty, cold = (gs.program([launch(produce, x), launch(produce, z)], GPU, values=False, l2=l2) for l2 in ("foreign-dirty", "cold"))
    extra = [a.dram_write_bytes - b.dram_write_bytes for a, b in zip(dirty.launches, cold.launches, strict=True)]
    assert extra[0] > 20e6 and extra[1] == 0
    assert dirty.launches[0].traffic == alone.traffic


def test_the_report_has_a_line_for_each_and_a_sum() -> None:
    report = pair(16, launch="in", submit="stream", clock=1500)
    lines = str(report).splitlines()
    assert [line.split()[:2] for line in lines[3:6]] == [["1", "produce"], ["2", "double"], ["total", lines[5].split()[1]]]
    assert "one by one from the host" in str(report)
    data = json.loads(report.json_text())
    assert data["time_us"] == report.time_us and len(data["launches"]) == 2
    assert data["dram_write_bytes"] == sum(one["dram_write_bytes"] for one in data["launches"])
    assert data["launches"][1]["begin_us"] >= data["launches"][0]["end_us"]
    assert data["protocol"] == {"l2": "cold", "launch": "in", "submit": "stream", "clock_mhz": [1500.0]}
    assert report.digest != pair(16, launch="in", clock=1500).digest and report.digest == pair(16, launch="in", submit="stream", clock=1500).digest


def test_short_launches_are_bound_by_what_lies_between() -> None:
    report = gs.program([launch(produce, floats(0.001))] * 10, GPU, values=False, launch="in", submit="stream")
    assert report.bottleneck == "launch overhead" and report.between_us > report.time_us / 2


@pytest.mark.parametrize(
    ("launches", "options", "text"),
    [
        ([], {}, "a program of no launches"),
        ([3], {}, "launch 1 of the program is 3, which is no launch"),
        ([gs.Launch(len, grid=1, block=1)], {}, "which is no launch"),
        (None, {"l2": "warm"}, "Give the launches twice"),
        (None, {"submit": "post"}, "submit = 'post' is unknown. Give one of: graph, stream."),
        (None, {"l2": "lukewarm"}, "l2 = 'lukewarm' is unknown"),
    ],
)
def test_mistakes(launches: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(gs.GpusimError) as caught:
        gs.program(launches if launches is not None else [launch(produce, floats(0.001))], GPU, **options)
    assert text in str(caught.value)
