"""CUDA kernels in Python, spelled as Numba's CUDA Python: `from gpusim import cuda`.

A script for Numba runs after changing its import lines. Kernels run on the simulated GPU (`set_gpu`, or the environment variable
GPUSIM_GPU); results appear in place, and `kernel.report` tells how long the last launch took and why.

>>> @cuda.jit  # doctest: +SKIP
... def saxpy(a, x, y):
...     i = cuda.grid(1)
...     if i < x.size:
...         y[i] = a * x[i] + y[i]
>>> saxpy[4096, 256](2.0, x, y)  # doctest: +SKIP
>>> print(saxpy.report)  # doctest: +SKIP

Names are loaded when they are first used. What only kernels can use stands in `intrinsics`, scalar and array types in `types`.
"""

from __future__ import annotations

import builtins
from importlib import import_module
from typing import Any

#: module -> the public names it holds
_HELD = {
    "dispatcher": "jit declare_device",
    "arrays": "DeviceArray as_cuda_array device_array device_array_like is_cuda_array managed_array mapped_array mapped_array_like pinned pinned_array "
    "pinned_array_like to_device",
    "arguments": "In InOut Out",
    "streams": "Event Stream default_stream event event_elapsed_time external_stream legacy_default_stream per_thread_default_stream stream synchronize",
    "devices": "close current_context defer_cleanup detect get_current_device gpus is_available is_supported_version list_devices profile_start profile_stop "
    "profiling require_context select_device set_gpu",
    "reduction": "Reduce reduce",
    "refusals": "compile compile_all compile_for_current_device compile_ptx compile_ptx_for_current_device guvectorize vectorize",
}
_HOMES = {name: module for module, names in _HELD.items() for name in names.split()}
_MODULES = ("intrinsics", "random", "types")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        # `from gpusim.cuda import *` must not hide Python's own range
        return [n for n in __dir__() if not hasattr(builtins, n)]
    if name.startswith("__"):
        raise AttributeError(f"module 'gpusim.cuda' has no attribute '{name}'")
    value = _find(name)
    globals()[name] = value
    return value


def _find(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"gpusim.cuda.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"gpusim.cuda.{name}")
    inside = _inside()
    if name in inside:
        return inside[name]
    raise AttributeError(f"module 'gpusim.cuda' has no attribute '{name}'")


def _inside() -> dict[str, Any]:
    """What kernels name: intrinsics and types."""
    from gpusim.cuda import intrinsics, types

    return {**types.names(), **types.vectors(), **intrinsics.names()}


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_MODULES, *_inside()})
