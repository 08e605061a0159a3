"""Functions of elements under the names of CUDA's libdevice."""

from __future__ import annotations

from typing import Any

from gpusim.triton.markers import Intrinsic

#: name here -> function of the language, where they differ
_OTHER = {"fast_expf": "exp", "fast_logf": "log", "fast_sinf": "sin", "fast_cosf": "cos", "fast_dividef": "fdiv", "div_rn": "div_rn", "nearbyint": "rint"}


def __getattr__(name: str) -> Any:
    from gpusim.triton.language import names

    found = _OTHER.get(name, name)
    if name.startswith("__") or found not in names():
        raise AttributeError(f"module 'gpusim.triton.language.extra.libdevice' has no attribute '{name}'")
    return Intrinsic(found)
