"""Small functions that scripts call on the host, and kernels too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.cuda.devices import set_gpu

__all__ = ["cdiv", "constexpr_function", "next_power_of_2", "set_allocator", "set_gpu"]


def cdiv(x: int, y: int) -> int:
    """x / y, rounded up."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """The least power of two that is not less than n."""
    return 1 << (int(n) - 1).bit_length() if n > 0 else 0


def set_allocator(allocator: Callable[..., Any]) -> None:
    """Descriptors that kernels make need no memory of the host here."""


def constexpr_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of constants that kernels call while they are translated."""
    fn.constexpr_function = True  # type: ignore[attr-defined]
    return fn


cdiv.intrinsic = "cdiv"  # type: ignore[attr-defined]
next_power_of_2.constexpr_function = True  # type: ignore[attr-defined]
