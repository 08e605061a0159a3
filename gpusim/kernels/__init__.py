"""Ready-made kernels: each one screen of IR building, its NumPy reference beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpusim.kernels.attention import attention
from gpusim.kernels.elementwise import elementwise, unfused
from gpusim.kernels.gemm import gemm
from gpusim.kernels.norm import layernorm, rmsnorm
from gpusim.kernels.softmax import softmax
from gpusim.kernels.split_k import gemm_split_k

#: kernel name on the command line -> the function that builds its program, or its programs in their order
KERNELS: dict[str, Callable[..., Any]] = {
    "gemm": gemm,
    "gemm_split_k": gemm_split_k,
    "attention": attention,
    "elementwise": elementwise,
    "unfused": unfused,
    "softmax": softmax,
    "layernorm": layernorm,
    "rmsnorm": rmsnorm,
}

__all__ = ["KERNELS", "attention", "elementwise", "gemm", "gemm_split_k", "layernorm", "rmsnorm", "softmax", "unfused"]
