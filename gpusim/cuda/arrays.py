"""Device arrays: NumPy arrays that stand for memory of the simulated device, and how they come to be.

A DeviceArray knows which of its elements nobody has written yet (`written`), so that the sanitizer can find reads of them. Its
memory is filled with bytes 0xFF (NaN, -1) until then: a forgotten initialisation shows in the values too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gpusim.cuda.types import ScalarType
from gpusim.errors import GpusimError


class DeviceArray:
    """An array in device memory. data: the elements, as a NumPy array of any strides. written: bool array of the same shape, True
    where something was written; None if everything was. Views share both with the array that they are taken from."""

    def __init__(self, data: np.ndarray, written: np.ndarray | None = None) -> None:
        self.data = data
        self.written = written

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes."""
        return self.data.strides

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    alloc_size = nbytes

    @property
    def itemsize(self) -> int:
        return self.data.itemsize

    @property
    def T(self) -> DeviceArray:
        return self.transpose()

    @property
    def flags(self) -> Any:
        """As NumPy's."""
        return self.data.flags

    def is_c_contiguous(self) -> bool:
        return bool(self.data.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        return bool(self.data.flags.f_contiguous)

    def transpose(self, axes: tuple[int, ...] | None = None) -> DeviceArray:
        return self._view(lambda a: a.transpose(axes))

    def reshape(self, *shape: Any, order: str = "C") -> DeviceArray:
        """A view; GpusimError where only a copy could have that shape."""
        try:
            return self._view(lambda a: _reshaped(a, shape, order))
        except (ValueError, AttributeError):
            raise GpusimError(
                f"a device array of shape {self.shape} and strides {self.strides} cannot be seen with shape {shape}.",
                hint="The number of elements must stay the same and the elements must lie without gaps; copy_to_host, reshape and to_device do it with a copy.",
            ) from None

    def ravel(self, order: str = "C") -> DeviceArray:
        return self.reshape(self.size, order=order)

    def squeeze(self, axis: Any = None) -> DeviceArray:
        return self._view(lambda a: a.squeeze(axis))

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as elements of another type."""
        new = np.dtype(dtype)
        if self.written is None or new.itemsize == self.itemsize:
            return DeviceArray(self.data.view(new), self.written)
        # the marks count elements; those of another width are taken as written
        return DeviceArray(self.data.view(new))

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceArray]:
        """Pieces of `section` elements of a one-dimensional array; the last may be shorter."""
        return (self[begin : begin + section] for begin in range(0, self.size, section))

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """The elements as a new NumPy array, or written to `ary` of the same shape and element type."""
        if ary is None:
            return self.data.copy()
        _same(ary, self, "copy_to_host")
        np.copyto(ary, self.data)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Writes all elements; `ary` has the same shape and element type."""
        source = ary.data if isinstance(ary, DeviceArray) else np.asarray(ary)
        _same(source, self, "copy_to_device")
        np.copyto(self.data, source)
        self.mark_written()

    def mark_written(self) -> None:
        """All elements have been written."""
        if self.written is not None:
            self.written[...] = True

    def bind(self, stream: Any = 0) -> DeviceArray:
        """The same array; streams do not order anything here."""
        return self

    def __getitem__(self, key: Any) -> Any:
        picked = self.data[key]
        if not isinstance(picked, np.ndarray):
            return picked
        if not np.shares_memory(picked, self.data) and picked.size:
            raise GpusimError("a device array is indexed with an array.", hint="Use integers and slices, or index the result of copy_to_host().")
        return DeviceArray(picked, None if self.written is None else self.written[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[key] = value.data if isinstance(value, DeviceArray) else value
        if self.written is not None:
            self.written[key] = True

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.data.astype(dtype) if dtype is not None else self.data.copy()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The dictionary that CUDA libraries exchange; the address is one of the host."""
        return {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "typestr": self.dtype.str,
            "data": (self.data.ctypes.data, False),
            "version": 3,
        }

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype})"

    def _view(self, change: Any) -> DeviceArray:
        return DeviceArray(change(self.data), None if self.written is None else change(self.written))


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceArray | None = None) -> DeviceArray:
    """A copy of `obj` (anything NumPy takes as an array) on the device, or written to the device array `to`."""
    if to is not None:
        to.copy_to_device(obj)
        return to
    source = obj.data if isinstance(obj, DeviceArray) else np.asarray(obj)
    _supported(source.dtype)
    return DeviceArray(source.copy(order="K"))


def device_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0) -> DeviceArray:
    """Device memory that nobody has written yet. shape: an integer or a tuple; dtype as NumPy or a type of gpusim.cuda."""
    kind = as_dtype(dtype)
    _supported(kind)
    extent = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
    if any(n < 0 for n in extent):
        raise GpusimError(f"a device array of shape {extent} cannot be.", hint="Give lengths of 0 or more.")
    data = np.empty(extent, kind, order="F" if order == "F" else "C")
    data.reshape(-1, order="A").view(np.uint8)[...] = 1 if kind == np.bool_ else 0xFF
    return DeviceArray(data, np.zeros(extent, np.bool_, order="F" if order == "F" else "C"))


def device_array_like(ary: Any, stream: Any = 0) -> DeviceArray:
    """Unwritten device memory with shape and element type of `ary`, without gaps, its dimensions in the same order in memory."""
    data = ary.data if isinstance(ary, DeviceArray) else ary
    by_stride = sorted(range(data.ndim), key=lambda k: -abs(data.strides[k]))
    made = device_array([data.shape[k] for k in by_stride], data.dtype)
    return made.transpose(tuple(by_stride.index(k) for k in range(data.ndim)))


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray:
    """Host memory. Pinning has no meaning here; the array is an ordinary one."""
    return np.empty(shape, as_dtype(dtype), order="F" if order == "F" else "C")


def pinned_array_like(ary: Any) -> np.ndarray:
    return pinned_array(ary.shape, ary.dtype, order=_order(ary))


def mapped_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0, portable: bool = False, wc: bool = False
) -> np.ndarray:
    """Host memory that kernels read and write in place, as they do with every NumPy array here."""
    return pinned_array(shape, dtype, strides, order)


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> np.ndarray:
    return pinned_array_like(ary)


def managed_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0, attach_global: bool = True) -> np.ndarray:
    """Memory that host and device share; time to move pages is not modelled."""
    return pinned_array(shape, dtype, strides, order)


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """Pinning for a while: nothing to do."""
    yield


def is_cuda_array(obj: Any) -> bool:
    """Whether `obj` offers the interface of CUDA arrays."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceArray:
    """`obj` as a device array without a copy. Only arrays of the simulated device can be taken; others live in a real GPU's memory."""
    if isinstance(obj, DeviceArray):
        return obj
    raise GpusimError(f"{type(obj).__name__} is not an array of the simulated device.", hint="Use cuda.to_device(array): it copies a host array.")


def as_dtype(given: Any) -> np.dtype[Any]:
    """A NumPy dtype of a NumPy or Python type, a name, or a scalar type of gpusim.cuda."""
    name = given.dtype if isinstance(given, ScalarType) else given
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    try:
        return np.dtype(name)
    except TypeError:
        raise GpusimError(f"{given!r} is not an element type.", hint="Give one such as numpy.float32 or 'int32'.") from None


def _order(ary: Any) -> str:
    data = ary.data if isinstance(ary, DeviceArray) else ary
    return "F" if data.flags.f_contiguous and not data.flags.c_contiguous else "C"


def _reshaped(array: np.ndarray, shape: tuple[Any, ...], order: str) -> np.ndarray:
    given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    known = math.prod(n for n in given if n != -1)
    target = tuple(n if n != -1 else array.size // max(known, 1) for n in given)
    view = array.reshape(target, order="F" if order == "F" else "C")
    if array.size and not np.shares_memory(view, array):
        raise ValueError
    return view


def _same(host: Any, device: DeviceArray, what: str) -> None:
    if host.shape != device.shape or host.dtype != device.dtype:
        raise GpusimError(
            f"{what}: the array given has shape {host.shape} and type {host.dtype}, the device array {device.shape} and {device.dtype}.",
            hint="Give an array of the same shape and type.",
        )


def _supported(dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf" and dtype.name != "bfloat16":
        raise GpusimError(f"device arrays of {dtype} are not supported.", hint=UNSUPPORTED.get(dtype.kind, "Use arrays of numbers."))


#: NumPy kind -> what to do instead
UNSUPPORTED = {
    "c": "Split the numbers into two float arrays, one of the real and one of the imaginary parts.",
    "V": "Give every field of the structure an array of its own.",
    "U": "Encode the text as integers, such as numpy.frombuffer(text.encode(), numpy.uint8).",
    "S": "View the bytes as integers: array.view(numpy.uint8).",
    "O": "Convert it to numbers first, such as numpy.array(x, dtype=numpy.float32).",
    "M": "Convert it first: array.astype('int64').",
    "m": "Convert it first: array.astype('int64').",
}
