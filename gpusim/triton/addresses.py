"""Addresses of arrays that kernels load from memory, as kernels on groups of matrices do."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpusim.errors import GpusimError
from gpusim.triton.arguments import bind

if TYPE_CHECKING:
    import numpy as np

#: arrays of which an address was taken, as long as they live
_KNOWN: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def data_ptr(array: Any) -> int:
    """The address of an array's first element, as an integer that kernels may load and turn into a pointer."""
    address = int(bind(array, "array", "data_ptr").flat.ctypes.data)
    _KNOWN[address] = array
    return address


def find(address: int, where: str) -> np.ndarray:
    """The memory of the array in which the byte at `address` lies, as one row: of arrays given to `data_ptr`, and of living tensors of torch.

    GpusimError if there is none.
    """
    for array in _candidates():
        flat = bind(array, "array", where).flat
        begin = int(flat.ctypes.data)
        if begin <= address < begin + flat.nbytes:
            return flat
    raise GpusimError(f"there is no array at the address {address}.", where=where, hint="Take the addresses that a kernel loads with triton.data_ptr(array).")


def _candidates() -> Iterator[Any]:
    yield from list(_KNOWN.values())
    for found in gc.get_objects():
        if type(found).__module__ == "torch" and type(found).__name__ == "Tensor" and found.device.type == "cpu":
            yield found
