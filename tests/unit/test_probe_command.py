"""`gpusim probe` from end to end, on few and small probes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.probe.command import probe, run_record
from gpusim.probe.records import Record
from gpusim.spec.load import load_spec
from gpusim.validate.mapping import DEFAULT_GPU

PNG = b"\x89PNG"


@pytest.fixture
def measured(tmp_path: Path) -> str:
    """Four records of barriers, one of them wrong by 10 %, and what cannot be compared."""
    rows = [
        {"group": "scheduling", "name": "barrier", "params": {"kind": "__syncthreads", "warps": w}, "value": 12.6 + 2 * w, "unit": "cycles"} for w in (1, 2)
    ]
    rows.append({"group": "scheduling", "name": "barrier", "params": {"kind": "__syncthreads", "warps": 4}, "value": (12.6 + 8) / 0.9, "unit": "cycles"})
    rows.append({"group": "scheduling", "name": "barrier", "params": {"kind": "nobody's", "warps": 4}, "value": 1, "unit": "cycles"})
    rows.append({"group": "scheduling", "name": "sm_clock", "params": {"when": "start"}, "value": 1980, "unit": "MHz"})
    rows.append({"group": "nobody", "name": "board_power", "params": {}, "value": 600, "unit": "W"})
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"results": rows}))
    return str(path)


def test_records_are_compared_and_told_as_text_and_json(measured: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert main(["probe", "all", "--compare", measured, "--json", str(out), "--jobs", "1", "--worst", "1"]) == 0
    text = capsys.readouterr().out
    told = json.loads(out.read_text())
    assert list(told["probes"]) == ["scheduling"], "groups without records are not there"
    found = told["probes"]["scheduling"]
    assert (found["records"], found["unsupported"]) == (3, 1)
    assert found["worst"] == pytest.approx(-0.1, abs=0.03) and "warps=4" in found["worst_record"]
    assert found["mape"] < 0.06
    assert list(told["excluded"]["scheduling"].values()) == [1]
    assert "nobody's" in text and "sm_clock" in text and "-8.3%" in text


def test_without_a_file_the_points_are_simulated_and_nothing_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "scheduling", "--name", "barrier", "--jobs", "1"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("barrier")]
    values = [float(line[-2]) for line in lines]
    assert len(values) == 6 and values == sorted(values) and values[0] > 12
    assert all(line[-1] == "cycles" for line in lines)


def test_json_on_stdout_is_alone_there(measured: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "scheduling", "--compare", measured, "--json", "-", "--jobs", "1"]) == 0
    out, err = capsys.readouterr()
    assert "probes" in json.loads(out) and "MAPE" in err


def test_pictures_are_drawn_for_what_was_simulated(measured: str, tmp_path: Path) -> None:
    probe("scheduling", gpu=DEFAULT_GPU, compare_with=measured, plots=str(tmp_path / "plots"), jobs=1)
    (picture,) = (tmp_path / "plots").iterdir()
    assert picture.name == "scheduling-barriers.png" and picture.read_bytes().startswith(PNG)


def test_two_processes_give_what_one_gives(measured: str) -> None:
    one, two = (probe("scheduling", gpu=DEFAULT_GPU, compare_with=measured, jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_a_curve_in_a_list_is_compared_at_its_steps() -> None:
    times = tuple(100.0 for _ in range(34))
    record = Record("s/w#0", "scheduling", "wave_quantization", {"ctas_per_sm": 1, "threads": 32, "ffma_chain": 64}, "ns", 100.0, times)
    row = run_record(record, load_spec(DEFAULT_GPU))
    assert row.status == "ok" and [p.record.params["grid"] for p in row.points] == [1, 33, 34]


def test_a_failed_measurement_is_excluded_with_its_reason() -> None:
    row = run_record(Record("alu/x#0", "alu", "x", {}, error="no memory"), load_spec(DEFAULT_GPU))
    assert row.status == "excluded" and "no memory" in row.reason


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["probe", "memory"], "no group of probes 'memory'"),
        (["probe", "alu", "--gpu", "none"], "none"),
        (["probe", "alu", "--name", "fdiv"], "no record 'fdiv'"),
        (["probe", "alu", "--compare", "missing.json"], "missing.json"),
        (["probe", "alu", "--json", "/no/such/folder/x.json"], "--json"),
        (["probe", "alu", "--jobs", "0"], "--jobs"),
        (["probe", "scheduling", "--name", "barrier", "--jobs", "1", "--plot", "/proc/plots"], "--plot"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    err = capsys.readouterr().err
    assert words in err and err.startswith("gpusim: ") and "Traceback" not in err


def test_a_file_without_records_of_the_group_says_so(measured: str) -> None:
    with pytest.raises(GpusimError, match="no record of alu"):
        probe("alu", gpu=DEFAULT_GPU, compare_with=measured)
