"""A program of tiles without matrix products as a program of threads.

A tile op without `Dot` is a loop over the elements that each thread holds, so such a program *is* a program of threads. The machine model of
threads then times it: coalescing, L1, L2, DRAM, pipes and issue exist once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from gpusim.errors import GpusimError
from gpusim.ir.infer import tile_types
from gpusim.ir.ops import Dot
from gpusim.ir.program import Program, walk
from gpusim.ir.simt.nodes import Geometry, SimtProgram
from gpusim.lower.blocked.layout import LANES
from gpusim.lower.blocked.lowering import Lowering
from gpusim.lower.blocked.ops import VISIT


@dataclass(frozen=True, slots=True)
class Threads:
    """program and geometry: what is launched. arguments: for each argument the name of the array, its NumPy element type and how many; or a number."""

    program: SimtProgram
    geometry: Geometry
    arguments: tuple[tuple[str, str, int] | int, ...]


def is_of_threads(program: Program) -> bool:
    """Whether no tile op of `program` needs a matrix unit: such programs are timed as threads."""
    return not any(isinstance(op, Dot) for op in walk(program.body))


def threads(program: Program, sink: bool = False) -> Threads:
    """`program`, checked, as threads. sink: loads stand where their values are needed, which takes fewer registers, else where the program has them.

    GpusimError for tiles that cannot stay in registers, and for ops that no thread can do yet.
    """
    strange = next((t.dtype for t in tile_types(program).values() if t.dtype.name.startswith("fp8")), None)
    if strange is not None:
        raise GpusimError(f"no timing for {strange} outside of matrix products yet.", where=program.name, hint="Values can be computed.")
    made = Lowering(program, VISIT, sink)
    made.run(program.body)
    e = made.e
    source = tuple(str(program).splitlines())
    simt = SimtProgram(
        program.name,
        tuple(e.args),
        tuple(e.params),
        tuple(e.buffers),
        e.finished(),
        e.registers,
        program.name,
        1,
        source,
        threads=LANES * program.warps,
    )
    grid = (*program.grid, 1, 1)[:3]
    assert prod(grid) == program.ctas
    return Threads(simt, Geometry((grid[0], grid[1], grid[2]), (LANES * program.warps, 1, 1)), tuple(made.arguments))
