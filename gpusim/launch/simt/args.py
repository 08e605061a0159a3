"""Arguments of a launch: their types for the front end, the facts known before any thread runs, arrays that hold the values."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.errors import GpusimError
from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Arg, Atomic, Geometry, SimtProgram, Store
from gpusim.ir.simt.walk import memory

MOST_DIMENSIONS = 8
INTEGER, FLOAT, BOOLEAN = "int64", "float64", "bool"


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array of which only shape and element type are known: enough for a run that takes time but no values. C order."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    def zeros(self, read_only: bool = False) -> np.ndarray:
        """Zeros of this shape. Pages that nobody touches take no memory; of those that are only read there is but one, if nobody writes any."""
        return zeros(self.size, np_dtype(self.dtype), read_only).reshape(self.shape)


#: bytes from which NumPy asks for huge pages
HUGE = 1 << 22
#: where Linux says whether huge pages that are only read are one and the same
_ZERO_PAGE = Path("/sys/kernel/mm/transparent_hugepage/use_zero_page")


def zeros(count: int, dtype: np.dtype[Any], read_only: bool = False) -> np.ndarray:
    """Zeros, of which only small pages are touched: CTAs here and there must not bring the whole array into memory. read_only: huge pages of zeros are
    one and the same, and fewer to find."""
    nbytes = count * dtype.itemsize
    if nbytes < HUGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(count, dtype)
    pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE if read_only and _one_zero_page() else mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype, count)


@cache
def _one_zero_page() -> bool:
    try:
        return _ZERO_PAGE.read_text().strip() == "1"
    except OSError:
        return False


def np_dtype(name: str) -> np.dtype[Any]:
    """The dtype of an element type's name; "bfloat16" is ml_dtypes'."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 or isinstance(value, ArraySpec)


def describe(args: Sequence[Any], names: Sequence[str] = ()) -> tuple[Arg, ...]:
    """The types of `args` as Numba types them: Python int is int64, float float64; arrays are "C" or any ("A") layout.

    GpusimError for a value that no kernel takes.
    """
    names = names or [f"argument {i}" for i in range(len(args))]
    return tuple(_arg(value, name) for value, name in zip(args, names, strict=True))


def _arg(value: Any, name: str) -> Arg:
    if is_array(value):
        if value.ndim > MOST_DIMENSIONS:
            raise GpusimError(f"{name} has {value.ndim} dimensions.", hint=f"At most {MOST_DIMENSIONS} are supported.")
        contiguous = isinstance(value, ArraySpec) or value.flags.c_contiguous
        return Arg(name, str(value.dtype), value.ndim, "C" if contiguous else "A")
    if isinstance(value, bool | np.bool_):
        return Arg(name, BOOLEAN)
    if isinstance(value, int):
        return Arg(name, INTEGER)
    if isinstance(value, float) and not isinstance(value, np.generic):
        return Arg(name, FLOAT)
    if isinstance(value, np.generic) or isinstance(value, np.ndarray):
        return Arg(name, str(value.dtype))
    raise GpusimError(f"{name} is of type {type(value).__name__}; a kernel takes NumPy arrays and numbers.", hint="Convert it with np.asarray(...).")


def facts(program: SimtProgram, geometry: Geometry, args: Sequence[Any]) -> LaunchFacts:
    """The uniform parameters that `program` reads, with their values in this launch."""
    if len(args) != len(program.args):
        raise GpusimError(f"{program.name} takes {len(program.args)} arguments, {len(args)} were given.", where=program.file)
    params = {(p.arg, p.what): _uniform(args[p.arg], p.what, p.reg.dtype) for p in program.params}
    return LaunchFacts(geometry, params, overlapping(args))


def overlapping(args: Sequence[Any]) -> frozenset[int]:
    """Numbers of array arguments whose memory another one covers too."""
    arrays = [(i, a) for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.ndim]
    return frozenset(i for i, a in arrays for j, b in arrays if i != j and np.may_share_memory(a, b))


def _uniform(value: Any, what: str, dtype: str) -> int | float | bool:
    if what == "value":
        cast: int | float | bool = np_dtype(dtype).type(value).item()
        return cast
    if what == "size":
        return int(value.size)
    axis = int(what.removeprefix("shape").removeprefix("stride"))
    return int(value.shape[axis]) if what.startswith("shape") else _strides(value)[axis]


def _strides(value: Any) -> tuple[int, ...]:
    """In elements."""
    if isinstance(value, ArraySpec):
        out, step = [], 1
        for extent in reversed(value.shape):
            out.append(step)
            step *= extent
        return tuple(reversed(out))
    return tuple(s // value.itemsize for s in value.strides)


def backing(args: Sequence[Any], program: SimtProgram, *, copy: bool) -> list[Any]:
    """What the value pass works on. ArraySpec becomes zeros; with `copy` the caller's arrays stay as they are: those that are written are copied."""
    held: list[Any] = []
    written = _written(program)
    for i, (value, arg) in enumerate(zip(args, program.args, strict=True)):
        if isinstance(value, ArraySpec):
            held.append(value.zeros())
        elif is_array(value):
            held.append(value.copy() if copy and i in written else value)
        else:
            held.append(np_dtype(arg.dtype).type(value))
    return held


def _written(program: SimtProgram) -> set[int | None]:
    """Numbers of the array arguments that some thread may write."""
    return {stmt.buffer.arg for stmt in memory(program.body) if isinstance(stmt, Store | Atomic)}


def scratch(args: Sequence[Any], program: SimtProgram) -> list[Any]:
    """Zeros of the same shapes and strides instead of the caller's arrays."""
    held: list[Any] = []
    written = _written(program)
    for i, (value, arg) in enumerate(zip(args, program.args, strict=True)):
        if isinstance(value, ArraySpec):
            held.append(value.zeros(i not in written))
        elif is_array(value):
            held.append(_zeros_like(value))
        else:
            held.append(np_dtype(arg.dtype).type(value))
    return held


def _zeros_like(array: np.ndarray) -> np.ndarray:
    """Untouched pages of it take no memory."""
    if array.flags.c_contiguous:
        return zeros(array.size, array.dtype).reshape(array.shape)
    extent = 1 + sum((n - 1) * abs(s) // array.itemsize for n, s in zip(array.shape, array.strides, strict=True))
    return np.lib.stride_tricks.as_strided(zeros(extent, array.dtype), array.shape, array.strides)
