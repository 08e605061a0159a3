"""Programs computed in batches of blocks against NumPy in float64."""

import time

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.interp import tile
from gpusim.interp.compare import error_against, tolerance
from gpusim.interp.formats import storage
from gpusim.interp.inputs import random_inputs
from gpusim.interp.tile import compute
from gpusim.ir.build import Builder
from gpusim.ir.parse import parse
from gpusim.ir.program import Program
from gpusim.ir.show import show
from gpusim.ir.types import DTYPES
from gpusim.kernels.gemm import gemm
from gpusim.kernels.reference import REFERENCES

FORMATS = ["bf16", "fp16", "tf32", "fp32", "fp64"]


def relative_error(program: Program, seed: int = 0) -> float:
    inputs = random_inputs(program, seed)
    errors = error_against(compute(program, inputs), REFERENCES[program.name](program, inputs))
    return errors["c"]["relative_error"]


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("ld", ["padded", "packed"])
@pytest.mark.parametrize(
    ("size", "tile_"),
    [((64, 64, 64), (32, 32, 16)), ((65, 70, 33), (32, 32, 16)), ((1, 1, 1), (16, 16, 16)), ((96, 200, 47), (64, 16, 16))],
)
def test_gemm(size: tuple[int, int, int], tile_: tuple[int, int, int], ld: str, dtype: str) -> None:
    program = gemm(*size, tile=tile_, dtype=dtype, ld=ld, group_m=2)
    error = relative_error(program)
    assert error <= tolerance(dtype, size[2])
    outputs = compute(program, random_inputs(program))
    assert set(outputs) == {"c"} and outputs["c"].dtype == storage(DTYPES[dtype]) and outputs["c"].shape == size[:2]


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_the_error_of_a_result_in_16_bits_is_that_of_its_last_rounding(dtype: str) -> None:
    error = relative_error(gemm(128, 128, 256, tile=(64, 64, 32), dtype=dtype))
    assert error > 0.2 * tolerance(dtype, 256), "a product this exact has not been rounded"


def test_products_accumulate_in_fp32() -> None:
    # In bf16 the sum of 256 + 1 + 1 + ... stays at 256.
    program = gemm(16, 16, 256, tile=(16, 16, 16), dtype="bf16")
    a, b = np.ones((16, 256)), np.ones((256, 16))
    a[:, 0] = 256
    assert (compute(program, {"a": a, "b": b})["c"].astype(float) == float(np.float32(511).astype(storage(DTYPES["bf16"])))).all()


def test_tf32_operands_are_rounded_where_they_are_multiplied() -> None:
    program = gemm(16, 16, 16, tile=(16, 16, 16), dtype="tf32")
    a, b = np.zeros((16, 16)), np.eye(16)
    a[0, 0], a[1, 1] = 1 + 2.0**-11, 1 + 2.0**-10
    c = compute(program, {"a": a, "b": b})["c"]
    assert c[0, 0] == 1 and c[1, 1] == 1 + 2.0**-10


def test_results_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    program = gemm(130, 70, 50, tile=(32, 32, 16))
    inputs = random_inputs(program)
    whole = compute(program, inputs)["c"]
    monkeypatch.setattr(tile, "BATCH_BYTES", 1)
    assert (compute(program, inputs)["c"] == whole).all()


def test_inputs_are_not_changed() -> None:
    program = scaled(role="inout")
    x = np.ones((8, 16), np.float32)
    assert (compute(program, {"x": x})["x"] == 2).all()
    assert (x == 1).all()


def scaled(role: str) -> Program:
    k = Builder("double", grid=(2, 4), warps=1)
    x = k.tensor("x", "fp32", (8, 16), role=role)
    t = k.load(x, (k.program_id(1) * 2, k.program_id(0) * 8), (2, 8))
    k.store(x, (k.program_id(1) * 2, k.program_id(0) * 8), k.map("add", t, t), (2, 8))
    return k.finish()


def softmax(rows: int, columns: int, block: int, dtype: str) -> Program:
    """One block per row; `block` covers the row."""
    k = Builder("softmax", grid=(rows,), warps=4)
    x, y = k.tensor("x", dtype, (rows, columns)), k.tensor("y", dtype, (rows, columns), role="out")
    at = (k.program_id(0), 0)
    v = k.cast(k.load(x, at, (1, block), masked=True, other=-float("inf")), "fp32")
    e = k.map("exp", k.map("sub", v, k.reduce("max", v, 1)))
    k.store(y, at, k.cast(k.map("div", e, k.reduce("sum", e, 1)), dtype), (1, block), masked=True)
    return k.finish()


@pytest.mark.parametrize("dtype", FORMATS[:4])
@pytest.mark.parametrize("columns", [64, 50])
def test_softmax(columns: int, dtype: str) -> None:
    program = softmax(37, columns, 64, dtype)
    assert parse(show(program)) == program
    inputs = random_inputs(program)
    e = np.exp(inputs["x"].astype(np.float64))
    error = error_against(compute(program, inputs), {"y": e / e.sum(axis=1, keepdims=True)})["y"]
    assert error["relative_error"] < {"bf16": 2.0**-8, "fp16": 2.0**-11}.get(dtype, 2.0**-20)


def test_layer_norm_broadcasts_a_row_over_a_tile() -> None:
    k = Builder("norm", grid=(3,), warps=4)
    x, w, y = k.tensor("x", "fp32", (12, 32)), k.tensor("w", "fp32", (32,)), k.tensor("y", "fp32", (12, 32), role="out")
    at = (k.program_id(0) * 4, 0)
    v, count = k.load(x, at, (4, 32)), k.full((1,), "fp32", 32)
    d = k.map("sub", v, k.map("div", k.reduce("sum", v, 1), count))
    scale = k.map("rsqrt", k.map("div", k.reduce("sum", k.map("mul", d, d), 1), count))
    k.store(y, at, k.map("mul", k.map("mul", d, scale), k.load(w, (0,), (32,))), (4, 32))
    inputs = random_inputs(k.finish())
    x64 = inputs["x"].astype(np.float64)
    wanted = (x64 - x64.mean(1, keepdims=True)) / x64.std(1, keepdims=True) * inputs["w"]
    assert error_against(compute(k.finish(), inputs), {"y": wanted})["y"]["relative_error"] < 1e-6


def test_16_bit_maps_round_after_every_op() -> None:
    k = Builder("p", grid=(1,), warps=1)
    x, y = k.tensor("x", "bf16", (4,)), k.tensor("y", "bf16", (4,), role="out")
    t = k.load(x, (0,), (4,))
    one = k.full((4,), "bf16", 1.0)
    k.store(y, (0,), k.map("sub", k.map("add", t, one), one), (4,))
    assert compute(k.finish(), {"x": np.array([2.0**-8, 2.0**-7, 3.0, 2.0**-9])})["y"].astype(float).tolist() == [0, 2.0**-7, 3, 0]


def lower_triangle(n: int, size: int) -> Program:
    """y = tril(x) @ v in tiles, where block row i runs i + 1 steps; the diagonal tile is loaded whole, so x is block lower triangular."""
    k = Builder("triangle", grid=(n // size,), warps=1)
    x, v, y = k.tensor("x", "fp32", (n, n)), k.tensor("v", "fp32", (n, size)), k.tensor("y", "fp32", (n, size), role="out")
    i = k.program_id(0)
    acc = k.full((size, size), "fp32")
    with k.loop("j", i + 1) as j:
        k.dot(acc, k.load(x, (i * size, j * size), (size, size)), k.load(v, (j * size, 0), (size, size)))
    k.store(y, (i * size, 0), acc, (size, size))
    return k.finish()


def test_trip_counts_differ_by_block() -> None:
    program = lower_triangle(48, 8)
    inputs = random_inputs(program)
    x, v = (inputs[name].astype(np.float64) for name in "xv")
    keep = np.kron(np.tril(np.ones((6, 6))), np.ones((8, 8)))
    assert error_against(compute(program, inputs), {"y": (x * keep) @ v})["y"]["relative_error"] < 1e-6


def test_loops_that_begin_at_different_values_and_hold_loops() -> None:
    k = Builder("p", grid=(4,), warps=1)
    x, y = k.tensor("x", "fp32", (4, 8)), k.tensor("y", "fp32", (4, 8), role="inout")
    i = k.program_id(0)
    with k.loop("a", 4, start=i) as a, k.loop("b", 2 + a % 2, start=1) as b:
        spot = (a, i + b)
        k.store(y, spot, k.map("mul", k.load(x, spot, (1, 1)), k.load(x, (i, 0), (1, 1))), (1, 1))
    inputs = random_inputs(k.finish())
    x64, wanted = inputs["x"].astype(np.float64), inputs["y"].astype(np.float64)
    # Blocks run in lockstep: the last to write an element is the last iteration, then the last block.
    writes = [(n, m, block, block + n, m) for block in range(4) for n in range(4 - block) for m in range(1, 2 + (block + n) % 2)]
    for _, _, block, row, m in sorted(writes):
        wanted[row, block + m] = x64[row, block + m] * x64[block, 0]
    assert error_against(compute(k.finish(), inputs), {"y": wanted})["y"]["relative_error"] < 1e-6


BRANCHES = """program('p', grid=(6,), warps=1, flops=0)
x: fp32[6, 4] = tensor('in', pitch=4)
y: fp32[6, 4] = tensor('out', pitch=4)

t = load(x[pid0 :+ 1, 0 :+ 4])
if pid0 % 3 < 2:
    if pid0 < 3:
        u = neg(t)
        store(y[pid0 :+ 1, 0 :+ 4], u)
    else:
        store(y[pid0 :+ 1, 0 :+ 4], t)
else:
    scale = pid0 - 1
    v = full(fp32[1, 4], 0.5)
    w = load(x[scale :+ 1, 0 :+ 4])
    z = fma(t, v, w)
    store(y[pid0 :+ 1, 0 :+ 4], z)
"""


def test_branches_differ_by_block() -> None:
    x = np.arange(24, dtype=np.float32).reshape(6, 4)
    wanted = np.stack([-x[0], -x[1], x[2] / 2 + x[1], x[3], x[4], x[5] / 2 + x[4]])
    assert (compute(parse(BRANCHES), {"x": x})["y"] == wanted).all()


def test_comparisons_and_selection() -> None:
    k = Builder("p", grid=(1,), warps=1)
    x, n, y, q = k.tensor("x", "fp32", (8,)), k.tensor("n", "int32", (8,)), k.tensor("y", "int32", (8,), role="out"), k.tensor("q", "bool", (8,), role="out")
    low = k.map("lt", k.load(x, (0,), (8,)), k.full((1,), "fp32", 0.0))
    m = k.load(n, (0,), (8,))
    k.store(y, (0,), k.map("where", low, k.map("neg", m), k.cast(k.load(x, (0,), (8,)), "int32")), (8,))
    k.store(q, (0,), low, (8,))
    inputs = {"x": np.linspace(-3, 3, 8), "n": np.arange(8)}
    got = compute(k.finish(), inputs)
    assert got["y"].tolist() == [0, -1, -2, -3, 0, 1, 2, 3] and got["y"].dtype == np.int32
    assert got["q"].tolist() == [True] * 4 + [False] * 4 and got["q"].dtype == bool


def test_a_ragged_vector() -> None:
    k = Builder("p", grid=(4,), warps=1)
    x, y = k.tensor("x", "fp16", (100,)), k.tensor("y", "fp16", (100,), role="out")
    at = (k.program_id(0) * 32,)
    t = k.load(x, at, (32,), masked=True)
    k.store(y, at, k.map("relu", t), (32,), masked=True)
    inputs = random_inputs(k.finish())
    assert (compute(k.finish(), inputs)["y"] == np.maximum(inputs["x"], 0)).all()


def test_a_program_that_breaks_a_rule_is_not_run() -> None:
    with pytest.raises(GpusimError, match="block 5 touches index 6"):
        compute(parse(BRANCHES.replace("scale = pid0 - 1", "scale = pid0 + 1")), {"x": np.zeros((6, 4))})


def test_outputs_that_nobody_writes_and_reads_of_them_are_told() -> None:
    with pytest.raises(GpusimError, match=r"p: nothing wrote 8 of 24 elements of 'y', the first at \[2, 0\]"):
        compute(parse(BRANCHES.replace("    store(y[pid0 :+ 1, 0 :+ 4], z)\n", "")), {"x": np.zeros((6, 4))})
    with pytest.raises(GpusimError, match=r"block 2 reads 'y' at \[2, 0\], which nothing has written"):
        compute(parse(BRANCHES.replace("w = load(x[scale", "w = load(y[pid0")), {"x": np.zeros((6, 4))})


def test_wrong_inputs_are_told() -> None:
    with pytest.raises(GpusimError, match=r"gemm: the input 'b' has shape \(8, 9\). Give an array of bf16 with shape \(16, 16\)"):
        compute(gemm(16, 16, 16, tile=(16, 16, 16)), {"a": np.zeros((16, 16)), "b": np.zeros((8, 9))})


@pytest.mark.parametrize("dtype", ["bf16", "tf32"])
def test_gemm_1024_in_seconds(dtype: str) -> None:
    start = time.perf_counter()
    assert relative_error(gemm(1024, 1024, 1024, tile=(128, 128, 64), dtype=dtype)) <= tolerance(dtype, 1024)
    assert time.perf_counter() - start < 5
