"""Every example runs from start to end, and prints what it promises."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpusim import cuda

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))

#: example -> what must stand in its output
PROMISES = {
    "01_first_gemm.py": ["gemm on h200-sxm", "bottleneck", "dram__bytes_read.sum"],
    "02_wave_cliff.py": ["1792: tiles 98, waves 1, in the last 98", "1793: tiles 120, waves 2, in the last 12", "wave tail"],
    "03_change_one_number.py": ["slow-memory", "small-l2", "as on h100-sxm"],
    "04_sweep_dataframe.py": ["a100-sxm-80gb", "256x128x64", "3072"],
    "05_saxpy.py": ["saxpy on h100-sxm", "y[:4] = [1. 3. 5. 7.]", "in order 4.0 sectors a request, with stride 32 32.0", "h200-sxm"],
    "06_divergence.py": ["collatz on h100-sxm", "n = n // 2", "mixed:", "sorted:"],
    "07_program.py": ["2 launches on h200-sxm", "scale reads 0 of 16 MB from DRAM, and 128 of 128", "alone 16 MB", "stream  "],
    "08_gpu_and_tpu.py": ["tpu-v5p", "share of the published peak, %", "block 128x128x128", " 129 columns:", "w2 1/3"],
    "09_triton.py": ["softmax on h100-sxm", "fused: largest error", "= load(x[pid0 :+ 1, 0 :+ 1024]", "BM: 128"],
}

#: example -> what must hold of its variables
CHECKS: dict[str, list[Callable[[dict[str, Any]], bool]]] = {
    "02_wave_cliff.py": [lambda names: 1.8 < names["spills"].time_us / names["fits"].time_us < 2.2, lambda names: Path("wave-cliff.png").exists()],
    "03_change_one_number.py": [lambda names: names["spec"].dram.bandwidth == 8.4e11],
    "05_saxpy.py": [lambda names: names["strided"].time_us > 2 * names["report"].time_us],
    "06_divergence.py": [
        lambda names: names["better"].active_threads > 1.5 * names["report"].active_threads and names["better"].cycles < 0.7 * names["report"].cycles,
        lambda names: Path("divergence.png").exists(),
    ],
    "07_program.py": [lambda names: names["small"].launches[1].time_us < names["alone"].time_us],
    "08_gpu_and_tpu.py": [
        lambda names: (names["share"].loc[8] < 5).all() and (names["share"].loc[4096] > 60).all(),
        lambda names: [r.time_us for r in names["ladder"].values()] == sorted((r.time_us for r in names["ladder"].values()), reverse=True),
        lambda names: Path("systolic.png").exists(),
    ],
    "09_triton.py": [
        lambda names: names["naive_us"] > 1.5 * names["fused_us"],
        lambda names: len(names["matmul"].tried) == 4 and names["matmul"].report.time_us == min(t.time_us for t in names["matmul"].tried),
    ],
    "04_sweep_dataframe.py": [lambda names: len(names["df"]) == 12 and len(names["best"]) == 6],
}


def test_every_example_promises_something() -> None:
    assert [e.name for e in EXAMPLES] == list(PROMISES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        names = runpy.run_path(str(example), run_name="__main__")
    finally:
        cuda.set_gpu(None)
    out = capsys.readouterr().out
    for promise in PROMISES[example.name]:
        assert promise in out
    for check in CHECKS.get(example.name, ()):
        assert check(names)
