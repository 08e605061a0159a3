"""The arrays that go into a program: checked against its tensors, or drawn at random."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gpusim.errors import GpusimError
from gpusim.interp.formats import OPERAND, rounded, storage
from gpusim.ir.functions import FLOATING, WHOLE
from gpusim.ir.program import Program, Tensor

#: dtype -> kinds of NumPy dtype (`dtype.kind`) that may be given for it
_KINDS = {**dict.fromkeys(WHOLE, "iu"), "bool": "b"}
_FLOAT_KINDS = "fiu"


def random_inputs(program: Program, seed: int = 0) -> dict[str, np.ndarray]:
    """An array for every tensor that `program` reads from outside (role in or inout), in the tensor's storage type.

    Standard normal, rounded to the dtype (tf32 to what its matrix unit keeps, so that a product rounds nothing more); int32
    from -8 to 8; bool a fair coin. The same seed gives the same arrays.
    """
    rng = np.random.default_rng(seed)
    return {t.name: _random(t, rng) for t in program.tensors if t.role != "out"}


def _random(t: Tensor, rng: np.random.Generator) -> np.ndarray:
    if t.dtype.name not in FLOATING:
        low, high = (0, 1) if t.dtype.name == "bool" else (0 if t.dtype.name.startswith("u") else -8, 8)
        return rng.integers(low, high, t.shape, endpoint=True).astype(storage(t.dtype))
    values = rng.standard_normal(t.shape, dtype=np.float64 if t.dtype.name == "fp64" else np.float32)
    return OPERAND.get(t.dtype.matrix, np.asarray)(values).astype(storage(t.dtype))


def prepare(program: Program, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """tensor -> its values in the computing type, each converted once; float arrays are rounded to the tensor's dtype.

    Raises GpusimError for an array that is missing, that no input takes, or that has the wrong shape or kind of numbers.
    """
    wanted = {t.name: t for t in program.tensors if t.role != "out"}
    for name in inputs:
        if name not in wanted:
            raise GpusimError(f"'{name}' is not an input.", where=program.name, hint=f"The inputs are {', '.join(wanted) or 'none'}.")
    return {name: _prepared(program, t, inputs) for name, t in wanted.items()}


def _prepared(program: Program, t: Tensor, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    expected = f"an array of {t.dtype} with shape {t.shape}"
    if t.name not in inputs:
        raise GpusimError(f"the input '{t.name}' is missing.", where=program.name, hint=f"Give {expected}.")
    given = np.asarray(inputs[t.name])
    if given.shape != t.shape:
        raise GpusimError(f"the input '{t.name}' has shape {given.shape}.", where=program.name, hint=f"Give {expected}.")
    # bfloat16 has no kind of its own.
    if given.dtype.kind not in _KINDS.get(t.dtype.name, _FLOAT_KINDS) and given.dtype != storage(t.dtype) and given.dtype.name != "bfloat16":
        raise GpusimError(f"the input '{t.name}' holds {given.dtype}.", where=program.name, hint=f"Give {expected}.")
    # A fresh array in any case: an inout tensor is written to, and the caller's array is not.
    values = rounded(given, t.dtype)
    if values.dtype.kind in "iu" and np.any(values != given):
        raise GpusimError(f"the input '{t.name}' holds numbers that are not {t.dtype}.", where=program.name, hint=f"Give {expected}.")
    return values
