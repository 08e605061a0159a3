"""The command line: what is printed where, and how mistakes end. A stand-in takes the simulator's place."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import gpusim
from gpusim.cli.app import main
from gpusim.cli.kernels import default_of
from gpusim.cli.run import DEFAULTS
from gpusim.kernels import KERNELS, gemm
from tests.unit.made_runs import fake_launch

ROOT = Path(gpusim.__file__).parents[1]


@pytest.fixture(autouse=True)
def launch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    module = fake_launch()
    monkeypatch.setitem(sys.modules, "gpusim.launch.run", module)
    monkeypatch.chdir(tmp_path)
    return module


def test_run_prints_every_parameter_and_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--gpu", "a100", "--m", "1793", "--n", "1793", "--k", "1793", "--tile", "256x128x32"]) == 0
    out = capsys.readouterr().out
    head, report = out.split("\n\n", 1)
    given, defaults = head.split("defaults")
    assert given.split() == ["given", "m=1793", "n=1793", "k=1793", "tile=256x128x32", "gpu=a100"]
    for part in ("warps=8", "stages=", "group_m=8", "dtype=bf16", "ld=padded", "lda=1808", "l2=cold", "launch=out", "clock=the model's own", "exact=no"):
        assert part in defaults
    assert report.startswith("gemm on a100-sxm-80gb\n") and "120 CTAs, 2 waves of 108 slots, 12 in the last wave" in report


def test_a_kernel_alone_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--gpu", "h100"]) == 0
    assert "m=4096" in capsys.readouterr().out
    assert main(["run", "--gpu", "h100", "gemm"]) == 0


def test_options_reach_the_simulator(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "run gemm --m 64 --n 80 --k 96 --tile 64x64x32 --warps 2 --stages 3 --group-m 4 --dtype fp16 --ld packed --lda 128 --ldb 128 --ldc 128"
    assert main([*arguments.split(), "--l2", "foreign-dirty", "--launch", "in", "--clock", "1234", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["params"] == {"m": 64, "n": 80, "k": 96, "tile": "64x64x32", "warps": 2, "stages": 3, "group_m": 4, "dtype": "fp16", "ld": "packed",
                              "lda": 128, "ldb": 128, "ldc": 128}  # fmt: skip
    assert data["protocol"] == {"l2": "foreign-dirty", "launch": "in", "clock_mhz": 1234.0}


def test_json_to_a_file_leaves_the_report_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--json", "r.json"]) == 0
    assert capsys.readouterr().out.count("bottleneck") == 1
    assert json.loads(Path("r.json").read_text())["gpu"] == "h100-sxm"


def test_json_to_stdout_is_nothing_but_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--verbose", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["waves"] == 8 and "dram__bytes_read.sum" in captured.err


def test_verbose_has_the_names_of_nsight(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "gemm", "--verbose"])
    assert "dram__bytes_read.sum" in capsys.readouterr().out


def test_values_print_an_error_against_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--m", "48", "--n", "64", "--k", "80", "--tile", "32x32x16", "--values"]) == 0
    line = " ".join(capsys.readouterr().out.split("\nvalues")[1].split())
    assert float(re.search(r"relative error (\S+)", line)[1]) < 0.01  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("run gem", "unknown kernel 'gem'. Did you mean 'gemm'?"),
        ("sweep gmm", "Did you mean 'gemm'?"),
        ("run --gpu a100", "no kernel is named. Kernels: gemm, gemm_split_k, attention, elementwise, unfused, softmax, layernorm, rmsnorm, FILE.py:KERNEL, "),
        ("run gemm --gpu a10", "unknown GPU 'a10'. Did you mean 'a100'?"),
        ("run gemm --m 0", "m = 0 is not a size"),
        ("run gemm --m -5", "m = -5 is not a size"),
        ("run gemm --m x", "--m"),
        ("run gemm --mm 3", "--mm"),
        ("run gemm --tile 12x3", "tile '12x3' is not BMxBNxBK"),
        ("run gemm --dtype fp12", "unknown dtype 'fp12'"),
        ("run gemm --l2 hot", "l2 = 'hot' is unknown. Give one of cold, foreign-clean, foreign-dirty, warm."),
        ("run gemm --clock 0", "clock = 0.0 MHz"),
        ("run gemm --json no/where.json", "the folder no does not exist"),
        ("run gemm --json .", "--json: cannot write ."),
        ("run gemm --gpu", "--gpu"),
        ("sweep gemm --m 9:1:1", "the range 9:1:1 is empty"),
        ("sweep gemm --m 1:9:0", "step 0"),
        ("sweep gemm --m 0:64:64", "m = 0 is not a size"),
        ("sweep gemm --m one", "'one' is neither"),
        ("sweep gemm --m 64 --plot x.png", "nothing to plot"),
        ("sweep gemm --m 64,128 --plot x.doc", "no picture format"),
        ("sweep gemm --m 64,128 --csv no/x.csv", "--csv: cannot write no/x.csv"),
        ("sweep gemm --m 64,128 --cache no/x", "--cache: cannot write no/x"),
        ("sweep gemm --m 64,128 --jobs 0", "--jobs"),
        ("show a10", "unknown GPU 'a10'"),
        ("show no.yaml", "no.yaml"),
        ("validate no.json", "no.json"),
        ("validate", "FILE"),
        ("frobnicate", "frobnicate"),
        ("--nonsense", "--nonsense"),
    ],
)
def test_mistakes_end_in_one_paragraph_and_status_2(arguments: str, says: str, launch: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments.split()) == 2
    captured = capsys.readouterr()
    assert says in captured.err and captured.err.startswith("gpusim: ") and captured.err.count("\n") == 1
    assert captured.out == "" and launch.calls == []
    assert not list(Path().iterdir())


def test_a_full_disk_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "gemm", "--json", "/dev/full"]) == 2
    assert "No space left" in capsys.readouterr().err


def test_help_names_every_parameter_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    import inspect

    assert main(["run", "gemm", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for name, parameter in inspect.signature(gemm).parameters.items():
        assert f"--{name.replace('_', '-')} " in text and f"[default: {default_of(gemm, parameter)}]" in text
    for name in DEFAULTS:
        assert f"--{name} " in text


def test_the_defaults_that_are_printed_are_those_of_the_options() -> None:
    import typer

    from gpusim.cli import app, run

    command = typer.main.get_command(app.build()).commands["run"].commands["gemm"]  # type: ignore[attr-defined]
    assert {p.name: p.default for p in command.params if p.name in DEFAULTS} == DEFAULTS
    assert {*KERNELS, "FILE.py:KERNEL"} == set(typer.main.get_command(run.build()).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["", "run", "sweep", "validate", "devices", "show", "demo", "run gemm", "sweep gemm"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    assert f"Usage: gpusim {command}".strip() in capsys.readouterr().out


def test_sweep_writes_csv_and_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("sweep gemm --gpu a100 --m 1536:2304:256 --n m --k m --tile 256x128x32 --csv out.csv --plot out.png".split()) == 0
    captured = capsys.readouterr()
    lines = Path("out.csv").read_text().splitlines()
    assert len(lines) == 5 and lines[0].startswith("gpu,kernel,m,n,k,tile") and lines[4].startswith("a100-sxm-80gb,gemm,2304,2304,2304,")
    assert Path("out.png").read_bytes().startswith(b"\x89PNG") and captured.out == "" and "wrote out.png" in captured.err
    assert sorted(p.name for p in Path().iterdir()) == ["out.csv", "out.csv.points.jsonl", "out.png"]


def test_sweep_without_files_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main("sweep gemm --gpu a100,h100 --m 512,1024".split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["gpu", "m", "ctas", "waves", "tail_ctas", "time_us", "tflops", "bottleneck"] and len(lines) == 5
    assert main("sweep gemm --m 512,1024 --csv -".split()) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_demo_shows_the_pair_and_draws_the_cliff(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "98 CTAs, 1 wave of 108 slots" in out and "120 CTAs, 2 waves of 108 slots, 12 in the last wave" in out
    assert "Why 1793 is slow: size 1793 needs 120 tiles where 108 run at once" in out
    assert str(Path("wave-cliff.png").resolve()) in out and Path("wave-cliff.png").exists()


def test_demo_where_it_cannot_write(tmp_path: Path, launch: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wave-cliff.png").mkdir()
    assert main(["demo"]) == 2
    assert "wave-cliff.png" in capsys.readouterr().err and launch.calls == []


def test_devices_and_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert re.search(r"^a100-sxm-80gb +a100", capsys.readouterr().out, re.MULTILINE)
    assert main(["show", "h200", "--provenance"]) == 0
    assert "sm.registers" in capsys.readouterr().out


def test_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gpusim {gpusim.__version__}\n"
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == gpusim.__version__


def test_ctrl_c_is_130(launch: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(launch, "simulate", stop)
    assert main(["run", "gemm"]) == 130
    assert main(["sweep", "gemm", "--csv", "x.csv"]) == 130


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m gpusim show h200 | head -n 1"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    assert done.stdout.startswith("h200-sxm") and done.stderr == ""


def test_public_names_load_when_used() -> None:
    code = (
        "import sys, gpusim as gs; heavy = {'numpy', 'pandas', 'matplotlib', 'typer', 'pydantic', 'joblib'} & set(sys.modules); assert not heavy, heavy; "
        "assert gs.run and gs.sweep and gs.load_spec and gs.kernels.gemm and gs.Report and gs.GpusimError; "
        "import gpusim.sweeps.points; assert callable(gs.sweep); assert set(gs.__all__) <= set(dir(gs))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = gpusim.nonsense
