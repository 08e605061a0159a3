"""`jit` and `njit` of scripts for Numba: functions of the host that kernels may call as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def jit(func_or_sig: Any = None, *more: Any, **options: Any) -> Any:
    """The function as it is: Python runs it on the host, and a kernel that calls it takes it in as a device function."""
    if callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return func_or_sig

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    return wrap


njit = jit
