# mypy: allow-untyped-defs
"""`@cuda.reduce`: a function of two values becomes a reduction of whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda.arrays import DeviceArray, device_array, to_device
from gpusim.cuda.dispatcher import Dispatcher
from gpusim.cuda.launching import caller
from gpusim.errors import GpusimError

THREADS = 128
MOST_BLOCKS = 512


class Reduce:
    """A reduction with `functor(a, b)`, which must be associative. Elements are combined in an order of its own, not from left to right."""

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        self.functor = functor
        self._kernels: dict[np.dtype[Any], Any] = {}

    def __call__(self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0) -> Any:
        """Reduces the first `size` elements of the one-dimensional `arr`, and `init`. Returns the value, or writes it to res[0]."""
        data = arr if isinstance(arr, DeviceArray) else to_device(np.asarray(arr))
        if data.ndim != 1:
            raise GpusimError(f"a reduction of an array with {data.ndim} dimensions.", where=caller(), hint="Pass array.ravel().")
        n = data.size if size is None else min(int(size), data.size)
        value = self._reduced(data, n, init)
        if res is None:
            return value
        res[0] = value
        return None

    def _reduced(self, data: DeviceArray, n: int, init: Any) -> Any:
        kernel = self._kernels.setdefault(data.dtype, _kernel(self.functor, data.dtype))
        if n == 0:
            return data.dtype.type(init)
        first = data
        while n > 1 or first is data:
            blocks = min(MOST_BLOCKS, -(-n // (2 * THREADS)))
            partial = device_array(blocks, data.dtype)
            kernel[blocks, THREADS](first, n, partial)
            first, n = partial, blocks
        start = to_device(np.array([init, first[0]], dtype=data.dtype))
        out = device_array(1, data.dtype)
        kernel[1, 1](start, 2, out)
        return out[0]


def reduce(functor: Callable[[Any, Any], Any]) -> Reduce:
    """The decorator."""
    return Reduce(functor)


def _kernel(functor: Callable[[Any, Any], Any], dtype: np.dtype[Any]) -> Any:
    combine = functor if isinstance(functor, Dispatcher) else cuda.jit(functor, device=True)
    threads, kind = THREADS, dtype.type

    @cuda.jit
    def reduction(values, n, partial):
        """Every thread combines elements a grid apart; then the block does so in shared memory, as a tree over those who have one."""
        held = cuda.shared.array(threads, kind)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        begin = cuda.blockIdx.x * cuda.blockDim.x
        count = min(cuda.blockDim.x, n - begin)
        if i < n:
            own = values[i]
            for j in range(i + cuda.gridsize(1), n, cuda.gridsize(1)):
                own = combine(own, values[j])
            held[t] = own
        cuda.syncthreads()
        half = threads // 2
        while half > 0:
            if t < half and t + half < count:
                held[t] = combine(held[t], held[t + half])
            cuda.syncthreads()
            half //= 2
        if t == 0:
            partial[cuda.blockIdx.x] = held[0]

    return reduction
