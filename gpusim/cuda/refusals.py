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


def compile(*given: Any, **options: Any) -> Any:
    """Refused, as its relatives compile_ptx and compile_for_current_device."""
    raise GpusimError(
        "there is no machine code to compile to.",
        where=caller(),
        hint="Launch the kernel; print(kernel.inspect_asm(types)) shows the program that is simulated.",
    )


compile_ptx = compile_ptx_for_current_device = compile_for_current_device = compile_all = compile
