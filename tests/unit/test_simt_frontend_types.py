"""The types that scripts import, and Numba's rules for results."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.cuda import types
from gpusim.cuda.types import as_signature, float32, int32, int64, parse_signature, void
from gpusim.errors import GpusimError
from gpusim.frontend import typing
from gpusim.frontend.folding import converted, fold
from gpusim.ir.simt.nodes import Imm


def test_array_types() -> None:
    assert (float32[:].ndim, float32[:].layout) == (1, "A")
    assert (float32[:, ::1].ndim, float32[:, ::1].layout) == (2, "C")
    assert str(float32[:, :, ::1]) == "float32[:, :, ::1]"
    assert str(float32[::1, :]) == "float32[::1, :]"


@pytest.mark.parametrize("key", [3, slice(1, 2), (slice(None), slice(None, None, 1), slice(None))])
def test_array_types_that_do_not_exist(key: object) -> None:
    with pytest.raises(GpusimError):
        float32[key]


@pytest.mark.parametrize("text", ["void(float32[:], int32)", "void(f4[:], i4)", "types.void(types.float32[:], types.int32)"])
def test_signatures_in_text(text: str) -> None:
    assert parse_signature(text) == void(float32[:], int32)


def test_other_forms_of_signatures() -> None:
    assert as_signature("(float32[:], int64)") == as_signature((float32[:], int64))
    assert as_signature("(float32[:], int64)").result is None
    assert parse_signature("UniTuple(float32, 2)(int32)").result == types.UniTuple(float32, 2)


@pytest.mark.parametrize("text", ["float99(int32)", "void(", "__import__('os')", "float32", "void(3)", ""])
def test_signatures_that_are_none(text: str) -> None:
    with pytest.raises(GpusimError, match="is no signature|neither a cast"):
        parse_signature(text)


def test_casts_outside_kernels_are_numpys() -> None:
    assert type(float32(1.5)) is np.float32 and type(types.boolean(1)) is np.bool_
    assert float(types.bfloat16(1.00390625)) == 1.0


@pytest.mark.parametrize(
    "a, b, result",
    [
        ("int32", "int32", "int64"),
        ("uint32", "uint32", "uint64"),
        ("uint32", "int32", "int64"),
        ("bool", "bool", "int64"),
        ("int64", "float32", "float64"),
        ("int16", "float32", "float32"),
        ("float32", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("float16", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
    ],
)
def test_arithmetic(a: str, b: str, result: str) -> None:
    assert typing.arithmetic(a, b) == typing.arithmetic(b, a) == result


@pytest.mark.parametrize(
    "a, b, result",
    [
        ("int32", "int64", "int64"),
        ("int64", "float64", "float64"),
        ("int32", "float32", "float64"),
        ("bool", "int32", "int32"),
        ("uint32", "int32", "int64"),
        ("uint8", "int32", "int32"),
        ("uint64", "int64", "float64"),
    ],
)
def test_unification(a: str, b: str, result: str) -> None:
    assert typing.unify(a, b) == typing.unify(b, a) == result


def test_folding_wraps_and_rounds() -> None:
    assert fold("add", (Imm(2**63 - 1, "int64"), Imm(1, "int64")), "int64") == Imm(-(2**63), "int64")
    assert fold("floordiv", (Imm(-7, "int64"), Imm(2, "int64")), "int64") == Imm(-4, "int64")
    assert fold("div", (Imm(1.0, "float64"), Imm(0.0, "float64")), "float64") is None
    assert fold("add", (Imm(0.1, "float32"), Imm(0.2, "float32")), "float32") is None, "rounding in float32 is not Python's"
    assert converted(Imm(0.1, "float64"), "float32") == Imm(float(np.float32(0.1)), "float32")
    assert converted(Imm(-1, "int64"), "uint32") == Imm(2**32 - 1, "uint32")
    assert converted(Imm(1e300, "float64"), "int64") is None
    assert converted(Imm(1e300, "float64"), "float32") == Imm(float("inf"), "float32")
