"""How far computed values are from a reference, and how far rounding alone may take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.formats import ROUNDOFF
from gpusim.ir.functions import ACCUMULATORS
from gpusim.ir.types import DType, dtype


def error_against(outputs: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """tensor -> {"max_abs_error", "relative_error"} of `outputs`, for every tensor in `reference` (float64 arrays).

    max_abs_error: the largest |computed - reference| of an element. relative_error: the Frobenius norm of the difference over that
    of the reference; 0 where both are zero. A nan counts as inf, unless the reference has it too. Compare with `tolerance`.
    """
    for name, wanted in reference.items():
        if name not in outputs or outputs[name].shape != wanted.shape:
            raise GpusimError(f"there is no output '{name}' with shape {wanted.shape} to compare.", where="error_against")
    return {name: _errors(outputs[name].astype(np.float64), wanted.astype(np.float64)) for name, wanted in reference.items()}


def _errors(got: np.ndarray, wanted: np.ndarray) -> dict[str, float]:
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(got - wanted))
    difference[np.isnan(difference)] = np.inf
    norm, scale = float(np.linalg.norm(difference)), float(np.linalg.norm(wanted))
    return {"max_abs_error": float(difference.max(initial=0.0)), "relative_error": norm / scale if scale else (np.inf if norm else 0.0)}


def tolerance(of: DType | str, terms: int) -> float:
    """The relative error (Frobenius) that rounding explains in a product whose operands and result are `of`, with sums of `terms`.

    u(of) + terms * u(accumulator), with the unit roundoffs u: one rounding of the result, and one rounding of the running
    sum for each term. Higham's bound on a sum of exact products, |error| <= terms * u * sum |a| |b|, is relative to the sum
    of absolute values, which can exceed the result without limit; for operands of random sign the running sum's errors are random
    too and their norm is near u * sqrt(terms / 2) times the result's, so that this bound holds with room. For tf32 it
    holds for operands that are tf32 already (as `random_inputs` draws them); other operands lose another 2 * 2^-11.
    """
    name = dtype(of).name
    if name not in ACCUMULATORS:
        raise GpusimError(f"{name} has no products.", where="tolerance", hint=f"Give one of {', '.join(ACCUMULATORS)}.")
    stored = "fp32" if name == "tf32" else name
    return ROUNDOFF[stored] + terms * ROUNDOFF[ACCUMULATORS[name]]
