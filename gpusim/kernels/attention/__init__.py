"""Attention: O = softmax(scale Q K^T) V for every head, as one kernel or as three."""

from gpusim.kernels.attention.attention import attention

__all__ = ["attention"]
