"""The language of kernels, spelled as Triton's: `import gpusim.triton.language as tl`.

Its functions are for kernels; what they mean is in `gpusim.frontend.tiles`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpusim.triton.markers import TYPES, Intrinsic, dtype, pointer_type, tensor_descriptor

if TYPE_CHECKING:
    constexpr = Any
else:
    from gpusim.triton.markers import constexpr

__all__ = ["constexpr", "dtype", "pointer_type", "tensor_descriptor"]

tensor_descriptor_type = tensor_descriptor

#: functions that the front end knows by other ways than its table
_MORE = ("range", "static_range")
_MODULES = ("math", "extra")
PropagateNan = type("PropagateNan", (), {"NONE": 0, "ALL": 1})


def names() -> set[str]:
    """Every function of the language that kernels may call."""
    from gpusim.frontend.tiles.calls import HANDLERS

    return {*HANDLERS, *_MORE}


def __getattr__(name: str) -> Any:
    if name in TYPES:
        return dtype(name)
    if name in _MODULES:
        return import_module(f"gpusim.triton.language.{name}")
    if name == "libdevice":
        return import_module("gpusim.triton.language.extra.libdevice")
    if name.startswith("__") or name not in names():
        raise AttributeError(f"module 'gpusim.triton.language' has no attribute '{name}'")
    value = Intrinsic(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *TYPES, *_MODULES, *names()})
