"""What Numba's CUDA module has beside kernels and is refused here, each with what to write instead."""

from __future__ import annotations

from typing import Any

from gpusim.cuda.launching import caller
from gpusim.errors import GpusimError


def vectorize(*given: Any, **options: Any) -> Any:
    """Refused."""
    raise GpusimError(
        "cuda.vectorize is not supported.",
        where=caller(),
        hint="Write a kernel: @cuda.jit, i = cuda.grid(1), if i < out.size: out[i] = f(x[i]); launch it with kernel.forall(n).",
    )


def guvectorize(*given: Any, **options: Any) -> Any:
    """Refused."""
    raise GpusimError(
        "cuda.guvectorize is not supported.",
        where=caller(),
        hint="Write a kernel with @cuda.jit that loops over the core dimension, one thread for each outer element.",
    )
