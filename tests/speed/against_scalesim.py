"""The same products here and in SCALE-Sim: `GPUSIM_SCALESIM_PYTHON=.../python python -m tests.speed.against_scalesim`.

SCALE-Sim 3 (`pip install gpusim[benchmark]`, best in an environment of its own) runs an array of 128x128, weight-stationary, as its TPU-like configuration is.
It does not load weights while the array works, so here the array does not either. Cycles of computing must agree within 2 %, and at 2048^3 this
must be at least 50 times faster. Exit status 1 otherwise.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import gpusim as gs
from gpusim.spec.tpu import TpuSpec

SHAPES = ((128, 128, 128), (64, 256, 384), (512, 512, 512), (1000, 300, 200), (1024, 1024, 1024), (2048, 2048, 2048))
CLOSE, FASTER = 0.02, 50

CONFIG = """[general]
run_name = tpu
[architecture_presets]
ArrayHeight: 128
ArrayWidth: 128
IfmapSramSzkB: 8192
FilterSramSzkB: 8192
OfmapSramSzkB: 8192
IfmapOffset: 0
FilterOffset: 10000000
OfmapOffset: 20000000
Bandwidth: 100
Dataflow: ws
MemoryBanks: 1
ReadRequestBuffer: 64
WriteRequestBuffer: 64
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 10
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 10
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
SparseRep: ellpack_block
OptimizedMapping: false
BlockSize: 8
RandomNumberGeneratorSeed: 40
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""

RUN = """
import sys, time
from scalesim.scale_sim import scalesim
s = scalesim(save_disk_space=True, verbose=False, config="c.cfg", topology="t.csv", layout="l.csv", input_type_gemm=True)
begun = time.perf_counter()
s.run_scale(top_path="out")
print("seconds", time.perf_counter() - begun)
"""


def theirs(m: int, n: int, k: int) -> tuple[int, float]:
    """(cycles of computing, seconds) of SCALE-Sim."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "c.cfg").write_text(CONFIG)
        (place / "t.csv").write_text(f"Layer,M,N,K,\ng,{m},{n},{k},\n")
        (place / "l.csv").write_text("h,\ng," + "1," * 20 + "\n")
        (place / "run.py").write_text(RUN)
        done = subprocess.run([os.environ["GPUSIM_SCALESIM_PYTHON"], "run.py"], cwd=place, check=True, capture_output=True, text=True)
        report = next((place / "out").rglob("COMPUTE_REPORT.csv")).read_text().splitlines()
        return int(float(report[1].split(",")[2])), float(done.stdout.split("seconds")[1])


def one_array() -> TpuSpec:
    """One array of 128x128 that waits for its weights, with memory to spare."""
    spec = gs.load_spec("tpu-v5e")
    assert isinstance(spec, TpuSpec)
    return spec.model_copy(update={"mxu": spec.mxu.model_copy(update={"count": 1, "double_buffered": False})})


def ours(m: int, n: int, k: int) -> tuple[float, float]:
    """(cycles of the array, seconds) here, with one block for the whole product."""
    tile = tuple(-(-size // unit) * unit for size, unit in ((m, 8), (n, 128), (k, 128)))
    begun = time.perf_counter()
    run = gs.run(gs.kernels.gemm(m, n, k, tile=tile), gpu=one_array()).run
    seconds = time.perf_counter() - begun
    return sum(run.stalls.get(kind, 0.0) for kind in ("mxu", "weights", "fill_drain")), seconds


def main() -> int:
    """Print the table; 1 if a bar is missed."""
    print(f"{'m x n x k':>16}{'SCALE-Sim':>12}{'here':>12}{'error':>8}{'faster':>9}")
    ours(128, 128, 128)
    missed = False
    for shape in SHAPES:
        (a, slow), (b, fast) = theirs(*shape), ours(*shape)
        missed |= abs(b / a - 1) > CLOSE or (min(shape) >= 2048 and slow < FASTER * fast)
        print(f"{'x'.join(map(str, shape)):>16}{a:12d}{b:12.0f}{b / a - 1:8.1%}{slow / fast:8.0f}x", flush=True)
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main())
