"""Kernels of tiles in Python, spelled as Triton: `import gpusim.triton as triton, gpusim.triton.language as tl`.

A script for Triton runs after changing its import lines. Kernels run on the simulated GPU, on NumPy arrays or anything that gives one; results
appear in place, and `kernel.report` tells how long the last launch took and why.

>>> @triton.jit  # doctest: +SKIP
... def double(x, n, BLOCK: tl.constexpr):
...     i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
...     tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)
>>> double[(triton.cdiv(n, 1024),)](x, n, BLOCK=1024)  # doctest: +SKIP
>>> print(double.report)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: public name -> the module that holds it
_HOMES = {
    **dict.fromkeys(("jit", "Kernel", "JITFunction"), "kernel"),
    **dict.fromkeys(("Config", "autotune", "heuristics"), "tuning"),
    **dict.fromkeys(("cdiv", "next_power_of_2", "constexpr_function", "set_allocator"), "host"),
    "set_gpu": "host",
    "data_ptr": "addresses",
}
_MODULES = ("language", "testing", "runtime", "tools")

__version__ = "3.6.0"


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"gpusim.triton.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gpusim.triton' has no attribute '{name}'")
    value = getattr(import_module(f"gpusim.triton.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_HOMES, *_MODULES})
