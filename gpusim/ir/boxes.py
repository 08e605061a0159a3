"""Where boxes lie: the checker's one pass over all blocks, and the words for a box that lies wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.blocks import Scalars, affine_loops, program_ids, run, value
from gpusim.ir.ops import Box, Load, Op, Store
from gpusim.ir.program import Program, Tensor
from gpusim.ir.show import show_op


def check_boxes(program: Program) -> None:
    """Raise GpusimError if an unmasked box leaves its tensor in any block and iteration, or if two blocks store to one place.

    Everything is evaluated for all blocks at once; a loop on which addresses depend linearly is looked at in its first and last
    iteration only. Stores inside loops, and stores whose origins are no multiples of their extent, are not compared.
    """
    blocks = np.arange(program.ctas)
    tensors = {t.name: t for t in program.tensors}
    outermost = {id(op) for op in program.body}

    def visit(op: Op, rows: np.ndarray, scalars: Scalars) -> None:
        if not isinstance(op, Load | Store):
            return
        once = isinstance(op, Store) and id(op) in outermost and not op.box.limits
        if not once and op.box.masked:
            return
        tensor = tensors[op.box.tensor]
        origin = [value(o, scalars) for o in op.box.origin]
        if not op.box.masked:
            refuse_outside(op.box, tensor, origin, rows, f"{program.name}: {show_op(op)}")
        if once:
            _refuse_overlap(op.box, tensor, origin, rows, f"{program.name}: {show_op(op)}")

    run(program.body, blocks, program_ids(program.grid, blocks), visit, affine_loops(program.body))


def refuse_outside(box: Box, tensor: Tensor, origin: list[Any], blocks: np.ndarray, where: str) -> None:
    """Raise GpusimError if a box leaves the tensor: with the first block that does, and the first index outside."""
    for axis, (start, extent, size) in enumerate(zip(origin, box.shape, tensor.shape, strict=True)):
        if np.min(start) >= 0 and np.max(start) + extent <= size:
            continue
        starts = np.broadcast_to(start, blocks.shape)
        first = int(np.argmax((starts < 0) | (starts + extent > size)))
        index = int(starts[first]) if starts[first] < 0 else max(size, int(starts[first]))
        what = f"block {blocks[first]} touches index {index} of dimension {axis} of '{tensor.name}', which has {size} there."
        raise GpusimError(what, where=where, hint="Use a masked box, or a grid and loop that fit the tensor.")


def _refuse_overlap(box: Box, tensor: Tensor, origin: list[Any], blocks: np.ndarray, where: str) -> None:
    """Raise GpusimError if two blocks write one cell of the tensor, cut into cells of the box's extent."""
    cell: Any = 0
    inside: Any = True
    for start, extent, size in zip(origin, box.shape, tensor.shape, strict=True):
        index, count = start // extent, -(-size // extent)
        if np.any(index * extent != start):
            return
        if np.min(index) < 0 or np.max(index) >= count:
            inside = inside & (index >= 0) & (index < count)
        cell = cell * count + index
    cell = np.broadcast_to(cell, blocks.shape)
    inside = np.broadcast_to(inside, blocks.shape)
    cell, held = (cell, blocks) if np.all(inside) else (cell[inside], blocks[inside])
    if len(cell) and (writers := np.bincount(cell)).max() > 1:
        pair = held[cell == np.argmax(writers > 1)]
        both = f"blocks {pair[0]} and {pair[1]}"
        raise GpusimError(f"{both} write the same box of '{tensor.name}'.", where=where, hint="Give each block its own part, or add up in a second kernel.")


def parts(origin: list[Any], shape: tuple[int, ...], size: Sequence[Any], count: int) -> Iterator[tuple[Any, tuple[tuple[int, int], ...]]]:
    """Group `count` boxes by how much of them lies below `size` (for each dimension one number, or one for each box) and above 0.

    Yields (rows, spans): which boxes, and for each dimension the half-open span of the box that is inside. Boxes that are outside
    altogether are in no group. rows is `slice(None)` if all boxes lie inside.
    """
    if all(np.min(o) >= 0 and np.max(o + s - n) <= 0 for o, s, n in zip(origin, shape, size, strict=True)):
        yield slice(None), tuple((0, s) for s in shape)
        return
    bounds = []
    for o, s, n in zip(origin, shape, size, strict=True):
        bounds += [np.broadcast_to(np.clip(-o, 0, s), count), np.broadcast_to(np.clip(n - o, 0, s), count)]
    kinds, kind = np.unique(np.stack(bounds, axis=1), axis=0, return_inverse=True)
    for which, edges in enumerate(kinds.tolist()):
        spans = tuple(zip(edges[::2], edges[1::2], strict=True))
        if all(low < high for low, high in spans):
            yield np.flatnonzero(kind.reshape(-1) == which), spans
