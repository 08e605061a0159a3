"""tl.extra: where scripts find `libdevice`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("libdevice", "cuda"):
        return import_module("gpusim.triton.language.extra.libdevice") if name == "libdevice" else import_module("gpusim.triton.language.extra")
    raise AttributeError(f"module 'gpusim.triton.language.extra' has no attribute '{name}'")
