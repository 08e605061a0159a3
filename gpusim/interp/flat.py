"""Memory of a kernel on arrays: the tensors of its program are views of the arrays' memory, which it changes in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.lib.stride_tricks import as_strided

from gpusim.interp import addressed
from gpusim.interp.formats import COMPUTE, rounded, storage
from gpusim.interp.memory import Memory
from gpusim.ir.program import FAR, Program, Tensor


class FlatMemory(Memory):
    """arrays: name of an array -> its memory as one row of elements in their storage type. What is stored in the type that computes it is
    used as it is; the rest is converted, and `finish` brings back what was written. find: gives the memory around an address, for tensors
    that stand for all of memory (see `ir.program.FAR`)."""

    def __init__(self, program: Program, arrays: Mapping[str, np.ndarray], find: Callable[[int], np.ndarray] | None = None) -> None:
        self.program = program
        self.tensors = {t.name: t for t in program.tensors}
        self.written = {}
        self.given = dict(arrays)
        self.find = find
        self.far: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        near = [t for t in program.tensors if t.of != FAR]
        used = {t.of or t.name: t.dtype for t in near}
        self.flats = {name: _computing(self.given[name], COMPUTE[of.name]) for name, of in used.items()}
        shared = [n for n in used if any(n != other and np.may_share_memory(self.given[n], self.given[other]) for other in used)]
        self.before = {n: self.given[n].copy() for n in shared}
        self.arrays = {t.name: _view(t, self.flats[t.of or t.name]) for t in near}

    def finish(self) -> None:
        """Bring what was written back to arrays that were converted."""
        for given, flat in self.far.values():
            if not np.shares_memory(given, flat):
                given[...] = flat.astype(given.dtype)
        for name in {t.of or t.name for t in self.program.tensors if t.role != "in" and t.of != FAR}:
            given, flat = self.given[name], self.flats[name]
            if not np.shares_memory(given, flat):
                of = next(t.dtype for t in self.program.tensors if (t.of or t.name) == name)
                _bring_back(given, rounded(flat, of).astype(storage(of)), self.before.get(name))

    def _addressed(self, tensor: str, index: np.ndarray, mask: np.ndarray | None, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        t = self.tensors[tensor]
        if t.of == FAR:
            return self._around(t, index, mask, blocks)
        flat = self.flats[t.of or t.name]
        return flat, addressed.inside(t, index, mask, flat.size, blocks, self.program.name)

    def _around(self, t: Tensor, index: np.ndarray, mask: np.ndarray | None, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The array in which addresses lie (index: in elements, from the beginning of memory), and where in it."""
        lowest = int(np.min(index if mask is None else index[mask], initial=2**62))
        if lowest == 2**62:
            return np.zeros(1, COMPUTE[t.dtype.name]), np.zeros(index.shape, np.int64)
        begin = next((b for b, (given, _) in self.far.items() if b <= lowest * given.itemsize < b + given.nbytes), None)
        if begin is None:
            assert self.find is not None, "only launches on arrays load addresses"
            given = self.find(lowest * t.dtype.bytes)
            begin = int(given.ctypes.data)
            self.far[begin] = given, _computing(given, COMPUTE[t.dtype.name])
        flat = self.far[begin][1]
        return flat, addressed.inside(t, index - begin // t.dtype.bytes, mask, flat.size, blocks, self.program.name)


def _bring_back(given: np.ndarray, now: np.ndarray, before: np.ndarray | None) -> None:
    """Write `now` to `given`; where other arrays lie in the same memory, only what is not as it was before."""
    if before is None:
        given[...] = now
        return
    words = f"u{given.itemsize}"
    changed = now.view(words) != before.view(words)
    given[changed] = now[changed]


def _computing(given: np.ndarray, kind: str) -> np.ndarray:
    return given if given.dtype == kind else given.astype(kind)


def _view(t: Tensor, flat: np.ndarray) -> np.ndarray:
    """The memory as the tensor sees it: rows `pitch` apart, leading dimensions behind one another."""
    strides = [1] if len(t.shape) == 1 else [math.prod(t.shape[d + 1 : -1]) * t.pitch for d in range(len(t.shape) - 1)] + [1]
    return as_strided(flat, t.shape, [s * flat.itemsize for s in strides])
