"""What the kernels should compute: NumPy in float64, one line of mathematics each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpusim.ir.program import Program


def gemm_reference(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """{"c": a @ b} in float64, from the arrays as given: rounding the inputs to the program's dtype is the caller's."""
    return {"c": inputs["a"].astype(np.float64) @ inputs["b"].astype(np.float64)}


#: name of a program -> its reference
REFERENCES: dict[str, Callable[[Program, Mapping[str, np.ndarray]], dict[str, np.ndarray]]] = {"gemm": gemm_reference}
