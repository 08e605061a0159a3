"""Descriptors of tensors that the host makes and hands to a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class TensorDescriptor:
    """An array seen as blocks of `block_shape`: shape and strides in elements; a block outside of the shape reads as zero."""

    base: Any
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    padding: str = "zero"

    @staticmethod
    def from_tensor(tensor: Any, block_shape: list[int]) -> TensorDescriptor:
        """A descriptor of the whole of a tensor."""
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else [s // tensor.itemsize for s in tensor.strides]
        return TensorDescriptor(tensor, list(tensor.shape), [int(s) for s in strides], block_shape)
