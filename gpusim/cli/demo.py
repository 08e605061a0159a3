"""`gpusim demo`: one size fits the machine, the next costs a whole wave more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusim.report.report import Report

GPU, TILE = "a100", (256, 128, 32)
FITS, SPILLS = 1792, 1793
SIZES = sorted([*range(1536, 2304 + 1, 64), SPILLS])
PICTURE = "wave-cliff.png"


def demo() -> None:
    """Show the wave cliff: 1792 against 1793 on an A100.

    Prints both reports and why the second is slow, and draws ./wave-cliff.png.
    """
    from gpusim.api import run
    from gpusim.cli.files import check_picture
    from gpusim.kernels import gemm
    from gpusim.report.compare import why_slower

    check_picture(PICTURE, "demo")
    reports: list[Report] = []
    for n in (FITS, SPILLS):
        print(f"$ gpusim run gemm --gpu {GPU} --m {n} --n {n} --k {n} --tile {'x'.join(map(str, TILE))}\n")
        reports.append(run(gemm(n, n, n, tile=TILE), GPU))
        print(f"{reports[-1]}\n")
    print(f"Why {SPILLS} is slow: {why_slower(*reports)}\n")
    _draw()
    print(f"The cliff, sizes {SIZES[0]} to {SIZES[-1]}: {Path(PICTURE).resolve()}")


def _draw() -> None:
    from gpusim.kernels import gemm
    from gpusim.options import Options
    from gpusim.sweeps.axes import from_python
    from gpusim.sweeps.execute import execute
    from gpusim.sweeps.points import make_points
    from gpusim.sweeps.table import draw

    grid = from_python(gemm, GPU, {"m": SIZES, "n": "m", "k": "m", "tile": TILE})
    draw(execute(make_points(gemm, grid, Options())), grid, PICTURE)
