"""`jit` and `njit` of scripts for Numba: functions of the host that kernels may call as well."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from gpusim.cuda.lambdas import with_def


def jit(func_or_sig: Any = None, *more: Any, **options: Any) -> Any:
    """The function as it is: Python runs it on the host, and a kernel that calls it takes it in as a device function."""
    return _marked(func_or_sig) if hasattr(func_or_sig, "__code__") else _marked


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
    """`py_func` is how the front end knows what kernels may call."""
    made = with_def(function)
    made.py_func = made  # type: ignore[attr-defined]
    return made


njit = jit
#: of host loops; here they run one after the other
prange = range
#: settings of Numba's compiler, which scripts may set; nothing reads them
config = SimpleNamespace()
