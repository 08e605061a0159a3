# mypy: allow-untyped-defs
"""Matrix instructions of a warp and of a warpgroup: values against NumPy in every shape and format, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import bfloat16, float32, uint32
from gpusim.errors import GpusimError
from gpusim.ir.simt.matrix import FORMATS, SUMS, named, registers
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt.probes import tensor
from gpusim.launch.simt.run import begin, simulate_simt
from gpusim.spec.load import load_spec

NUMPY = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "tf32": np.float32, "fp8": ml_dtypes.float8_e4m3fn, "int8": np.int8, "fp64": np.float64}
TOTALS = {"fp32": np.float32, "fp16": np.float16, "int32": np.int32, "fp64": np.float64}
SHAPES = [(fmt, shape, sums) for fmt, f in FORMATS.items() for shape in f.shapes for sums in f.sums]


def run(kernel: Any, ctas: int, threads: int, args: tuple[Any, ...], shared: int = 0, gpu: str = "h200") -> None:
    begin(kernel, Geometry((ctas, 1, 1), (threads, 1, 1), shared), args, load_spec(gpu)).execute()


def numbers(rng: np.random.Generator, shape: tuple[int, ...], fmt: str) -> np.ndarray:
    if fmt == "int8":
        return rng.integers(-128, 128, shape).astype(np.int8)
    values = rng.standard_normal(shape).astype(NUMPY[fmt])
    return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if fmt == "tf32" else values


def exact(matrix: np.ndarray) -> np.ndarray:
    return matrix.astype(np.float64 if matrix.dtype != np.int8 else np.int64)


def fragment(matrix: np.ndarray, fmt: str, high: int) -> np.ndarray:
    """(warps, rows, k) -> (warps, registers, 32), by the tables of PTX: row g + 8 i, p neighbours from 4 p j + p t on; i before j."""
    p, warps = FORMATS[fmt].per_register, len(matrix)
    out = [
        [matrix[:, lane // 4 + 8 * i, 4 * p * j + p * (lane % 4) :][:, :p] for lane in range(32)]
        for j in range(matrix.shape[2] // (4 * p))
        for i in range(high)
    ]
    packed = np.ascontiguousarray(np.array(out).transpose(2, 0, 1, 3))
    return packed.view(FORMATS[fmt].register).reshape(warps, -1, 32)


def mma_kernel(fmt: str, shape: str, sums: str) -> Any:
    na, nb, nc = registers(shape, fmt, sums)
    held, total = FORMATS[fmt].register, SUMS[sums][0]

    @cuda.jit
    def kernel(a, b, c):
        base = cuda.grid(1) // 32 * 32
        lane = cuda.laneid
        x = cuda.local.array(4, held)
        y = cuda.local.array(2, held)
        z = cuda.local.array(4, total)
        for i in cuda.range(na, unroll=0):
            x[i] = a[base * na + 32 * i + lane]
        for i in cuda.range(nb, unroll=0):
            y[i] = b[base * nb + 32 * i + lane]
        for i in cuda.range(nc, unroll=0):
            z[i] = c[base * nc + 32 * i + lane]
        if na == 4 and nc == 4:
            z[0], z[1], z[2], z[3] = cuda.mma((x[0], x[1], x[2], x[3]), (y[0], y[1]), (z[0], z[1], z[2], z[3]), fmt, shape, sums)
        elif na == 4:
            z[0], z[1] = cuda.mma((x[0], x[1], x[2], x[3]), (y[0], y[1]), (z[0], z[1]), fmt, shape, sums)
        elif na == 2 and nc == 4:
            z[0], z[1], z[2], z[3] = cuda.mma((x[0], x[1]), y[0], (z[0], z[1], z[2], z[3]), fmt, shape, sums)
        elif na == 2:
            z[0], z[1] = cuda.mma((x[0], x[1]), y[0], (z[0], z[1]), fmt, shape, sums)
        else:
            z[0], z[1] = cuda.mma(x[0], y[0], (z[0], z[1]), fmt, shape, sums)
        for i in cuda.range(nc, unroll=0):
            c[base * nc + 32 * i + lane] = z[i]

    return kernel


@pytest.mark.parametrize(("fmt", "shape", "sums"), SHAPES)
def test_mma_is_a_product(fmt: str, shape: tuple[int, int, int], sums: str) -> None:
    m, n, k = shape
    rng = np.random.default_rng(3)
    a, b = numbers(rng, (4, m, k), fmt), numbers(rng, (4, n, k), fmt)
    c = (rng.integers(-9, 9, (4, m, n)) if sums == "int32" else rng.standard_normal((4, m, n))).astype(TOTALS[sums])
    pairs = np.ascontiguousarray(c.reshape(4, m // 8, 32, 2).transpose(0, 1, 3, 2) if sums != "fp16" else c.reshape(4, m // 8, 32, 2))
    held = pairs.view(SUMS[sums][0]).ravel().copy()
    run(mma_kernel(fmt, named(shape), sums), 2, 64, (fragment(a, fmt, m // 8).ravel(), fragment(b, fmt, 1).ravel(), held))
    got = held.view(TOTALS[sums]).reshape(pairs.shape)
    got = (got.transpose(0, 1, 3, 2) if sums != "fp16" else got).reshape(4, m, n)
    expected = exact(a) @ np.swapaxes(exact(b), 1, 2) + c.astype(np.float64 if sums != "int32" else np.int64)
    tolerance = {"fp16": 1e-2, "int32": 0.0, "fp64": 1e-13, "fp32": 1e-5}[sums]
    np.testing.assert_allclose(got.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


def wgmma_kernel(n: int, fmt: str, steps: int, in_registers: bool) -> Any:
    """Every warpgroup multiplies its 64 rows by the CTA's n rows, `steps` times 32 bytes of them."""

    @cuda.jit
    def kernel(a, b, c):
        smem = cuda.shared.array(0, uint32)
        group, warp, lane = cuda.threadIdx.x // 128, cuda.threadIdx.x // 32 % 4, cuda.laneid
        groups = cuda.blockDim.x // 128
        first = (cuda.blockIdx.x * groups + group) * 64
        for i in range(cuda.threadIdx.x, n * 32, cuda.blockDim.x):
            smem[i // 32 * 32 + (i % 32 ^ (i // 32 % 8 * 4))] = b[cuda.blockIdx.x * n * 32 + i]
        for i in range(cuda.threadIdx.x % 128, 64 * 32, 128):
            smem[(n + group * 64) * 32 + i // 32 * 32 + (i % 32 ^ (i // 32 % 8 * 4))] = a[first * 32 + i]
        cuda.fence_async()
        cuda.syncthreads()
        d = cuda.local.array(n // 2, float32)
        for i in cuda.range(n // 2, unroll=0):
            d[i] = c[((cuda.blockIdx.x * groups + group) * 128 + cuda.threadIdx.x % 128) * (n // 2) + i]
        cuda.wgmma_fence()
        for s in cuda.range(steps, unroll=0):
            if in_registers:
                at = (first + 16 * warp + lane // 4) * 32 + s * 8 + lane % 4
                cuda.wgmma(d, 0, (a[at], a[at + 256], a[at + 4], a[at + 260]), (smem, s * 8), n, fmt)
            else:
                cuda.wgmma(d, 0, (smem, (n + group * 64) * 32 + s * 8), (smem, s * 8), n, fmt)
        cuda.wgmma_commit()
        cuda.wgmma_wait(0)
        for i in cuda.range(n // 2, unroll=0):
            c[((cuda.blockIdx.x * groups + group) * 128 + cuda.threadIdx.x % 128) * (n // 2) + i] = d[i]

    return kernel


def accumulators(c: np.ndarray) -> np.ndarray:
    """(tiles, 64, n) -> (tiles, 128 threads, n / 2): register i holds row 16 warp + lane / 4 + 8 (i / 2 % 2), column 8 (i / 4) + 2 (lane % 4) + i % 2."""
    tiles, _, n = c.shape
    out = np.zeros((tiles, 128, n // 2), c.dtype)
    for t in range(128):
        warp, lane = t // 32, t % 32
        for i in range(n // 2):
            out[:, t, i] = c[:, 16 * warp + lane // 4 + 8 * (i // 2 % 2), 8 * (i // 4) + 2 * (lane % 4) + i % 2]
    return out


@pytest.mark.parametrize("in_registers", [False, True])
@pytest.mark.parametrize(("fmt", "n"), [("bf16", 8), ("bf16", 64), ("fp16", 24), ("tf32", 16), ("fp8", 32)])
def test_wgmma_is_a_product(fmt: str, n: int, in_registers: bool) -> None:
    steps, k = 3, 128 // FORMATS[fmt].bytes
    rng = np.random.default_rng(5)
    a, b = numbers(rng, (4, 64, k), fmt), numbers(rng, (2, n, k), fmt)
    c = rng.standard_normal((4, 64, n)).astype(np.float32)
    held = accumulators(c).ravel()
    words = [np.ascontiguousarray(x).view(np.uint32).ravel() for x in (a, b)]
    run(wgmma_kernel(n, fmt, steps, in_registers), 2, 256, (*words, held), (n + 128) * 128)
    used = steps * 32 // FORMATS[fmt].bytes
    expected = exact(a[..., :used]) @ np.swapaxes(exact(b.repeat(2, axis=0)[..., :used]), 1, 2) + c
    np.testing.assert_allclose(held.reshape(4, 128, n // 2), accumulators(expected), rtol=1e-4, atol=1e-4)


def tile_kernel(barrier: bool, part: int, same: bool) -> Any:
    """A product of zeros: without the barrier before it, with only some warps, or with a tile of its own for each thread."""

    @cuda.jit
    def kernel(c):
        smem = cuda.shared.array((128, 64), bfloat16)
        d = cuda.local.array(4, float32)
        for i in cuda.range(4, unroll=0):
            d[i] = float32(1)
        for i in range(cuda.threadIdx.x, 128 * 64, cuda.blockDim.x):
            smem[i // 64, i % 64] = bfloat16(float32(0))
        if barrier:
            cuda.syncthreads()
        if cuda.threadIdx.x < part:
            cuda.wgmma_fence()
            cuda.wgmma(d, 0, (smem, (0, 0)), (smem, (64, 0 if same else cuda.threadIdx.x // 16 % 2 * 8)), 8)
            cuda.wgmma_commit()
            cuda.wgmma_wait(0)
        c[cuda.threadIdx.x] = d[0]

    return kernel


def test_a_warpgroup_inside_of_a_branch() -> None:
    c = np.zeros(256, np.float32)
    run(tile_kernel(True, 128, True), 1, 256, (c,))
    assert (c == 1).all()


@pytest.mark.parametrize(
    ("kernel", "threads", "said"),
    [
        (tile_kernel(False, 128, True), 128, "race"),
        (tile_kernel(True, 64, True), 128, "only some of the four warps"),
        (tile_kernel(True, 112, True), 128, "only some of its lanes"),
        (tile_kernel(True, 128, False), 128, "different tiles"),
        (tile_kernel(True, 64, True), 64, "only some of the four warps"),
    ],
)
def test_what_a_warpgroup_must_not_do(kernel: Any, threads: int, said: str) -> None:
    with pytest.raises(GpusimError, match=said):
        run(kernel, 1, threads, (np.zeros(256, np.float32),))


def misuse(what: str) -> Any:
    @cuda.jit
    def kernel(c):
        smem = cuda.shared.array((64, 64), bfloat16)
        d = cuda.local.array(8, float32)
        if what == "columns":
            cuda.wgmma(d, 0, (smem, (0, 0)), (smem, (0, 0)), 12)
        elif what == "accumulators":
            cuda.wgmma(c, 0, (smem, (0, 0)), (smem, (0, 0)), 8)
        elif what == "elements":
            cuda.wgmma(d, 0, (smem, (0, 0)), (smem, (0, 0)), 8, "tf32")
        elif what == "format":
            cuda.mma((c[0], c[0]), c[0], (c[0], c[0]), "fp4")
        elif what == "shape":
            cuda.mma((c[0], c[0]), c[0], (c[0], c[0]), "bf16", "m16n8k4")
        elif what == "count":
            cuda.mma((uint32(1), uint32(2)), uint32(1), (c[0], c[0], c[0], c[0]), "bf16")
        else:
            cuda.mma((c[0], c[0], c[0], c[0]), (c[0], c[0]), (c[0], c[0], c[0], c[0]), "bf16")

    return kernel


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("columns", "n = 12"),
        ("accumulators", "local array of float32"),
        ("elements", "32-bit elements"),
        ("format", "fmt = 'fp4'"),
        ("shape", "shape = 'm16n8k4'"),
        ("count", "a tuple of 4 uint32"),
        ("floats", "packed elements in uint32"),
    ],
)
def test_what_is_refused(what: str, said: str) -> None:
    with pytest.raises(GpusimError, match=said):
        run(misuse(what), 1, 128, (np.zeros(4, np.float32),))


@pytest.mark.parametrize(("gpu", "said"), [("v100", "not bf16"), ("a100", "no matrix instructions of warpgroups")])
def test_a_machine_without_the_instruction(gpu: str, said: str) -> None:
    kernel, args = (tile_kernel(True, 128, True), (np.zeros(128, np.float32),))
    if gpu == "v100":
        kernel, args = mma_kernel("bf16", "m16n8k16", "fp32"), tuple(np.zeros(512, t) for t in (np.uint32, np.uint32, np.float32))
    with pytest.raises(GpusimError, match=said):
        simulate_simt(kernel, Geometry((1, 1, 1), (128, 1, 1), 0), args, load_spec(gpu))


def test_the_probes_multiply_the_same_from_registers_and_from_shared_memory() -> None:
    source = np.random.default_rng(2).standard_normal(1 << 17).astype(ml_dtypes.bfloat16).view(np.uint32)
    sums = [np.zeros(256, np.float32) for _ in range(2)]
    for in_registers, sink in zip((False, True), sums, strict=True):
        run(tensor.wgmma_chain(8, "bf16", in_registers, 2), 1, 256, (sink, np.int32(2), source), tensor.TILES)
    assert sums[0].any() and (sums[0] == sums[1]).all()


@pytest.mark.parametrize(("accumulators", "in_registers"), [(1, False), (2, True)])
def test_a_pass_of_the_probe_is_its_matrix_instructions_and_a_group(accumulators: int, in_registers: bool) -> None:
    kernel = tensor.wgmma_chain(32, "bf16", in_registers, accumulators)
    args = (np.zeros(128, np.float32), np.int32(2), np.zeros(1 << 16, np.uint32))
    code = begin(kernel, Geometry((1, 1, 1), (128, 1, 1), tensor.TILES), args, load_spec("h200")).ready.code
    loop = max(code.blocks, key=lambda block: sum(i.op.startswith("HGMMA") for i in block.instrs)).instrs
    counts = Counter(i.op for i in loop)
    assert counts == {f"HGMMA.BF16{'.REG' if in_registers else ''}": 16, "WARPGROUP.ARRIVE": 1, "WARPGROUP.DEPBAR": 1, "UIADD3": 1, "ISETP": 1, "BRA": 1}
    assert [i.closes for i in loop if i.op.startswith("HGMMA")] == [False] * 15 + [True]
