"""The values of a tile program: every block computed with NumPy, many blocks at once, without any notion of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.compare import error_against, tolerance
from gpusim.interp.formats import COMPUTE, OPERAND, rounded, settle
from gpusim.interp.functions import MAPS, REDUCES
from gpusim.interp.inputs import random_inputs
from gpusim.interp.memory import Memory
from gpusim.interp.product import product
from gpusim.interp.shaping import SHAPING, as_rank, cast, fold
from gpusim.ir.blocks import Scalars, program_ids, run, value
from gpusim.ir.check import check
from gpusim.ir.infer import TileType, tile_types
from gpusim.ir.ops import (
    Atomic,
    Cast,
    Check,
    Dot,
    Fold,
    Full,
    Gather,
    Index,
    Load,
    Map,
    Op,
    Print,
    Read,
    Reduce,
    Scatter,
    Store,
    Update,
    While,
    reads,
)
from gpusim.ir.program import Program, walk

__all__ = ["compute", "error_against", "execute", "random_inputs", "tolerance"]

#: bytes of tiles that one batch of blocks may hold. More would save Python calls; less stays in a core's cache, which saves more.
BATCH_BYTES = 16 << 20


def compute(program: Program, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `program` writes, given `inputs`: tensor name -> array of the tensor's shape, in and out.

    inputs: one array for every tensor of role in or inout; they are not changed. The result has the tensors of role out and inout
    (float16, bfloat16 from ml_dtypes, float32 for fp32 and tf32, ...). Products of rounded operands are added up in fp32 (fp64
    for fp64). Blocks run in batches in the order of their numbers, one by one where they may wait for each other or ask what others
    did (see `one_by_one`); apart from that a program whose blocks read what others write has no defined result.
    Raises GpusimError if the program breaks a rule of `check`, for inputs that do not fit, for a read of what nothing wrote, and for
    elements of an output that nothing wrote.
    """
    check(program)
    memory = Memory(program, inputs)
    execute(program, memory)
    return memory.outputs()


def execute(program: Program, memory: Memory) -> None:
    """Run all blocks of a checked program on `memory`."""
    types = tile_types(program)
    size = 1 if one_by_one(program) else max(1, BATCH_BYTES // max(1, sum(_bytes(t) for t in types.values())))
    with np.errstate(all="ignore"):
        for first in range(0, program.ctas, size):
            blocks = np.arange(first, min(first + size, program.ctas))
            run(program.body, np.arange(len(blocks)), program_ids(program.grid, blocks), _Batch(blocks, memory, types, program.name).execute)


def one_by_one(program: Program) -> bool:
    """Whether a block may wait for another one or act on what it did: open loops, scalars that are read, atomics whose result is used."""
    ops = tuple(walk(program.body))
    used = {name for op in ops for name in reads(op)}
    return any(isinstance(op, While | Read) or (isinstance(op, Atomic) and op.dst in used) for op in ops)


def _bytes(t: TileType) -> int:
    return math.prod(t.shape) * np.dtype(COMPUTE[t.dtype.name]).itemsize


class _Batch:
    """Blocks that run in lockstep. A tile is an array with the blocks as its first axis, kept with the rows that computed it."""

    def __init__(self, blocks: np.ndarray, memory: Memory, types: dict[str, TileType], name: str) -> None:
        self.blocks, self.memory, self.types, self.name = blocks, memory, types, name
        self.tiles: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.computed: dict[type, Callable[[Any, np.ndarray], np.ndarray]] = {Full: self.full, Map: self.map, Reduce: self.reduce, Cast: self.cast}
        self.acted: dict[type, Callable[[Any, np.ndarray, Scalars], None]] = {
            Load: self.load, Store: self.store, Gather: self.gather, Scatter: self.scatter, Atomic: self.atomic, Dot: self.dot, Update: self.update,
            Read: self.read, Index: self.index, Fold: self.fold, Check: self.check, Print: self.print,
        }  # fmt: skip

    def execute(self, op: Op, rows: np.ndarray, scalars: Scalars) -> None:
        """Do `op` for the blocks at `rows`."""
        kind = type(op)
        if kind in self.acted:
            self.acted[kind](op, rows, scalars)
        elif kind in SHAPING:
            self.tiles[op.dst] = rows, SHAPING[kind](op, *(self.get(name, rows) for name in reads(op)))  # type: ignore[union-attr]
        else:
            self.tiles[op.dst] = rows, self.computed[kind](op, rows)  # type: ignore[union-attr]

    def get(self, name: str, rows: np.ndarray) -> np.ndarray:
        """The tile of the blocks at `rows`, which are among those that computed it."""
        held, array = self.tiles[name]
        return array if held is rows else array[np.searchsorted(held, rows)]

    def load(self, op: Load, rows: np.ndarray, scalars: Scalars) -> None:
        origin, limits = _placed(op, scalars)
        self.tiles[op.dst] = rows, self.memory.load(op.box, origin, self.blocks[rows], op.other, limits)

    def store(self, op: Store, rows: np.ndarray, scalars: Scalars) -> None:
        origin, limits = _placed(op, scalars)
        self.memory.store(op.box, origin, self.blocks[rows], self.get(op.src, rows), limits)

    def gather(self, op: Gather, rows: np.ndarray, scalars: Scalars) -> None:
        found = self.memory.gather(op.tensor, self.get(op.index, rows), self.mask(op.mask, rows), op.other, self.blocks[rows])
        self.tiles[op.dst] = rows, found

    def scatter(self, op: Scatter, rows: np.ndarray, scalars: Scalars) -> None:
        self.memory.scatter(op.tensor, self.get(op.index, rows), self.get(op.src, rows), self.mask(op.mask, rows), self.blocks[rows])

    def atomic(self, op: Atomic, rows: np.ndarray, scalars: Scalars) -> None:
        index, mask, compare = self.get(op.index, rows), self.mask(op.mask, rows), self.mask(op.compare, rows)
        self.tiles[op.dst] = rows, self.memory.atomic(op.tensor, op.fn, index, self.get(op.src, rows), mask, compare, self.blocks[rows])

    def mask(self, name: str, rows: np.ndarray) -> np.ndarray | None:
        return self.get(name, rows) if name else None

    def read(self, op: Read, rows: np.ndarray, scalars: Scalars) -> None:
        scalars[op.name] = self.get(op.src, rows).astype(np.int64)

    def index(self, op: Index, rows: np.ndarray, scalars: Scalars) -> None:
        made = _column(value(op.start, scalars), len(rows), len(op.shape))
        for axis, step in enumerate(op.steps):
            along = np.arange(op.shape[axis]).reshape(-1, *(1,) * (len(op.shape) - axis - 1))
            made = made + along * _column(value(step, scalars), len(rows), len(op.shape))
        self.tiles[op.dst] = rows, np.broadcast_to(made, (len(rows), *op.shape)).astype(COMPUTE[op.dtype.name])

    def update(self, op: Update, rows: np.ndarray, scalars: Scalars) -> None:
        held, array = self.tiles[op.dst]
        # a copy, because products are added in place
        new = np.array(self.get(op.src, rows))
        if len(held) == len(rows):
            self.tiles[op.dst] = rows, new
        else:
            array = array if array.flags.writeable else array.copy()
            array[np.searchsorted(held, rows)] = new
            self.tiles[op.dst] = held, array

    def dot(self, op: Dot, rows: np.ndarray, scalars: Scalars) -> None:
        held, acc = self.tiles[op.acc]
        added = product(self.operand(op.a, rows), self.operand(op.b, rows)).astype(acc.dtype, copy=False)
        if held is rows:
            acc += added
        else:
            acc[np.searchsorted(held, rows)] += added

    def operand(self, name: str, rows: np.ndarray) -> np.ndarray:
        array = self.get(name, rows)
        of = self.types[name].dtype
        array = array.astype(np.int32) if of.name == "int8" else array
        return OPERAND.get(of.matrix, np.asarray)(array)

    def fold(self, op: Fold, rows: np.ndarray, scalars: Scalars) -> None:
        for dst, array in zip(op.dsts, fold(op, tuple(self.get(s, rows) for s in op.srcs), self.types), strict=True):
            self.tiles[dst] = rows, array

    def check(self, op: Check, rows: np.ndarray, scalars: Scalars) -> None:
        fine = self.get(op.src, rows).reshape(len(rows), -1).all(axis=1)
        if not fine.all():
            block = int(self.blocks[rows][np.argmin(fine)])
            raise GpusimError(f"assertion in block {block}: {op.message}", where=f"{self.name}, line {op.line}" if op.line else self.name)

    def print(self, op: Print, rows: np.ndarray, scalars: Scalars) -> None:
        for row, block in zip(range(len(rows)), self.blocks[rows], strict=True):
            print(f"block {block}: {op.text}", *(self.get(a, rows)[row] for a in op.args))

    def full(self, op: Full, rows: np.ndarray) -> np.ndarray:
        return rounded(np.full((len(rows), *op.shape), op.value), op.dtype)

    def map(self, op: Map, rows: np.ndarray) -> np.ndarray:
        of = self.types[op.dst]
        args = [as_rank(self.get(a, rows), len(of.shape)) for a in op.args]
        return settle(MAPS[op.fn](*args), of.dtype)

    def reduce(self, op: Reduce, rows: np.ndarray) -> np.ndarray:
        made = settle(REDUCES[op.fn](self.get(op.src, rows), op.axis + 1), self.types[op.dst].dtype)
        return made if op.keep else made.squeeze(op.axis + 1)

    def cast(self, op: Cast, rows: np.ndarray) -> np.ndarray:
        return cast(self.get(op.src, rows), self.types[op.src], op)


def _placed(op: Load | Store, scalars: Scalars) -> tuple[list[Any], list[Any]]:
    """Origin and limits of the box of each block."""
    return [value(o, scalars) for o in op.box.origin], [None if limit is None else value(limit, scalars) for limit in op.box.limits]


def _column(scalar: Any, count: int, rank: int) -> np.ndarray:
    """A scalar of each block, to be broadcast over tiles of `rank` axes."""
    return np.broadcast_to(np.asarray(scalar, dtype=np.int64), (count,)).reshape(count, *(1,) * rank)
