"""Sweeps: what is finished is kept, what cannot run is told, and nothing runs twice. A stand-in takes the simulator's place."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

import gpusim as gs
from gpusim.errors import GpusimError
from gpusim.options import Options
from gpusim.report.plots import Point as Mark
from gpusim.report.plots import Series, cliffs, saw_tooth, spread
from gpusim.sweeps import points as points_module
from gpusim.sweeps.axes import from_python
from gpusim.sweeps.cache import Cache
from gpusim.sweeps.execute import Interrupted, execute
from gpusim.sweeps.points import make_points
from gpusim.sweeps.table import columns, csv_text
from tests.unit.made_runs import fake_launch, fake_simulate

TILE = (256, 128, 32)
SWEEP = ["sweep", "gemm", "--gpu", "a100", "--m", "512:2048:64", "--n", "m", "--k", "m", "--tile", "256x128x32"]


@pytest.fixture
def launch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_launch()
    monkeypatch.setitem(sys.modules, "gpusim.launch.run", module)
    return module


def test_dataframe_in_the_order_of_the_axes(launch: ModuleType) -> None:
    df = gs.sweep(gs.kernels.gemm, gpu=["a100", "h100"], m=range(256, 1024, 256), n="m", k=512, tile=TILE)
    assert list(df["gpu"]) == ["a100-sxm-80gb"] * 3 + ["h100-sxm"] * 3
    assert list(df["m"]) == [256, 512, 768] * 2 and (df["n"] == df["m"]).all() and (df["k"] == 512).all()
    assert {"tflops", "time_us", "waves", "tail_ctas", "stall_barrier", "l2_hit_rate", "digest"} <= set(df.columns) and "error" not in df.columns


def test_finished_points_are_not_simulated_again(launch: ModuleType, tmp_path: Path) -> None:
    kept = tmp_path / "points.jsonl"
    first = gs.sweep(gs.kernels.gemm, gpu="a100", m=[256, 512], cache=kept)
    assert len(launch.calls) == 2 and len(kept.read_text().splitlines()) == 2
    again = gs.sweep(gs.kernels.gemm, gpu="a100", m=[256, 512, 768], cache=kept)
    assert len(launch.calls) == 3
    assert again.iloc[:2].to_dict("records") == first.to_dict("records")


def test_a_line_cut_in_half_is_passed_over(launch: ModuleType, tmp_path: Path) -> None:
    kept = tmp_path / "points.jsonl"
    gs.sweep(gs.kernels.gemm, gpu="a100", m=[256, 512, 768], cache=kept)
    whole = kept.read_text()
    kept.write_text(whole[:-40])
    gs.sweep(gs.kernels.gemm, gpu="a100", m=[256, 512, 768], cache=kept)
    assert len(launch.calls) == 4
    assert len(Cache(kept).load()) == 3
    kept.write_text('null\n[1]\n{"key": 3}\n\n' + whole)
    assert len(Cache(kept).load()) == 3


@pytest.mark.parametrize("change", [{"l2": "foreign-dirty"}, {"launch": "in"}, {"clock": 1000.0}, {"exact": True}, {"tile": (128, 128, 32)}, {"gpu": "h100"}])
def test_the_key_knows_everything_that_changes_the_result(launch: ModuleType, tmp_path: Path, change: dict) -> None:
    given: dict = {"gpu": "a100", "m": [256], "tile": TILE, "cache": tmp_path / "points.jsonl"}
    gs.sweep(gs.kernels.gemm, **given)
    gs.sweep(gs.kernels.gemm, **(given | change))
    assert len(launch.calls) == 2


def test_a_changed_number_or_a_changed_model_is_another_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("base: a100\n")
    grid = from_python(gs.kernels.gemm, str(mine), {"m": 256})
    before = make_points(gs.kernels.gemm, grid, Options())[0].key
    mine.write_text("base: a100\nl2:\n  capacity: 80MiB\n")
    after = make_points(gs.kernels.gemm, grid, Options())[0].key
    monkeypatch.setattr(points_module, "source_digest", lambda: "another model")
    assert len({before, after, make_points(gs.kernels.gemm, grid, Options())[0].key}) == 3


def test_what_a_device_cannot_run_is_a_row_with_the_reason(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(program, spec, **options):  # type: ignore[no-untyped-def]
        if program.params["warps"] == 32:
            raise GpusimError("too many warps.")
        return fake_simulate(program, spec, **options)

    monkeypatch.setattr(launch, "simulate", picky)
    df = gs.sweep(gs.kernels.gemm, gpu="a100", m=512, warps=[8, 32])
    assert df["error"].isna().tolist() == [True, False] and df["error"][1] == "too many warps." and df["warps"].tolist() == [8, 32]
    with pytest.raises(GpusimError, match="no point of the sweep can run. The first: too many warps"):
        gs.sweep(gs.kernels.gemm, gpu="a100", m=512, warps=[32])


def test_mistakes_are_told_before_anything_runs(launch: ModuleType, tmp_path: Path) -> None:
    for axes, says in (({"m": [512, 0]}, "m = 0"), ({"m": [512], "jobs": 0}, "jobs = 0"), ({"m": [512], "plot": tmp_path / "x.png"}, "nothing to plot"),
                       ({"m": [512], "cache": tmp_path / "no" / "x"}, "cannot keep points"), ({"m": [512], "l2": "hot"}, "l2 = 'hot'")):  # fmt: skip
        with pytest.raises(GpusimError, match=says):
            gs.sweep(gs.kernels.gemm, gpu="a100", **axes)
    assert launch.calls == []


def test_a_kernel_that_needs_a_value_says_so(launch: ModuleType) -> None:
    with pytest.raises(GpusimError, match="needs a value for width"):
        gs.sweep(lambda width, m=4: gs.kernels.gemm(m), gpu="a100", m=512)


def test_interruption_keeps_what_is_finished(launch: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stopped(program, spec, **options):  # type: ignore[no-untyped-def]
        if len(launch.calls) == 2:
            raise KeyboardInterrupt
        return fake_simulate(program, spec, **options)

    monkeypatch.setattr(launch, "simulate", stopped)
    todo = make_points(gs.kernels.gemm, from_python(gs.kernels.gemm, "a100", {"m": [256, 512, 768]}), Options())
    with pytest.raises(Interrupted) as stop:
        execute(todo, cache=tmp_path / "points.jsonl")
    assert [row["m"] for row in stop.value.rows] == [256, 512] and len(Cache(tmp_path / "points.jsonl").load()) == 2


def start(folder: Path, pause: float) -> subprocess.Popen:
    """The command line with the stand-in, in a process of its own."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        f"from tests.unit import made_runs; sys.modules['gpusim.launch.run'] = made_runs.fake_launch({pause})\n"
        "from gpusim.sweeps import points; points.source_digest = lambda: 'fixed'\n"
        f"from gpusim.cli.app import main; raise SystemExit(main({[*SWEEP, '--csv', 'out.csv']!r}))"
    )
    return subprocess.Popen([sys.executable, "-c", code], cwd=folder, stderr=subprocess.PIPE, text=True)


def stop_after(process: subprocess.Popen, kept: Path, lines: int, how: signal.Signals) -> str:
    """Send `how` when `kept` has so many lines; what the process wrote to stderr."""
    end = time.monotonic() + 20
    while not (kept.exists() and len(kept.read_text().splitlines()) >= lines) and time.monotonic() < end:
        time.sleep(0.01)
    os.kill(process.pid, how)
    return process.communicate(timeout=20)[1]


@pytest.mark.parametrize(("how", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_finished_point_survives_ctrl_c_and_a_kill(tmp_path: Path, how: signal.Signals, status: int) -> None:
    kept = tmp_path / "out.csv.points.jsonl"
    process = start(tmp_path, 0.05)
    told = stop_after(process, kept, 5, how)
    assert process.returncode == status
    finished = len(Cache(kept).load())
    assert 5 <= finished < 25
    if how == signal.SIGINT:
        assert f"kept {finished} points" in told and "Traceback" not in told
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + finished
    process = start(tmp_path, 0.0)
    told = process.communicate(timeout=20)[1]
    assert process.returncode == 0 and f"{finished} of 25 points were finished before" in told
    assert [int(row["m"]) for row in csv.DictReader((tmp_path / "out.csv").open())] == list(range(512, 2049, 64))


def test_csv_has_the_columns_of_all_rows() -> None:
    rows = [{"a": 1, "error": "no"}, {"a": 2, "b": 0.5}]
    assert columns(rows) == ["a", "b", "error"]
    assert csv_text(rows) == "a,b,error\n1,,no\n2,0.5,\n"
    assert csv_text([]) == "\n"


def marks(*waves: int) -> Series:
    return Series("s", tuple(Mark(i * 16.0, 1.0, 1.0, 100, w, 3) for i, w in enumerate(waves)))


def test_cliffs_are_where_a_wave_is_added() -> None:
    assert [p.x for p in cliffs(marks(1, 1, 2, 2, 4, 3, 4))] == [32.0, 64.0, 96.0]
    assert Mark(1793, 1.0, 1.0, 120, 2, 12).label == "1793: 120 tiles, 2 waves, tail 12"


@pytest.mark.parametrize("wanted", [[5.0], [5.0, 5.0, 5.0], [0.0, 0.1, 9.9, 10.0], [1.0, 4.0, 9.0], [float(i) / 4 for i in range(40)], []])
def test_labels_keep_their_distance_and_stay_inside(wanted: list[float]) -> None:
    placed = spread(wanted, 1.0, 0.0, 10.0)
    assert len(placed) == len(wanted) and all(-1e-9 <= x <= 10 + 1e-9 for x in placed)
    room = min(1.0, 10.0 / max(1, len(wanted) - 1))
    assert all(b - a >= room - 1e-9 for a, b in zip(placed, placed[1:], strict=False))
    if wanted == [1.0, 4.0, 9.0]:
        assert placed == wanted
    if wanted == [5.0, 5.0, 5.0]:
        assert placed == [4.0, 5.0, 6.0]


def test_every_cliff_of_the_picture_is_labelled_without_overlap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    drawn: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))[1])
    for series, expected in (([marks(1, 2, 3)], 2), ([marks(*range(1, 41)), marks(*range(2, 42))], 78), ([marks(1, 1)], 0), ([], 0)):
        saw_tooth(series, "m", "title", tmp_path / "x.png")
        figure = drawn.pop()
        texts = figure.axes[0].texts
        assert len(texts) == expected and (tmp_path / "x.png").stat().st_size > 1000
        boxes = [t.get_window_extent(figure.canvas.get_renderer()) for t in texts]
        assert not [1 for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.overlaps(b)]


def test_the_picture_of_a_sweep(launch: ModuleType, tmp_path: Path) -> None:
    gs.sweep(gs.kernels.gemm, gpu=["a100", "h100"], m=range(256, 2048, 256), n="m", tile=TILE, plot=tmp_path / "x.svg")
    svg = (tmp_path / "x.svg").read_text()
    assert "a100-sxm-80gb" in svg and "h100-sxm" in svg


def test_rows_in_the_cache_are_plain_json(launch: ModuleType, tmp_path: Path) -> None:
    gs.sweep(gs.kernels.gemm, gpu="a100", m=256, cache=tmp_path / "points.jsonl")
    entry = json.loads((tmp_path / "points.jsonl").read_text())
    assert set(entry) == {"key", "row"} and entry["row"]["m"] == 256


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    axes: dict = {"gpu": "a100", "m": [256, 512], "n": 256, "k": 128}
    one = gs.sweep(gs.kernels.gemm, **axes)
    two = gs.sweep(gs.kernels.gemm, **axes, jobs=2, cache=tmp_path / "points.jsonl")
    assert one.to_dict("records") == two.to_dict("records") and len(Cache(tmp_path / "points.jsonl").load()) == 2
