"""The values of a tile program: every block computed with NumPy, many blocks at once, without any notion of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.interp.compare import error_against, tolerance
from gpusim.interp.formats import COMPUTE, OPERAND, rounded, settle
from gpusim.interp.functions import MAPS, REDUCES
from gpusim.interp.inputs import random_inputs
from gpusim.interp.memory import Memory
from gpusim.interp.product import product
from gpusim.ir.blocks import Scalars, program_ids, run, value
from gpusim.ir.check import check
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import Cast, Dot, Full, Load, Map, Op, Reduce, Store
from gpusim.ir.program import Program

__all__ = ["compute", "error_against", "random_inputs", "tolerance"]

#: bytes of tiles that one batch of blocks may hold. More would save Python calls; less stays in a core's cache, which saves more.
BATCH_BYTES = 16 << 20


def compute(program: Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `program` writes, given `inputs`: tensor name -> array of the tensor's shape, in and out.

    inputs: one array for every tensor of role in or inout; they are not changed. The result has the tensors of role out and inout
    (float16, bfloat16 from ml_dtypes, float32 for fp32 and tf32, ...). Products of rounded operands are added up in fp32 (fp64
    for fp64). Blocks run in batches in the order of their numbers: a program whose blocks read what others write has no defined result.
    Raises GpusimError if the program breaks a rule of `check`, for inputs that do not fit, for a read of what nothing wrote, and for
    elements of an output that nothing wrote.
    """
    check(program)
    types = tile_types(program)
    memory = Memory(program, inputs)
    size = max(1, BATCH_BYTES // max(1, sum(_bytes(t) for t in types.values())))
    with np.errstate(all="ignore"):
        for first in range(0, program.ctas, size):
            blocks = np.arange(first, min(first + size, program.ctas))
            run(program.body, np.arange(len(blocks)), program_ids(program.grid, blocks), _Batch(blocks, memory, types).execute)
    return memory.outputs()


def _bytes(t: TileType) -> int:
    return math.prod(t.shape) * np.dtype(COMPUTE[t.dtype.name]).itemsize


class _Batch:
    """Blocks that run in lockstep. A tile is an array with the blocks as its first axis, kept with the rows that computed it."""

    def __init__(self, blocks: np.ndarray, memory: Memory, types: dict[str, TileType]) -> None:
        self.blocks, self.memory, self.types = blocks, memory, types
        self.tiles: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.execute_as: dict[type, Callable[[Any, np.ndarray], np.ndarray]] = {Full: self.full, Map: self.map, Reduce: self.reduce, Cast: self.cast}

    def execute(self, op: Op, rows: np.ndarray, scalars: Scalars) -> None:
        """Do `op` for the blocks at `rows`."""
        if isinstance(op, Load | Store):
            origin = [value(o, scalars) for o in op.box.origin]
            if isinstance(op, Load):
                self.tiles[op.dst] = rows, self.memory.load(op.box, origin, self.blocks[rows], op.other)
            else:
                self.memory.store(op.box, origin, self.blocks[rows], self.get(op.src, rows))
        elif isinstance(op, Dot):
            self.dot(op, rows)
        else:
            self.tiles[op.dst] = rows, self.execute_as[type(op)](op, rows)  # type: ignore[union-attr]

    def get(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The tile of the blocks at `rows`, which are among those that computed it."""
        held, array = self.tiles[name]
        return array if held is rows else array[np.searchsorted(held, rows)]

    def dot(self, op: Dot, rows: np.ndarray) -> None:
        held, acc = self.tiles[op.acc]
        added = product(self.operand(op.a, rows), self.operand(op.b, rows))
        if held is rows:
            acc += added
        else:
            acc[np.searchsorted(held, rows)] += added

    def operand(self, name: str, rows: np.ndarray) -> np.ndarray:
        array = self.get(name, rows)
        return OPERAND.get(self.types[name].dtype.matrix, np.asarray)(array)

    def full(self, op: Full, rows: np.ndarray) -> np.ndarray:
        return rounded(np.full((len(rows), *op.shape), op.value), op.dtype)

    def map(self, op: Map, rows: np.ndarray) -> np.ndarray:
        of = self.types[op.dst]
        args = [_as_rank(self.get(a, rows), len(of.shape)) for a in op.args]
        return settle(MAPS[op.fn](*args), of.dtype)

    def reduce(self, op: Reduce, rows: np.ndarray) -> np.ndarray:
        return settle(REDUCES[op.fn](self.get(op.src, rows), op.axis + 1), self.types[op.dst].dtype)

    def cast(self, op: Cast, rows: np.ndarray) -> np.ndarray:
        return rounded(self.get(op.src, rows), op.dtype)


def _as_rank(array: np.ndarray, rank: int) -> np.ndarray:
    """A batch of tiles with `rank` axes each: NumPy would align the blocks with an axis of a larger tile."""
    return array.reshape(len(array), *(1,) * (rank - array.ndim + 1), *array.shape[1:])
