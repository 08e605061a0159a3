"""tl.extra: where scripts find `libdevice`."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("libdevice", "cuda"):
        return import_module(f"gpusim.triton.language.extra.{name}")
    raise AttributeError(f"module 'gpusim.triton.language.extra' has no attribute '{name}'")
