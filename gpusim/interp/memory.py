"""Global memory of a launch: the tensors as arrays, and boxes of many blocks gathered and scattered at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gpusim.errors import GpusimError
from gpusim.interp import addressed
from gpusim.interp.formats import COMPUTE, settle, storage
from gpusim.interp.inputs import prepare
from gpusim.ir.boxes import parts, refuse_outside
from gpusim.ir.ops import Box
from gpusim.ir.program import Program, Tensor


class Memory:
    """Holds every tensor in the type that computes it, and which elements of the outputs have been written.

    Rows are as long as the tensor's bound: masked boxes may reach into the padding, which reads as zero and is cut off at the end.
    """

    def __init__(self, program: Program, inputs: dict[str, np.ndarray]) -> None:
        self.program = program
        self.tensors = {t.name: t for t in program.tensors}
        self.arrays = {name: _with_padding(a, self.tensors[name]) for name, a in prepare(program, inputs).items()}
        self.written: dict[str, np.ndarray] = {}
        for t in program.tensors:
            if t.role == "out":
                self.arrays[t.name] = _with_padding(np.zeros(t.shape, COMPUTE[t.dtype.name]), t)
                self.written[t.name] = np.zeros(self.arrays[t.name].shape, dtype=bool)
                self.written[t.name][..., t.shape[-1] :] = True

    def load(self, box: Box, origin: list[Any], blocks: np.ndarray, other: float = 0.0, limits: Sequence[Any] = ()) -> np.ndarray:
        """The tiles in the boxes of all `blocks`: [blocks, *box.tile], `other` where a masked box lies outside.

        origin: for each dimension an int, or one start for each block; limits: the same, None for the end of the tensor. The result may be one
        array seen by all blocks, so it is not to be written to. Raises GpusimError for an unmasked box outside the tensor, and for elements
        that nothing has written.
        """
        found = self._boxes(box, origin, blocks, other, limits)
        return _to_tile(box, self._edged(box, origin, found, _ends(limits, self.arrays[box.tensor].shape)) if any(box.edges) else found)

    def _edged(self, box: Box, origin: list[Any], found: np.ndarray, ends: Sequence[Any]) -> np.ndarray:
        """`found` with what lies behind the edges of the boxes that reach over them."""
        array, count = self.arrays[box.tensor], len(found)
        starts = [np.broadcast_to(o, count) for o in origin]
        limits = [np.broadcast_to(e, count) for e in ends]
        over = [n for n in range(count) if any(e and s[n] + w > m[n] for e, s, w, m in zip(box.edges, starts, box.shape, limits, strict=True))]
        found = np.array(found) if over else found
        for n in over:
            places = [_beyond(e, int(s[n]), w, int(m[n])) for e, s, w, m in zip(box.edges, starts, box.shape, limits, strict=True)]
            kept = [p >= 0 for p in places]
            found[n][np.ix_(*kept)] = array[np.ix_(*(p[k] for p, k in zip(places, kept, strict=True)))]
        return found

    def _boxes(self, box: Box, origin: list[Any], blocks: np.ndarray, other: float, limits: Sequence[Any]) -> np.ndarray:
        self._guard(box, origin, blocks)
        array = self.arrays[box.tensor]
        if len(blocks) == 1 and box.tensor not in self.written:
            return _single(array, box, origin, other, limits)
        result: np.ndarray | None = None
        for rows, spans in parts(origin, box.shape, _ends(limits, array.shape), len(blocks)):
            index, extent = _windows(origin, spans, rows)
            if box.tensor in self.written:
                self._refuse_unwritten(box, index, extent, blocks[rows])
            tiles = sliding_window_view(array, extent)[index]
            if isinstance(rows, slice):
                # Where all blocks read the same box, the index is of ints and `tiles` a view of memory that may change later.
                return tiles if tiles.ndim > len(extent) else np.broadcast_to(tiles.copy(), (len(blocks), *extent))
            result = _filled(box, len(blocks), other, array.dtype) if result is None else result
            result[(rows, *(slice(*s) for s in spans))] = tiles
        return _filled(box, len(blocks), other, array.dtype) if result is None else result

    def store(self, box: Box, origin: list[Any], blocks: np.ndarray, tiles: np.ndarray, limits: Sequence[Any] = ()) -> None:
        """Write `tiles` [blocks, *box.tile] to the boxes of all `blocks`; of masked boxes only what lies inside."""
        self._guard(box, origin, blocks)
        tiles = _from_tile(box, tiles)
        array = self.arrays[box.tensor]
        if len(blocks) == 1 and box.tensor not in self.written:
            there, part = _clipped(box, origin, _ends(limits, array.shape))
            array[there] = tiles[0][part]
            return
        for rows, spans in parts(origin, box.shape, _ends(limits, array.shape), len(blocks)):
            index, extent = _windows(origin, spans, rows)
            inside = tiles[(rows, *(slice(*s) for s in spans))]
            # Without an array in the index there is one box, and the last block's tile stays in it.
            inside = inside if any(isinstance(i, np.ndarray) for i in index) else inside[-1]
            sliding_window_view(array, extent, writeable=True)[index] = inside
            if box.tensor in self.written:
                sliding_window_view(self.written[box.tensor], extent, writeable=True)[index] = True

    def gather(self, tensor: str, index: np.ndarray, mask: np.ndarray | None, other: float, blocks: np.ndarray) -> np.ndarray:
        """Elements by their offset: [blocks, *index.shape[1:]], `other` where the mask is false."""
        flat, offsets = self._addressed(tensor, index, mask, blocks)
        return addressed.gather(flat, offsets, mask, other)

    def scatter(self, tensor: str, index: np.ndarray, values: np.ndarray, mask: np.ndarray | None, blocks: np.ndarray) -> None:
        flat, offsets = self._addressed(tensor, index, mask, blocks)
        addressed.scatter(flat, offsets, values, mask)
        if tensor in self.written:
            addressed.scatter(self.written[tensor].reshape(-1), offsets, np.ones(offsets.shape, bool), mask)

    def atomic(
        self, tensor: str, fn: str, index: np.ndarray, values: np.ndarray, mask: np.ndarray | None, compare: np.ndarray | None, blocks: np.ndarray
    ) -> np.ndarray:
        """The values before; see `addressed.atomic`."""
        flat, offsets = self._addressed(tensor, index, mask, blocks)
        of = self.tensors[tensor].dtype
        return addressed.atomic(flat, fn, offsets, values, mask, compare, lambda made: settle(made, of))

    def _addressed(self, tensor: str, index: np.ndarray, mask: np.ndarray | None, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The elements of a tensor as one row, and where in it the offsets point."""
        t, array = self.tensors[tensor], self.arrays[tensor]
        rows = math.prod(t.shape[:-1])
        offsets = addressed.inside(t, index, mask, rows * t.pitch, blocks, self.program.name)
        if t.pitch != array.shape[-1]:
            offsets = offsets // t.pitch * array.shape[-1] + offsets % t.pitch
        return array.reshape(-1), offsets

    def outputs(self) -> dict[str, np.ndarray]:
        """The tensors that the program writes, in their storage type. Raises GpusimError if part of an output was never written."""
        for name, written in self.written.items():
            if not written.all():
                left = written.size - np.count_nonzero(written)
                first = [int(i) for i in np.unravel_index(np.argmin(written), written.shape)]
                hint = "Let the grid cover the tensor, or give it the role 'inout' and initial values."
                raise GpusimError(f"nothing wrote {left} of {written.size} elements of '{name}', the first at {first}.", where=self.program.name, hint=hint)
        made = (t for t in self.program.tensors if t.role != "in")
        return {t.name: np.ascontiguousarray(self.arrays[t.name][..., : t.shape[-1]]).astype(storage(t.dtype)) for t in made}

    def _guard(self, box: Box, origin: list[Any], blocks: np.ndarray) -> None:
        if not box.masked:
            refuse_outside(box, self.tensors[box.tensor], origin, blocks, self.program.name)

    def _refuse_unwritten(self, box: Box, index: tuple[Any, ...], extent: tuple[int, ...], blocks: np.ndarray) -> None:
        known = sliding_window_view(self.written[box.tensor], extent)[index]
        if known.all():
            return
        known = np.broadcast_to(known, (len(blocks), *extent))
        which, *place = np.unravel_index(np.argmin(known), known.shape)
        starts = [int(np.broadcast_to(i, len(blocks))[which]) for i in index]
        at = [start + int(p) for start, p in zip(starts, place, strict=True)]
        raise GpusimError(f"block {blocks[which]} reads '{box.tensor}' at {at}, which nothing has written.", where=self.program.name)


def _ends(limits: Sequence[Any], shape: tuple[int, ...]) -> Sequence[Any]:
    """For each dimension where accesses end."""
    return [n if limit is None else np.minimum(limit, n) for limit, n in zip(limits, shape, strict=True)] if limits else shape


def _beyond(edge: str, start: int, extent: int, limit: int) -> np.ndarray:
    """The index that each place of a dimension stands for, -1 for a masked one."""
    index = np.arange(start, start + extent)
    behind = {"wrap": index - limit, "first": np.zeros_like(index), "": np.full_like(index, -1)}[edge]
    return np.where(index < limit, index, behind)


def _clipped(box: Box, origin: list[Any], ends: Sequence[Any]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Of one block's box what lies in memory, and where that is in the box."""
    there, inside = [], []
    for start, extent, end in zip(map(_number, origin), box.shape, map(_number, ends), strict=True):
        low, high = max(start, 0), max(min(start + extent, end), start, 0)
        there.append(slice(low, max(high, low)))
        inside.append(slice(low - start, max(high, low) - start))
    return tuple(there), tuple(inside)


def _number(value: Any) -> int:
    return int(value.reshape(-1)[0]) if isinstance(value, np.ndarray) else int(value)


def _single(array: np.ndarray, box: Box, origin: list[Any], other: float, limits: Sequence[Any]) -> np.ndarray:
    """The box of one block, a copy: what a cut of memory shows may change later."""
    there, inside = _clipped(box, origin, _ends(limits, array.shape))
    found: np.ndarray = array[there]
    if found.shape == box.shape:
        return found.copy()[np.newaxis]
    made = _filled(box, 1, other, array.dtype)
    made[0][inside] = found
    return made


def _to_tile(box: Box, boxes: np.ndarray) -> np.ndarray:
    """[blocks, *box.shape] -> [blocks, *box.tile]."""
    if box.axes is None:
        return boxes
    along = [d + 1 for d in box.axes if d >= 0]
    rest = [d for d in range(1, boxes.ndim) if d not in along]
    return boxes.transpose(0, *along, *rest).reshape(len(boxes), *box.tile)


def _from_tile(box: Box, tiles: np.ndarray) -> np.ndarray:
    """[blocks, *box.tile] -> [blocks, *box.shape]."""
    if box.axes is None:
        return tiles
    along = [d for d in box.axes if d >= 0]
    rest = [d for d in range(len(box.shape)) if d not in along]
    moved = tiles.reshape(len(tiles), *(box.shape[d] for d in (*along, *rest)))
    return moved.transpose(0, *(1 + (*along, *rest).index(d) for d in range(len(box.shape))))


def _with_padding(array: np.ndarray, t: Tensor) -> np.ndarray:
    if t.row_bound == t.shape[-1]:
        return array
    padded = np.zeros((*t.shape[:-1], t.row_bound), array.dtype)
    padded[..., : t.shape[-1]] = array
    return padded


def _windows(origin: list[Any], spans: tuple[tuple[int, int], ...], rows: Any) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The first element of each window, as an index, and the extent of the windows."""
    starts = ((o[rows] if isinstance(o, np.ndarray) else o) + low for o, (low, _) in zip(origin, spans, strict=True))
    return tuple(starts), tuple(high - low for low, high in spans)


def _filled(box: Box, count: int, other: float, of: np.dtype) -> np.ndarray:
    return np.full((count, *box.shape), other, dtype=of)
