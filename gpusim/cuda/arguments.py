"""What a script hands to a kernel, made ready for a launch: arrays as NumPy arrays, numbers with their types, and what is to be
written back afterwards."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.cuda.arrays import UNSUPPORTED, DeviceArray
from gpusim.errors import GpusimError

#: type of an argument that no kernel takes -> what to do instead
REFUSED: tuple[tuple[type | tuple[type, ...], str], ...] = (
    ((list, set, dict), "Convert it to an array: numpy.asarray(values, dtype=numpy.float32)."),
    ((str, bytes, bytearray), "Encode the text as integers: numpy.frombuffer(text.encode(), numpy.uint8)."),
    ((np.datetime64, np.timedelta64), "Convert it to an integer: value.astype('int64')."),
)
HIGHEST_SIGNED, HIGHEST = 2**63 - 1, 2**64 - 1


@dataclass(frozen=True, slots=True)
class Wrapped:
    """`cuda.In`, `cuda.Out` and `cuda.InOut`: an array and which way it travels."""

    array: Any
    reads: bool
    writes: bool


def In(ary: Any) -> Wrapped:
    """The kernel works on a copy; the caller's array stays as it is."""
    return Wrapped(ary, True, False)


def Out(ary: Any) -> Wrapped:
    """Only what the kernel writes comes back; a read before that is a finding of the sanitizer."""
    return Wrapped(ary, False, True)


def InOut(ary: Any) -> Wrapped:
    """As an array without a wrapper."""
    return Wrapped(ary, True, True)


@dataclass(frozen=True, slots=True)
class Bound:
    """One argument. value: what the kernel runs on. written: DeviceArray's marks, or None. after: called when the kernel has run and has
    written to it. refuse: why it must not be written ("" if it may)."""

    name: str
    value: Any
    written: np.ndarray | None = None
    after: Callable[[], None] | None = None
    refuse: str = ""


def bind(given: Sequence[Any], names: Sequence[str], where: str) -> list[Bound]:
    """`given` in the order of the kernel's parameters `names`; a tuple as its items. GpusimError for a wrong number or a type no kernel takes."""
    if len(given) != len(names):
        listed = ", ".join(names) or "none"
        raise GpusimError(f"the kernel takes {len(names)} arguments ({listed}), {len(given)} were given.", where=where, hint="Give one value for each.")
    return [bound for value, name in zip(given, names, strict=True) for bound in _flat(value, name, where)]


def _flat(value: Any, name: str, where: str) -> list[Bound]:
    """A value, or the items of a tuple under names such as p.0 or p.x, which the front end takes for one tuple again; p.None is None,
    and a complex number p.real and p.imag."""
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None:
        return [Bound(f"{name}.None", 0)]
    if isinstance(value, complex | np.complexfloating):
        return [Bound(f"{name}.real", value.real), Bound(f"{name}.imag", value.imag)]
    if not isinstance(value, tuple):
        return [_bind(value, name, where)]
    if not value:
        raise GpusimError(f"argument '{name}' has an empty tuple.", where=where, hint="Leave it out.")
    parts = getattr(value, "_fields", range(len(value)))
    return [bound for part, item in zip(parts, value, strict=True) for bound in _flat(item, f"{name}.{part}", where)]


def _bind(value: Any, name: str, where: str) -> Bound:
    if isinstance(value, Wrapped):
        return _wrapped(value, name, where)
    if isinstance(value, DeviceArray):
        return Bound(name, _array(value.data, name, where), value.written)
    if isinstance(value, np.ndarray):
        return _host(value, name, where)
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return Bound(name, _number(value, name, where))
    for kinds, hint in REFUSED:
        if isinstance(value, kinds):
            raise GpusimError(f"argument '{name}' is of type {type(value).__name__}, which kernels do not take.", where=where, hint=hint)
    if hasattr(value, "__array__"):
        return _foreign(value, name, where)
    if type(value).__name__ == "bfloat16":
        return Bound(name, value)
    raise GpusimError(
        f"argument '{name}' is of type {type(value).__name__}, which kernels do not take.", where=where, hint="Pass NumPy arrays, device arrays and numbers."
    )


def _number(value: Any, name: str, where: str) -> Any:
    """Python integers are int64 if they fit, else uint64, as in Numba."""
    if isinstance(value, bool | float | np.generic):
        return value
    if -HIGHEST_SIGNED - 1 <= value <= HIGHEST_SIGNED:
        return int(value)
    if 0 <= value <= HIGHEST:
        return np.uint64(value)
    raise GpusimError(f"argument '{name}' = {value} does not fit 64 bits.", where=where, hint="Pass a smaller number, or two halves of it.")


def _array(array: np.ndarray, name: str, where: str) -> np.ndarray:
    """`array` if kernels can take its type and layout."""
    if array.ndim == 0:
        raise GpusimError(f"argument '{name}' is an array without dimensions.", where=where, hint="Pass array.reshape(1), or the number array[()].")
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise GpusimError(
            f"argument '{name}' is an array of {array.dtype}, which kernels do not take.", where=where, hint=UNSUPPORTED.get(array.dtype.kind, "")
        )
    if array.dtype.itemsize > 8:
        raise GpusimError(f"argument '{name}' is an array of {array.dtype}, wider than 64 bits.", where=where, hint="Convert it: array.astype('float64').")
    if not array.dtype.isnative:
        hint = "Convert it: array.astype(array.dtype.newbyteorder('='))."
        raise GpusimError(f"argument '{name}' has the other byte order ({array.dtype.str}).", where=where, hint=hint)
    if any(s % array.itemsize for s in array.strides):
        raise GpusimError(f"argument '{name}' has strides {array.strides}, no multiples of its {array.itemsize} bytes.", where=where, hint="Pass a copy of it.")
    return array


def _host(array: np.ndarray, name: str, where: str) -> Bound:
    """A host array. It travels without gaps, so a strided one goes as a copy and comes back."""
    _array(array, name, where)
    refuse = "" if array.flags.writeable else "it is read-only"
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return Bound(name, array, refuse=refuse)
    copy = np.ascontiguousarray(array)

    def back() -> None:
        array[...] = copy

    return Bound(name, copy, after=back, refuse=refuse)


def _foreign(value: Any, name: str, where: str) -> Bound:
    """Anything with `__array__`. Arrays that are views of it are written in place, others through `value[...] = `."""
    array = _array(np.asarray(value), name, where)
    if array.flags.writeable and np.shares_memory(array, np.asarray(value)):
        return _host(array, name, where)
    copy = array.copy()
    if not hasattr(value, "__setitem__"):
        return Bound(name, copy, refuse=f"a {type(value).__name__} gives copies of its data and cannot be written")

    def back() -> None:
        try:
            value[...] = copy
        except Exception as error:
            raise GpusimError(
                f"the result cannot be written back to argument '{name}', a {type(value).__name__}: {error}.", where=where, hint="Pass a NumPy array."
            ) from None

    return Bound(name, copy, after=back)


def _wrapped(given: Wrapped, name: str, where: str) -> Bound:
    inner = _bind(given.array, name, where)
    if not isinstance(inner.value, np.ndarray):
        raise GpusimError(f"argument '{name}': In, Out and InOut are for arrays.", where=where, hint="Pass a number as it is.")
    if not given.writes:
        return Bound(name, inner.value.copy("K"), None if inner.written is None else inner.written.copy("K"))
    if not given.reads:
        return Bound(name, inner.value, _unwritten(inner.value), inner.after, inner.refuse)
    return inner


def _unwritten(array: np.ndarray) -> np.ndarray:
    """False for every element, laid out as `array` is."""
    steps = tuple(s // array.itemsize for s in array.strides)
    if not array.size or any(s < 0 for s in steps):
        return np.zeros(array.shape, np.bool_)
    extent = 1 + sum((n - 1) * s for n, s in zip(array.shape, steps, strict=True))
    return np.lib.stride_tricks.as_strided(np.zeros(extent, np.bool_), array.shape, steps)
