"""gpusim: how long a GPU kernel takes, and why, without the GPU.

>>> import gpusim as gs
>>> report = gs.run(gs.kernels.gemm(2048, 2048, 2048, tile=(256, 128, 64)), gpu="h200")  # doctest: +SKIP
>>> report.time_us, report.waves, report.bottleneck  # doctest: +SKIP

Kernels that are written as in CUDA: `from gpusim import cuda`, and what a script for Numba imports beside it (`float32`, `types`, ...).

The public names are loaded when they are first used, so that the import itself costs almost nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpusim import cuda, kernels
    from gpusim.api import compare, list_specs, load_spec, program, run, sweep
    from gpusim.cuda.launching import Launch
    from gpusim.errors import GpusimError
    from gpusim.report.program import ProgramReport
    from gpusim.report.report import Report

__version__ = "0.1.0"

#: public name -> the module that holds it ("" where the name is a module of its own)
_HOMES = {
    "run": "gpusim.api",
    "compare": "gpusim.api",
    "program": "gpusim.api",
    "sweep": "gpusim.api",
    "load_spec": "gpusim.api",
    "list_specs": "gpusim.api",
    "kernels": "",
    "cuda": "",
    "types": "gpusim.cuda",
    "Launch": "gpusim.cuda.launching",
    "Report": "gpusim.report.report",
    "ProgramReport": "gpusim.report.program",
    "GpusimError": "gpusim.errors",
}

#: types that a script for Numba imports beside `cuda`
_TYPES = (
    "void boolean bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp intc uintc int_ uint "
    "float16 bfloat16 float32 float64 float_ double b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8"
)
_HOMES |= dict.fromkeys(_TYPES.split(), "gpusim.cuda.types")
_HOMES |= dict.fromkeys(("config", "jit", "njit", "prange"), "gpusim.cuda.host")
_HOMES |= {"vectorize": "gpusim.cuda.refusals", "guvectorize": "gpusim.cuda.refusals"}

__all__ = ["GpusimError", "Launch", "ProgramReport", "Report", "compare", "cuda", "kernels", "list_specs", "load_spec", "program", "run", "sweep"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'gpusim' has no attribute '{name}'")
    home = _HOMES[name]
    value = getattr(import_module(home), name) if home else import_module(f"gpusim.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
