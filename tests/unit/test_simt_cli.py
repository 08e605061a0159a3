"""`gpusim run mine.py:kernel` and the CUDA kernels of the library by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.cli.app import main
from gpusim.cli.arguments import parse_arguments, parse_extents
from gpusim.cli.simt import load_kernel
from gpusim.errors import GpusimError

FILE = '''
import numpy as np
from gpusim import cuda
from beside import AMOUNT

@cuda.jit(device=True)
def helper(a):
    return a + AMOUNT

@cuda.jit
def kernel(x, y, a):
    """y = a x + y, and more for some."""
    i = cuda.grid(1)
    if i < x.size:
        if i % 2 == 0:
            y[i] = helper(a * x[i] + y[i])
        else:
            y[i] = a * x[i] + y[i]

@cuda.jit
def matrix(m, n):
    i, j = cuda.grid(2)
    if i < n and j < n:
        m[i, j] += 1

number = 3

if __name__ == "__main__":
    raise SystemExit("the script itself was run")
'''
ARGS = "x=f32[1000]:rand y=f32[1000]:zeros a=2.0"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FILE)
    Path("beside.py").write_text("AMOUNT = 1.0\n")
    return tmp_path


def test_a_kernel_of_ones_own_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "mine.py:kernel", "--gpu", "a100", "--grid", "4", "--block", "256", "--args", ARGS]) == 0
    out = capsys.readouterr().out
    assert out.startswith("kernel on a100") and "grid=4" in out and "4 CTAs" in out


def test_options_may_stand_before_the_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--grid", "4x4", "--block", "8,8", "mine.py:matrix", "--args", "n=30 m=i32[30,30]:ones"]) == 0
    assert "16 CTAs" in capsys.readouterr().out


def test_blocks_may_form_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "mine.py:kernel", "--gpu", "h200", "--grid", "64", "--block", "256", "--args", ARGS]
    assert main([*command, "--cluster", "2", "--json", "two.json"]) == 0
    assert main([*command, "--gpu", "a100", "--cluster", "2"]) == 2
    assert "cluster" in capsys.readouterr().err
    assert main([*command, "--cluster", "3"]) == 2
    assert "3" in capsys.readouterr().err


def test_all_outputs(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "mine.py:kernel", "--grid", "4", "--block", "256", "--args", ARGS, "--source", "--verbose", "--seed", "3"]
    assert main([*command, "--trace", "t.json", "--divergence", "d.png", "--json", "r.json", "--registers", "64", "--launch", "in"]) == 0
    out = capsys.readouterr().out
    assert "y[i] = helper(a * x[i] + y[i])" in out and "inst_executed" in out
    assert json.loads(Path("t.json").read_text())["traceEvents"] and Path("d.png").stat().st_size > 1000
    report = json.loads(Path("r.json").read_text())
    assert report["kernel"] == "kernel" and report["protocol"]["launch"] == "in"
    assert main([*command[:8], "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["gpu"] == "h100-sxm" and "kernel on" in captured.err


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["no.py:kernel", "--grid", "1", "--block", "32"], "there is no file no.py"),
        (["mine.py:kernal", "--grid", "1", "--block", "32"], "there is no 'kernal' in it. Kernels of this file: kernel, matrix."),
        (["mine.py", "--grid", "1", "--block", "32"], "no kernel is named"),
        (["mine.py:number", "--grid", "1", "--block", "32"], "'number' is not a kernel but a int"),
        (["mine.py:helper", "--grid", "1", "--block", "32"], "'helper' is not a kernel"),
        (["broken.py:kernel", "--grid", "1", "--block", "32"], "broken.py:2"),
        (["fails.py:kernel", "--grid", "1", "--block", "32"], "fails.py:2: running it ended with ZeroDivisionError"),
        (["mine.py:kernel", "--block", "32", "--args", ARGS], "--grid is missing"),
        (["mine.py:kernel", "--grid", "1", "--args", ARGS], "--block is missing"),
        (["mine.py:kernel", "--grid", "1", "--block", "32x", "--args", ARGS], "--block: '32x'"),
        (["mine.py:kernel", "--grid", "1", "--block", "2048", "--args", ARGS], "x is 2048"),
        (["mine.py:kernel", "--grid", "1", "--block", "32"], "--args: no value for x, y, a"),
        (["mine.py:kernel", "--grid", "1", "--block", "32", "--args", ARGS, "--trace", "no/t.json"], "--trace: cannot write no/t.json"),
        (["mine.py:kernel", "--grid", "1", "--block", "32", "--args", ARGS, "--divergence", "d.doc"], "no picture format"),
        (["mine.py:kernel", "--grid", "1", "--block", "32", "--args", ARGS, "--gpu", "h10"], "unknown GPU 'h10'"),
        (["mine.py:kernel", "--grid", "1", "--block", "32", "--args", ARGS, "--gird", "3"], "--gird"),
        (["mine.py:matrix", "--grid", "1", "--block", "32", "--args", "m=i32[4,4] n=9"], "mine.py:24"),
    ],
)
def test_mistakes_end_in_a_message_and_status_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, or three: what, the line of the source, what to do."""
    Path("broken.py").write_text("x = 1\nx = = 2\n")
    Path("fails.py").write_text("x = 1\ny = x / 0\n")
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert says in captured.err and captured.err.startswith("gpusim: ") and captured.out == ""
    assert len(lines) == 1 or (len(lines) == 3 and lines[1].startswith("    "))


def test_a_library_kernel_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "saxpy", "--gpu", "h200", "--n", "5000", "--values"]) == 0
    out = capsys.readouterr().out
    assert "saxpy on h200-sxm" in out and "n=5000" in out and "20 CTAs" in out and "y: largest absolute error" in out
    assert main(["run", "saxpi"]) == 2
    assert "Did you mean 'saxpy'?" in capsys.readouterr().err


def test_help_lists_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("gemm", "FILE.py:KERNEL", "saxpy", "flash_fwd"))
    assert main(["run", "mine.py:kernel", "--help"]) == 0
    assert "--args" in capsys.readouterr().out


def test_a_file_with_one_kernel_needs_no_name() -> None:
    Path("one.py").write_text("from gpusim import cuda\n@cuda.jit\ndef only(x):\n    x[0] = 1\n")
    assert load_kernel("one.py").__name__ == "only" and load_kernel("./one.py:only").names == ("x",)


def test_arrays_and_numbers() -> None:
    np.save("data.npy", np.arange(6.0).reshape(2, 3))
    text = (
        "a=f32[2,3]:rand b=i8[4]:randint(-3,3) c=f64[2x2]:normal d=u16[5]:arange e=bool[3]:ones f=data.npy "
        "g=f32[2,3]:data.npy h=3 i=i32:7 j=-2.5e3 k=true l=0x10 m=bf16[4]:full(1.5) n=f16[1_0]"
    )
    values = dict(zip("abcdefghijklmn", parse_arguments(text, tuple("abcdefghijklmn"), seed=1), strict=True))
    shapes = {n: (v.shape, str(v.dtype)) for n, v in values.items() if isinstance(v, np.ndarray) and v.ndim}
    assert shapes == {
        "a": ((2, 3), "float32"), "b": ((4,), "int8"), "c": ((2, 2), "float64"), "d": ((5,), "uint16"), "e": ((3,), "bool"),
        "f": ((2, 3), "float64"), "g": ((2, 3), "float32"), "m": ((4,), "bfloat16"), "n": ((10,), "float16"),
    }  # fmt: skip
    assert values["b"].min() >= -3 and values["b"].max() < 3 and values["d"].tolist() == [0, 1, 2, 3, 4] and values["g"][1, 2] == 5
    assert (values["h"], values["j"], values["k"], values["l"]) == (3, -2500.0, True, 16) and isinstance(values["i"], np.int32)
    assert 0 <= values["a"].min() < values["a"].max() < 1 and not values["n"].any() and (values["m"] == 1.5).all()


def test_random_values_follow_the_seed() -> None:
    def made(seed: int) -> Any:
        return parse_arguments("x=f32[9]:rand", ("x",), seed)[0].tolist()

    assert made(1) == made(1) != made(2)


@pytest.mark.parametrize(
    "text, says",
    [
        ("x", "'x' is not name=value"),
        ("x=", "'x=' is not name=value"),
        ("x=1 x=2", "given twice"),
        ("y=1", "no parameter 'y'; it has: x"),
        ("", "no value for x"),
        ("x=f33[4]:rand", "'f33' is not an element type. Give one of f16"),
        ("x=f32[a]:rand", "[a] is no shape"),
        ("x=f32[]", "[] is no shape"),
        ("x=f32[4]:random", "'random' fills no array. Give one of rand"),
        ("x=i32[4]:rand", "Use randint(low,high)"),
        ("x=i32[4]:randint(5)", "randint(5)"),
        ("x=i32[4]:randint(5,2)", "randint(5,2)"),
        ("x=i32[4]:randint(a,b)", "randint(a,b)"),
        ("x=no.npy", "cannot read no.npy"),
        ("x=f32[4]:two.npy", "has shape (2,), not (4,)"),
        ("x=banana", "neither a number nor an array"),
        ("x=i8:300", "x = 300 is no int8"),
        ("x=i8:1.5", "x = 1.5 is no int8"),
        ("x=f64[99999,999999]", "GiB"),
    ],
)
def test_arguments_that_are_wrong(text: str, says: str) -> None:
    np.save("two.npy", np.zeros(2))
    with pytest.raises(GpusimError) as error:
        parse_arguments(text, ("x",))
    assert says in str(error.value) and str(error.value).startswith("--args: ")


def test_grids_and_blocks() -> None:
    assert [parse_extents(t, "--grid") for t in ("64", "64,32", "64x32x2", "(4, 4)")] == [(64,), (64, 32), (64, 32, 2), (4, 4)]
    for text in ("64x", "a", "1,2,3,4", "-1", "1.5"):
        with pytest.raises(GpusimError, match="--grid"):
            parse_extents(text, "--grid")


TILES = """import gpusim.triton as triton
import gpusim.triton.language as tl


@triton.jit
def scale(x, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, by * tl.load(x + at, mask=at < n), mask=at < n)
"""


def test_a_kernel_in_tritons_spelling_runs_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiles.py"
    file.write_text(TILES)
    command = ["run", f"{file}:scale", "--args", "x=f32[5000]:ones n=5000 by=2.0 BLOCK=1024 num_warps=8", "--grid"]
    assert main([*command, "cdiv(n, BLOCK)"]) == 0
    out = capsys.readouterr().out
    assert "5 CTAs" in out and "a CTA has 8 warps" in out
    assert main([*command, "cdiv(m, BLOCK)"]) == 2
    assert "is no grid: 'm'" in capsys.readouterr().err
