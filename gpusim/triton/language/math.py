"""tl.math: functions of elements."""

from __future__ import annotations

from typing import Any

from gpusim.triton.markers import Intrinsic


def __getattr__(name: str) -> Any:
    from gpusim.triton.language import names

    if name.startswith("__") or name not in names():
        raise AttributeError(f"module 'gpusim.triton.language.math' has no attribute '{name}'")
    return Intrinsic(name)
