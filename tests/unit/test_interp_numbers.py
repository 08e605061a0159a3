"""Formats, functions and inputs of the interpreter."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.interp.compare import error_against, tolerance
from gpusim.interp.formats import COMPUTE, OPERAND, ROUNDOFF, round_mantissa, rounded, settle, storage
from gpusim.interp.functions import MAPS, REDUCES, SCANS
from gpusim.interp.inputs import prepare, random_inputs
from gpusim.interp.product import product
from gpusim.ir import functions as names
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DTYPES
from gpusim.kernels.gemm import gemm

F32 = st.floats(width=32, allow_nan=False)


def test_every_dtype_can_be_computed() -> None:
    assert set(COMPUTE) == set(DTYPES)
    assert set(ROUNDOFF) == names.FLOATING
    for of in DTYPES.values():
        assert storage(of).itemsize == of.bytes


@given(st.lists(F32, min_size=1, max_size=20))
def test_tf32_is_the_nearest_number_with_ten_bits_and_ties_are_even(numbers: list[float]) -> None:
    x = np.array(numbers, dtype=np.float32)
    for value, got in zip(x.astype(np.float64), round_mantissa(x, 10).astype(np.float64), strict=True):
        if not np.isfinite(value):
            assert got == value
            continue
        step = 2.0 ** (max(int(np.frexp(value)[1]) - 1, -126) - 10)
        nearest = np.rint(value / step) * step  # rint takes ties to even
        assert got == nearest or (abs(nearest) >= 2.0**128 and np.isinf(got))


def test_tf32_by_hand() -> None:
    one = np.float32(1)
    cases = {one + 2.0**-11: 1, one + 3 * 2.0**-11: 1 + 2.0**-9, one + 2.0**-11 + 2.0**-23: 1 + 2.0**-10, -one - 2.0**-12: -1, np.inf: np.inf}
    assert round_mantissa(np.array(list(cases), np.float32), 10).tolist() == list(cases.values())
    assert np.isnan(round_mantissa(np.array([np.nan], np.float32), 10)[0])


@given(st.lists(F32, min_size=1, max_size=20))
def test_seven_bits_are_bfloat16(numbers: list[float]) -> None:
    x = np.array(numbers, dtype=np.float32)
    with np.errstate(over="ignore"):
        assert round_mantissa(x, 7).tolist() == x.astype(ml_dtypes.bfloat16).astype(np.float32).tolist()
    assert rounded(x, DTYPES["bf16"]).tolist() == round_mantissa(x, 7).tolist()


def test_rounding_to_each_dtype() -> None:
    x = np.array([1 / 3, -2.7, 70000.0, 0.0], dtype=np.float32)
    assert rounded(x, DTYPES["fp16"]).tolist() == [float(np.float16(1 / 3)), float(np.float16(-2.7)), np.inf, 0.0]
    assert rounded(x, DTYPES["int32"]).tolist() == [0, -2, 70000, 0]
    assert rounded(x, DTYPES["bool"]).tolist() == [True, True, True, False]
    assert rounded(x, DTYPES["tf32"]).tolist() == x.tolist()
    assert OPERAND["tf32"](x).tolist() == round_mantissa(x, 10).tolist()
    assert rounded(x, DTYPES["fp64"]).dtype == np.float64


def test_settle_rounds_only_what_computes_in_another_type() -> None:
    x = np.array([1 / 3], dtype=np.float32)
    assert settle(x, DTYPES["fp32"]) is x
    assert settle(x, DTYPES["fp16"])[0] == np.float32(np.float16(1 / 3))


def test_names_and_meanings_belong_together() -> None:
    assert set(MAPS) == set(names.MAPS)
    assert set(REDUCES) == names.REDUCES | names.ARGS
    assert set(SCANS) == names.SCANS


EXACT = {
    "exp2": (lambda x: 2**x, [0.5, -3.0]),
    "log2": (lambda x: np.log(x) / np.log(2), [0.5, 7.0]),
    "rsqrt": (lambda x: x**-0.5, [0.25, 7.0]),
    "sigmoid": (lambda x: np.exp(x) / (np.exp(x) + 1), [-2.0, 3.0]),
    "relu": (lambda x: x * (x > 0), [-2.0, 3.0]),
    "neg": (lambda x: -x, [-2.0, 3.0]),
    "tanh": (lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1), [-2.0, 0.3]),
    "ceil": (lambda x: -(-x // 1), [-2.5, 0.3]),
}


@pytest.mark.parametrize("fn", EXACT)
def test_functions_mean_what_mathematics_says(fn: str) -> None:
    meaning, points = EXACT[fn]
    got = MAPS[fn](np.array(points, np.float32))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, meaning(np.array(points, np.float64)), rtol=1e-6)


def test_functions_of_several_arguments() -> None:
    x, y, z = (np.array(v, np.float32) for v in ([1, 2, 3], [4, 2, 0.5], [1, 1, 1]))
    assert MAPS["fma"](x, y, z).tolist() == [5, 5, 2.5]
    assert MAPS["div"](x, y).tolist() == [0.25, 1, 6]
    assert MAPS["where"](MAPS["lt"](x, y), x, z).tolist() == [1, 1, 1]
    assert MAPS["ge"](x, y).tolist() == [False, True, True]


def test_results_keep_the_computing_type_and_bool_where_the_table_says() -> None:
    given_as = {"T": np.ones(3, np.float32), "F": np.ones(3, np.float32), "B": np.ones(3, bool), "A": np.ones(3, np.float32)}
    given_as |= {"I": np.ones(3, np.int32), "W": np.ones(3, np.uint32), "R": np.ones(3, np.float32)}
    for fn, signature in names.MAPS.items():
        got = MAPS[fn](*(given_as[letter] for letter in signature.takes))
        assert got.dtype == given_as[signature.gives].dtype, fn


def test_reductions_keep_their_axis() -> None:
    x = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert REDUCES["sum"](x, 1).tolist() == [[6], [22], [38]]
    assert REDUCES["max"](x, 0).tolist() == [[8, 9, 10, 11]]
    assert REDUCES["sum"](x, 1).dtype == np.int32


@pytest.mark.parametrize(("m", "k", "n"), [(128, 64, 128), (3, 5, 7), (1, 1, 1), (48, 512, 1024), (254, 64, 256)])
def test_products_in_pieces(m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-4, 5, (3, m, k)).astype(np.float32), rng.integers(-4, 5, (3, k, n)).astype(np.float32)
    got = product(a, b)
    assert got.dtype == np.float32
    assert (got == np.einsum("bmk,bkn->bmn", a.astype(np.int64), b.astype(np.int64), optimize=True)).all()
    assert product(np.broadcast_to(a[:1], a.shape), b)[2, 0, 0] == a[0, 0] @ b[2, :, 0]


def test_random_inputs_are_of_the_dtype_and_repeat() -> None:
    for dtype in ("bf16", "fp16", "tf32", "fp32", "fp64"):
        program = gemm(40, 50, 60, tile=(16, 16, 16), dtype=dtype)
        first, again, other = (random_inputs(program, seed) for seed in (1, 1, 2))
        assert {name: x.shape for name, x in first.items()} == {"a": (40, 60), "b": (60, 50)}
        assert all(x.dtype == storage(DTYPES[dtype]) for x in first.values())
        assert (first["a"] == again["a"]).all() and (first["a"] != other["a"]).any()
        assert abs(first["b"].astype(np.float64).mean()) < 0.1 and abs(first["b"].astype(np.float64).std() - 1) < 0.1
    x = random_inputs(gemm(40, 50, 60, tile=(16, 16, 16), dtype="tf32"))["a"]
    assert (round_mantissa(x, 10) == x).all()


def test_random_integers_and_bools() -> None:
    tensors = (Tensor("n", DTYPES["int32"], (99,), 99), Tensor("q", DTYPES["bool"], (99,), 99, "inout"), Tensor("o", DTYPES["fp32"], (9,), 9, "out"))
    made = random_inputs(Program("p", tensors, (1,), (), 1))
    assert set(made) == {"n", "q"}
    assert made["n"].dtype == np.int32 and made["n"].min() >= -8 and made["n"].max() <= 8 and len(set(made["n"].tolist())) > 5
    assert made["q"].dtype == bool and 0 < made["q"].sum() < 99


def one(dtype: str) -> Program:
    return Program("p", (Tensor("x", DTYPES[dtype], (2, 3), 3), Tensor("y", DTYPES[dtype], (2, 3), 3, "out")), (1,), (), 1)


@pytest.mark.parametrize(
    ("dtype", "inputs", "message"),
    [
        ("fp32", {}, "p: the input 'x' is missing. Give an array of fp32 with shape (2, 3)."),
        ("fp32", {"x": np.zeros((3, 2))}, "p: the input 'x' has shape (3, 2). Give an array of fp32 with shape (2, 3)."),
        ("fp32", {"x": np.zeros((2, 3)), "z": 1}, "'z' is not an input. The inputs are x."),
        ("fp32", {"x": np.zeros((2, 3)), "y": np.zeros((2, 3))}, "'y' is not an input."),
        ("fp32", {"x": np.zeros((2, 3), complex)}, "holds complex128"),
        ("fp32", {"x": np.full((2, 3), "a")}, "holds <U1"),
        ("int32", {"x": np.zeros((2, 3))}, "holds float64"),
        ("int32", {"x": np.full((2, 3), 2**40)}, "numbers that are not int32"),
        ("bool", {"x": np.zeros((2, 3), int)}, "holds int64"),
    ],
)
def test_inputs_that_do_not_fit_are_told(dtype: str, inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(GpusimError) as caught:
        prepare(one(dtype), inputs)
    assert message in str(caught.value)


def test_inputs_are_rounded_to_the_dtype_and_copied() -> None:
    x = np.full((2, 3), 1 / 3)
    assert prepare(one("bf16"), {"x": x})["x"].tolist() == x.astype(ml_dtypes.bfloat16).astype(float).tolist()
    x = np.ones((2, 3), np.float32)
    assert not np.shares_memory(prepare(one("fp32"), {"x": x})["x"], x)
    x = np.ones((2, 3), ml_dtypes.bfloat16)
    assert prepare(one("fp32"), {"x": x})["x"].tolist() == [[1, 1, 1], [1, 1, 1]]


def test_errors_are_measured() -> None:
    got = error_against({"c": np.array([3.0, 4.0]), "d": np.array([0.0])}, {"c": np.array([3.0, 4.5]), "d": np.array([0.0])})
    assert got["c"] == {"max_abs_error": 0.5, "relative_error": pytest.approx(0.5 / np.hypot(3, 4.5))}
    assert got["d"] == {"max_abs_error": 0.0, "relative_error": 0.0}


def test_nan_and_inf_do_not_hide() -> None:
    inf, nan = np.inf, np.nan
    cases = (([nan], [1.0], inf), ([inf], [1.0], inf), ([inf], [inf], 0.0), ([nan], [nan], 0.0), ([inf], [-inf], inf), ([1.0], [nan], inf))
    for computed, wanted, error in cases:
        assert error_against({"c": np.array(computed)}, {"c": np.array(wanted)})["c"]["max_abs_error"] == error
    assert error_against({"c": np.array([1.0])}, {"c": np.array([0.0])})["c"]["relative_error"] == inf


def test_only_equal_shapes_are_compared() -> None:
    for outputs in ({}, {"c": np.zeros(3)}):
        with pytest.raises(GpusimError, match="no output 'c'"):
            error_against(outputs, {"c": np.zeros(2)})


def test_tolerances() -> None:
    assert tolerance("bf16", 1024) == 2.0**-8 + 2.0**-14
    assert tolerance("tf32", 1) == 2.0**-23
    assert tolerance("fp64", 1) == 2.0**-52
    with pytest.raises(GpusimError, match="int32 has no products"):
        tolerance("int32", 1)
