"""Which blocks a matrix product takes on a TPU where nobody chose: of those with the least time by arithmetic the one that simulates quickest.

A compiler has to choose as well. Candidates cut the product evenly; a step costs its passes and its overhead, the launch at least its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as combinations
from math import ceil

from gpusim.devices.tpu.cost import array
from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.ir.types import DType
from gpusim.ir.types import dtype as dtype_of
from gpusim.launch.tpu.run import time
from gpusim.lower.tpu.layout import piece, round_up, tile_bytes
from gpusim.lower.tpu.lower import lower_tpu
from gpusim.lower.tpu.work import array_format
from gpusim.parts.systolic import product
from gpusim.spec.resolve_tpu import TpuMachine, resolve_tpu
from gpusim.spec.tpu import TpuSpec

#: of the candidates, how many are simulated
SIMULATED = 2
#: in how many pieces a side of the product may be cut
PIECES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
#: the largest sides of a block
LARGEST = (2048, 4096, 8192)

Block = tuple[int, int, int]


def best_blocks(program: Program, spec: TpuSpec) -> Program:
    """`program` with the blocks that take least time; itself where it is no product of sizes m, n, k."""
    sizes = tuple(program.params.get(name) for name in ("m", "n", "k"))
    if program.retile is None or not all(isinstance(size, int) for size in sizes):
        return program
    m, of = resolve_tpu(spec), dtype_of(str(program.params["dtype"]))
    if array_format(of.matrix) not in m.rows_per_cycle:
        return program  # the lowering says why this cannot run
    fitting = [b for b in _candidates(sizes, of, m) if _bytes(b, of, m) <= m.vmem_bytes]  # type: ignore[arg-type]
    if not fitting:
        raise GpusimError(f"no block fits the vector memory of {m.name}.", where=program.name)
    group = int(program.params.get("group_m", 1))
    ranked = sorted(fitting, key=lambda b: (_cycles(b, sizes, of, m, group), b))  # type: ignore[arg-type]
    made = [program.retile("x".join(map(str, block))) for block in ranked[:SIMULATED]]
    return min(made, key=lambda p: time(lower_tpu(p, m), m).end)


def _candidates(sizes: Block, of: DType, m: TpuMachine) -> Iterator[Block]:
    """Legal blocks that cut the product evenly: rows in whole pieces of the layout, columns and depth in whole squares of an array."""
    rows, _ = piece(of, m)
    yield from combinations(*(_sides(n, unit, most) for n, unit, most in zip(sizes, (max(rows, 8), m.dim, m.dim), LARGEST, strict=True)))


def _sides(size: int, unit: int, most: int) -> list[int]:
    even = {round_up(ceil(size / pieces), unit) for pieces in PIECES}
    return sorted(side for side in even if side <= max(most, unit))


def _bytes(b: Block, of: DType, m: TpuMachine) -> int:
    """Two buffers of each block, and the sums."""
    bm, bn, bk = b
    inputs = tile_bytes((bm, bk), of, m) + tile_bytes((bk, bn), of, m)
    return m.buffers * inputs + 3 * tile_bytes((bm, bn), of, m) + 4 * bm * round_up(bn, m.lanes)


def _cycles(b: Block, sizes: Block, of: DType, m: TpuMachine, group: int) -> float:
    """Steps or bytes, whichever takes longer, and what no step hides: the first blocks in and the last one out. `group` rows of blocks are walked
    together, column by column; where K is one block, what the next block shares with this one stays. All cores begin, and end, at once."""
    bm, bn, bk = b
    down, across, deep = (ceil(n / side) for n, side in zip(sizes, b, strict=True))
    step = product(array(m, array_format(of.matrix)), bm, bk, bn).cycles + m.step_overhead
    a, w, c = (x * y * of.bytes for x, y in ((bm, bk), (bk, bn), (bm, bn)))
    steps = ceil(down * across / m.cores) * deep
    moved = down * across * c + (down * across * deep * (a + w) if deep > 1 else across * w * ceil(down / group) + down * a * (across if down > 1 else 1))
    ends = min(m.cores, down * across) * (a + w + c) / m.dram.rate + 2 * m.dma_latency
    return max(steps * step, moved / m.dram.rate) + ends
