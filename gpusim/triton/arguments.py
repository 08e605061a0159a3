"""What a script hands to a kernel: arrays as rows of elements that the kernel changes in place, numbers as they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusim.errors import GpusimError
from gpusim.frontend.tiles.values import Array

if TYPE_CHECKING:
    import numpy as np

#: NumPy's name of an element type -> the IR's, where they differ
_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "float8_e4m3fn": "fp8e4m3", "float8_e5m2": "fp8e5m2"}


@dataclass(frozen=True, slots=True)
class Bound:
    """An array argument: what the front end knows of it, its memory, and what brings results back where that is a copy."""

    array: Array
    flat: np.ndarray
    after: Callable[[], None] | None = None
    refuse: str = ""


def is_array(value: Any) -> bool:
    """Whether an argument is an array, of any library."""
    import numpy as np

    if isinstance(value, np.generic) or isinstance(value, type):
        return False
    return isinstance(value, np.ndarray) or hasattr(value, "__array__") or hasattr(value, "__dlpack__") or hasattr(value, "written")


def bind(value: Any, name: str, where: str) -> Bound:
    """`value` for the parameter `name`. GpusimError for arrays that kernels do not take."""
    import numpy as np

    from gpusim.ir.types import DTYPES

    given, after = _as_numpy(value, name, where)
    of = _NAMES.get(given.dtype.name, given.dtype.name)
    if of not in DTYPES or not given.dtype.isnative:
        raise GpusimError(f"argument '{name}' is an array of {given.dtype}, which kernels do not take.", where=where, hint="Convert it with astype.")
    steps = tuple(s // given.itemsize for s in given.strides)
    if any(s % given.itemsize for s in given.strides) or any(s < 0 for s, n in zip(steps, given.shape, strict=True) if n > 1):
        raise GpusimError(f"argument '{name}' has strides {given.strides}.", where=where, hint="Pass a copy: numpy.ascontiguousarray(x).")
    size = 1 + sum((n - 1) * s for n, s in zip(given.shape, steps, strict=True)) if given.size else 0
    flat = np.lib.stride_tricks.as_strided(given, (size,), (given.itemsize,))
    refuse = "" if given.flags.writeable else "it is read-only"
    return Bound(Array(name, of, size, given.shape, steps), flat, after, refuse)


def _as_numpy(value: Any, name: str, where: str) -> tuple[np.ndarray, Callable[[], None] | None]:
    """The array as NumPy sees it, and what writes a copy back."""
    import numpy as np

    if isinstance(value, np.ndarray):
        return value, None
    if isinstance(getattr(value, "data", None), np.ndarray):
        return value.data, None
    made = _shared(value)
    if made is not None:
        return made, None
    copy = np.array(value)
    if not hasattr(value, "__setitem__"):
        return copy, None

    def back() -> None:
        try:
            value[...] = copy
        except Exception as error:
            kind = type(value).__name__
            raise GpusimError(f"the result cannot be written back to argument '{name}', a {kind}: {error}.", where=where, hint="Pass a NumPy array.") from None

    return copy, back


def _shared(value: Any) -> np.ndarray | None:
    """The memory of a foreign array without a copy, if it gives that away."""
    import numpy as np

    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        import ml_dtypes

        return np.asarray(value.detach().view(sys.modules["torch"].int16)).view(ml_dtypes.bfloat16)
    for view in (lambda: np.from_dlpack(value), lambda: np.asarray(value.detach() if hasattr(value, "detach") else value)):
        try:
            made = view()
            if made.flags.writeable and np.shares_memory(made, view()):
                return made
        except (TypeError, AttributeError, RuntimeError, ValueError, BufferError):
            continue
    return None
