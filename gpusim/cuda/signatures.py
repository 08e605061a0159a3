"""Which of a kernel's declared signatures a launch meets, and its numbers converted to that signature's types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpusim.cuda.arguments import Bound
from gpusim.cuda.arrays import as_dtype
from gpusim.cuda.types import ArrayType, ScalarType, Signature, TupleType, as_signature
from gpusim.errors import GpusimError

#: NumPy kind -> kinds that its numbers may become, the nearest first
BECOMES = {"b": "buif", "u": "uif", "i": "iuf", "f": "fiu"}


def parse(given: Any, where: str) -> tuple[Signature, ...]:
    """What stands in `@cuda.jit(...)`: one signature (types in a tuple, `void(...)`, or a string), or a list of them."""
    try:
        return tuple(map(as_signature, given)) if isinstance(given, list) else (as_signature(given),)
    except GpusimError as error:
        raise GpusimError(error.what, where=where, hint=error.hint) from None


def check_kernel(signatures: Sequence[Signature], names: Sequence[str], kernel: str, where: str) -> None:
    """GpusimError for a signature that returns something or has another number of arguments than the kernel."""
    for signature in signatures:
        if signature.result is not None and str(signature.result) != "void":
            what = f"kernel {kernel} has signature {signature}, which returns a value."
            raise GpusimError(what, where=where, hint="A kernel returns nothing: write void(...), and store results in an array.")
        if len(signature.args) != len(names):
            what = f"signature {signature} has {len(signature.args)} arguments, kernel {kernel} has {len(names)}: {', '.join(names)}."
            raise GpusimError(what, where=where, hint="Give one type for each parameter.")


def choose(signatures: Sequence[Signature], bound: Sequence[Bound], kernel: str, where: str) -> list[Bound]:
    """The arguments for the signature that needs the fewest conversions. GpusimError if none fits."""
    fits = [(cost, i) for i, s in enumerate(signatures) if (cost := _cost(s, bound)) is not None]
    if not fits:
        types = ", ".join(f"{b.name}: {_type_of(b.value)}" for b in bound)
        listed = "; ".join(map(str, signatures))
        what = f"no signature of kernel {kernel} takes ({types}). Declared: {listed}."
        raise GpusimError(what, where=where, hint="Convert the arrays (array.astype), or declare the types that you pass.")
    chosen = signatures[min(fits)[1]]
    return [_converted(b, t) for b, t in zip(bound, flat(chosen.args), strict=True)]


def flat(types: Sequence[Any]) -> tuple[Any, ...]:
    """A signature's types with those of a tuple one by one, as the arguments are bound."""
    return tuple(item for t in types for item in (t.items if isinstance(t, TupleType) else (t,)))


def _cost(signature: Signature, bound: Sequence[Bound]) -> int | None:
    wanted = flat(signature.args)
    if len(wanted) != len(bound):
        return None
    costs = [_one(t, b.value) for t, b in zip(wanted, bound, strict=True)]
    return None if None in costs else sum(c for c in costs if c is not None)


def _one(wanted: Any, value: Any) -> int | None:
    """How far `value` is from type `wanted`: 0 the same, more for a conversion, None if it cannot be passed."""
    if isinstance(wanted, ArrayType):
        if not isinstance(value, np.ndarray) or value.dtype != as_dtype(wanted.element.dtype) or value.ndim != wanted.ndim:
            return None
        return 0 if {"C": value.flags.c_contiguous, "F": value.flags.f_contiguous}.get(wanted.layout, True) else None
    if isinstance(value, np.ndarray) or not isinstance(wanted, ScalarType):
        return None
    has, target = as_dtype(_scalar_type(value)), as_dtype(wanted.dtype)
    if has == target:
        return 0
    order = BECOMES.get(has.kind, "f")
    steps = 4 * (order.index(target.kind) + 1 if target.kind in order else 4)
    return steps + (target.itemsize < has.itemsize) * 2 + (target.itemsize != has.itemsize)


def _converted(bound: Bound, wanted: Any) -> Bound:
    if isinstance(wanted, ArrayType):
        return bound
    with np.errstate(over="ignore"):
        return replace(bound, value=np.asarray(bound.value).astype(as_dtype(wanted.dtype))[()])


def _scalar_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, np.generic):
        return str(value.dtype)
    return "int64" if isinstance(value, int) else "float64"


def _type_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{', '.join(':' * value.ndim)}]"
    return _scalar_type(value)
