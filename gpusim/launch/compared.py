"""A launch at its best on each kind of device: of the tiles that a program leaves open, a few are simulated, and the quickest counts.

Without this a comparison would be one of tiles: a GPU's usual tile is twice too slow for eight rows, and none that suits a TPU suits a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.launch.run import simulate
from gpusim.spec.kinds import Device
from gpusim.trace.run import Run

#: rows of a product, up to -> tiles that people use for it on GPUs
GPU_TILES: tuple[tuple[float, tuple[str, ...]], ...] = (
    (16, ("16x64x128", "64x32x128")),
    (64, ("64x32x128", "64x64x64")),
    (1024, ("64x64x64", "128x128x64")),
    (float("inf"), ("128x128x64", "128x256x64")),
)


def _gpu(program: Program) -> Iterator[Program]:
    rows = program.params.get("m")
    if program.retile is None or not isinstance(rows, int):
        yield program
        return
    yield from (program.retile(tile) for tile in next(tiles for most, tiles in GPU_TILES if rows <= most))


#: kind of device -> the programs that are tried; a TPU's blocks are chosen by the launch itself
OFFERED: dict[str, Callable[[Program], Iterator[Program]]] = {"gpu": _gpu, "tpu": lambda program: iter((program,))}


def simulate_compared(program: Program, spec: Device, **protocol: Any) -> Run:
    """The quickest of what `program` may be on `spec`. GpusimError if none can run: that of the first."""
    runs, refused = [], []
    for offered in OFFERED[spec.KIND](program):
        try:
            runs.append(simulate(offered, spec, **protocol))
        except GpusimError as error:
            refused.append(error)
    if not runs:
        raise refused[0]
    return min(runs, key=lambda run: run.time_ps)
