"""Values taken apart: what of them an iteration or a branch can change, and what has to stay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpusim.frontend.tiles.values import BlockPointer, Lattice, Pointer, Scalar, is_number


def leaves(value: Any) -> list[Any]:
    """The numbers and tiles that `value` is made of."""
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, Pointer):
        return leaves(value.offset)
    if isinstance(value, Lattice):
        return [Scalar(value.start, value.dtype)]
    if isinstance(value, BlockPointer):
        return [*leaves(value.base), *leaves(value.offsets)]
    return [value]


def rebuilt(value: Any, parts: Iterator[Any]) -> Any:
    """`value` with other leaves."""
    if isinstance(value, tuple):
        return tuple(rebuilt(item, parts) for item in value)
    if isinstance(value, Pointer):
        return Pointer(value.array, rebuilt(value.offset, parts))
    if isinstance(value, Lattice):
        part = next(parts)
        # what was a formula may have become a tile, which takes the place of the whole
        return replace(value, start=part.expr, dtype=part.dtype) if isinstance(part, Scalar) else part
    if isinstance(value, BlockPointer):
        return replace(value, base=rebuilt(value.base, parts), offsets=rebuilt(value.offsets, parts))
    return next(parts)


def same_form(a: Any, b: Any) -> bool:
    """Whether a and b differ in their leaves only."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(same_form, a, b))
    if isinstance(a, Pointer) or isinstance(b, Pointer):
        return isinstance(a, Pointer) and isinstance(b, Pointer) and a.array == b.array and same_form(a.offset, b.offset)
    if isinstance(a, Lattice) or isinstance(b, Lattice):
        return isinstance(a, Lattice) and isinstance(b, Lattice) and (a.shape, a.steps, a.edges) == (b.shape, b.steps, b.edges)
    if isinstance(a, BlockPointer) or isinstance(b, BlockPointer):
        return isinstance(a, BlockPointer) and isinstance(b, BlockPointer) and a.block == b.block and same_form(a.base, b.base)
    return True


def is_formula(leaf: Any) -> bool:
    return isinstance(leaf, Scalar) or (isinstance(leaf, int) and not isinstance(leaf, bool))


def is_static(leaf: Any) -> bool:
    """An object that only the translation knows: a type, a function, None, a text."""
    return not is_number(leaf) and not hasattr(leaf, "dtype")
