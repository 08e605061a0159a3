"""Which blocks a program takes on a TPU where nobody chose.

A compiler has to choose as well. Candidates for a matrix product cut it evenly; a step costs its passes and its overhead, the launch at least its bytes; of
those with the least time by arithmetic the one that simulates quickest is taken. Attention takes the quickest of a few large blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
#: queries and keys of a block of attention that are tried
QUERIES, KEYS = (256, 512), (512, 1024)
#: the largest sides of a block
LARGEST = (2048, 4096, 8192)

Block = tuple[int, int, int]


def best_blocks(program: Program, spec: TpuSpec) -> Program:
    """`program` with the blocks that take least time; itself where its maker knows no other."""
    choose = next((choose for names, choose in CHOOSERS if all(isinstance(program.params.get(n), int) for n in names)), None)
    return program if program.retile is None or choose is None else choose(program, spec)


def _attention(program: Program, spec: TpuSpec) -> Program:
    """Larger blocks need fewer steps, until they no longer fit, or reach beyond the sequence."""
    assert program.retile is not None
    m, found, refused = resolve_tpu(spec), [], []
    longest = max(QUERIES[0], KEYS[0], int(program.params["seq"]))
    for rows, cols in ((r, c) for r in QUERIES for c in KEYS if max(r, c) <= longest):
        try:
            made = program.retile(f"{rows}x{cols}")
            found.append((time(lower_tpu(made, m), m).end, made))
        except GpusimError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return min(found, key=lambda pair: pair[0])[1]


def _product(program: Program, spec: TpuSpec) -> Program:
    assert program.retile is not None
    sizes = tuple(program.params.get(name) for name in ("m", "n", "k"))
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


#: names of sizes that a program has -> how its blocks are chosen
CHOOSERS: tuple[tuple[tuple[str, ...], Callable[[Program, TpuSpec], Program]], ...] = ((("m", "n", "k"), _product), (("seq", "head_dim"), _attention))
