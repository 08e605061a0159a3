"""What all chunks of one launch share: arguments, addresses, counters, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.simt.arith import DTYPES
from gpusim.interp.simt.compile import Compiled
from gpusim.interp.simt.locks import Locks
from gpusim.ir.simt.nodes import Buffer, Geometry, SimtProgram
from gpusim.trace.simt import Counts, CtaPath, Work

Array = Any

ALLOCATION = 512  # bytes to which allocations are aligned, as cudaMalloc does at least


class Watch(Protocol):
    """Is told of every access to global memory."""

    def touch(self, access: int, ctas: np.ndarray, sectors: np.ndarray) -> None:
        """access: number of the Access; the arrays broadcast to (CTA, lane), or to (1, lane) where lanes of many CTAs stand in one row."""

    def atomics(self, access: int, sectors: np.ndarray, operations: np.ndarray) -> None:
        """Behind `touch`, for an atomic: the sectors that its warps change, and in how many steps each time; shape [n]."""


@dataclass(eq=False)
class GlobalArray:
    """One array argument: its elements from the first one on, and where it lies."""

    buffer: Buffer
    data: Array
    address: int
    read: Array
    written: Array
    known: Array | None = None
    low: int = 1 << 62
    high: int = -1

    def mark(self, table: Array, sectors: Array) -> None:
        """Note these sectors (numbers from address // 32 on) in `read` or `written`, if there is one."""
        if not len(table):
            return
        table[sectors] = True
        self.low, self.high = min(self.low, int(sectors.min())), max(self.high, int(sectors.max()))

    def count(self, *tables: Array) -> int:
        """Sectors noted in any of the tables."""
        parts = [t[self.low : self.high + 1] for t in tables]
        return int(np.count_nonzero(parts[0] if len(parts) == 1 else parts[0] | parts[1]))

    @property
    def itemsize(self) -> int:
        return int(self.data.dtype.itemsize)


@dataclass(eq=False)
class Launch:
    compiled: Compiled
    geometry: Geometry
    arrays: dict[int, GlobalArray]
    constants: dict[int, Array]
    params: dict[int, Array]
    counts: Counts
    sanitize: bool
    shared_bytes: int
    record: frozenset[int] = frozenset()
    works: list[Work] | None = None
    locks: Locks = Locks()
    paths: dict[int, CtaPath] = field(default_factory=dict)
    notes: dict[tuple[str, int], str] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    clock: int = 0
    wavefronts: dict[Any, Any] = field(default_factory=dict)
    watch: Watch | None = None

    @property
    def program(self) -> SimtProgram:
        return self.compiled.code.program

    def note(self, key: str, line: int, text: str) -> None:
        """Once per kind and line."""
        self.notes.setdefault((key, line), f"{self.at(line)}: {text}")

    def at(self, line: int) -> str:
        return f"{self.program.file or self.program.name}:{line}"

    def source(self, line: int) -> str:
        i = line - self.program.first_line
        return self.program.source[i].strip() if 0 <= i < len(self.program.source) else ""


def bind(
    program: SimtProgram, arrays: Sequence[Any], written: Mapping[int, Array], addresses: Mapping[int, int] | None = None, prints: bool = True
) -> dict[int, GlobalArray]:
    """The arrays of the global buffers, by Buffer.id. Arrays that share memory share addresses. written, addresses, prints: see `execute`."""
    out: dict[int, GlobalArray] = {}
    homes: dict[int, tuple[int, int]] = {}
    top = ALLOCATION * 4096
    for buffer in program.buffers:
        if buffer.space != "global":
            continue
        if buffer.arg is None or buffer.arg >= len(arrays):
            raise GpusimError(f"buffer {buffer.name} has no argument", where=program.name, hint="Pass one array per array parameter.")
        array = arrays[buffer.arg]
        data = _elements(program, buffer, array)
        root = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        low, high = np.lib.array_utils.byte_bounds(root) if hasattr(np.lib, "array_utils") else np.byte_bounds(root)  # type: ignore[attr-defined]
        if id(root) not in homes:
            homes[id(root)] = (top, low)
            top += -(-(high - low + 1) // ALLOCATION) * ALLOCATION
        address, start = homes[id(root)]
        address += (data.__array_interface__["data"][0] - start) if data.size else 0
        if addresses is not None:
            address = addresses[buffer.arg]
        sectors = (address + data.nbytes - 1) // 32 - address // 32 + 1 if data.size and prints else 0
        known = _marks(program, buffer, array, written[buffer.arg]) if buffer.arg in written else None
        out[buffer.id] = GlobalArray(buffer, data, int(address), np.zeros(sectors, bool), np.zeros(sectors, bool), known)
    return out


def _elements(program: SimtProgram, buffer: Buffer, array: Any) -> Array:
    if not isinstance(array, np.ndarray):
        raise GpusimError(f"argument {buffer.name} is {type(array).__name__}, not an array", where=program.name, hint="Pass a NumPy array.")
    dtype = DTYPES[buffer.dtype]
    if array.dtype != dtype:
        raise GpusimError(
            f"argument {buffer.name} has elements of type {array.dtype}, compiled for {buffer.dtype}", where=program.name, hint="Translate for these types."
        )
    if not array.flags.c_contiguous and any(s % array.itemsize or s < 0 for s in array.strides):
        raise GpusimError(f"argument {buffer.name} has strides {array.strides} bytes", where=program.name, hint="Pass a copy: array.copy().")
    return _flat(array)


def _marks(program: SimtProgram, buffer: Buffer, array: Array, mask: Array) -> Array | None:
    """Which elements of `array` were written, counted as the array's own; None if all were."""
    steps = [(s // array.itemsize, m) for n, s, m in zip(array.shape, array.strides, mask.strides, strict=True) if n > 1]
    if mask.dtype != np.bool_ or mask.shape != array.shape or any(s != m for s, m in steps):
        raise GpusimError(f"the marks of argument {buffer.name} do not have its shape {array.shape} and layout", where=program.name)
    return None if mask.all() else _flat(mask)


def _flat(array: Array) -> Array:
    """All elements from the first to the last, gaps included."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    steps = [s // array.itemsize for s in array.strides]
    extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, steps, strict=True)) if array.size else 0
    return np.lib.stride_tricks.as_strided(array, (extent,), (array.itemsize,), writeable=array.flags.writeable)


def parameters(program: SimtProgram, arrays: Sequence[Any]) -> dict[int, Array]:
    """Register number -> value of shape (1, 1), for every Param."""
    out: dict[int, Array] = {}
    for param in program.params:
        value = arrays[param.arg]
        if param.what == "size":
            value = value.size
        elif param.what.startswith("shape"):
            value = value.shape[int(param.what[5:])]
        elif param.what.startswith("stride"):
            value = value.strides[int(param.what[6:])] // value.itemsize
        out[param.reg.id] = np.array([[value]]).astype(DTYPES[param.reg.dtype])
    return out
