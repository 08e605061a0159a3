"""Kernels with matrix products in Triton's spelling: values against NumPy in float64, and time where it is known."""

import ml_dtypes
import numpy as np
import pytest

import gpusim.triton as triton
from gpusim.errors import GpusimError
from gpusim.triton.tools.tensor_descriptor import TensorDescriptor
from tests.unit.triton_kernels import products

RNG = np.random.default_rng(3)


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def close(got: np.ndarray, want: np.ndarray, tolerance: float = 2e-3) -> None:
    assert np.abs(got.astype(np.float64) - want).max() <= tolerance * np.abs(want).max()


@pytest.mark.parametrize("size", [(256, 192, 128), (150, 70, 100)])
def test_matmul_with_an_activation_takes_the_fastest_configuration(size: tuple[int, int, int]) -> None:
    m, n, k = size
    a, b, c = half(m, k), half(k, n), np.zeros((m, n), np.float16)
    grid = lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)  # noqa: E731
    products.matmul[grid](a, b, c, m, n, k, k, 1, n, 1, n, 1, ACTIVATION="leaky")
    want = a.astype(np.float64) @ b.astype(np.float64)
    close(c, np.where(want >= 0, want, 0.01 * want))
    assert products.matmul.report.time_us > 0 and products.matmul.report.run.flops >= 2 * m * n * k
    assert all(tried.time_us for tried in products.matmul.tried)


def test_persistent_matmul_through_descriptors() -> None:
    m, n, k, programs = 300, 200, 96, 5
    a, b, c = half(m, k), half(n, k), np.zeros((m, n), np.float16)
    products.persistent_matmul[(programs,)](a, b, c, m, n, k, 64, 64, 32, 4, programs, True)
    close(c, a.astype(np.float64) @ b.astype(np.float64).T)


def test_persistent_matmul_by_pointers() -> None:
    m, n, k, programs = 300, 200, 100, 5
    a, b, c = half(m, k), half(k, n), np.zeros((m, n), np.float16)
    products.persistent_matmul_ptr[(programs,)](a, b, c, m, n, k, k, 1, n, 1, n, 1, 64, 64, 32, 4, programs)
    close(c, a.astype(np.float64) @ b.astype(np.float64))


def test_block_pointers_are_advanced() -> None:
    m, n, k = 100, 90, 70
    a, b, c = (RNG.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n), (m, n)))
    products.block_pointer_matmul[(2, 2)](a, b, c, m, n, k, 64, 64, 32)
    close(c, a.astype(np.float64) @ b.astype(np.float64), 1e-6)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, causal: bool) -> np.ndarray:
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    p = q @ k.swapaxes(-1, -2) * scale
    if causal:
        p = np.where(np.tril(np.ones(p.shape[-2:], bool)), p, -np.inf)
    p = np.exp(p - p.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention(causal: bool) -> None:
    z, h, context, head = 2, 2, 256, 64
    q, k, v = (half(z, h, context, head) for _ in range(3))
    o, m = np.zeros_like(q), np.zeros((z, h, context), np.float32)
    products.attention[(context // 128, z * h)](0.5, m, z, h, q, k, v, o, context, head, 128, 64, 3 if causal else 1, num_warps=4)
    close(o, attention(q, k, v, 0.5, causal), 4e-3)


def test_a_product_in_bfloat16_of_a_transposed_array() -> None:
    a, b = (RNG.standard_normal((128, 128)).astype(ml_dtypes.bfloat16) for _ in range(2))
    c = np.zeros((128, 128), np.float16)
    products.matmul.fn[(4,)](a, b.T, c, 128, 128, 128, 128, 1, 1, 128, 128, 1, BM=64, BN=64, BK=32, GROUP=8, ACTIVATION="")
    close(c, a.astype(np.float64) @ b.T.astype(np.float64), 4e-3)


def test_descriptors_from_the_host() -> None:
    m, n, k = 128, 64, 96
    a, b, c = half(m, k), half(n, k), np.zeros((m, n), np.float16)
    blocks = ((a, [64, 32]), (b, [64, 32]), (c, [64, 64]))
    products.described_matmul[(2, 1)](*(TensorDescriptor.from_tensor(x, block) for x, block in blocks), k, 64, 64, 32)
    close(c, a.astype(np.float64) @ b.astype(np.float64).T)


def test_a_launch_tells_what_it_needs_of_an_sm() -> None:
    a, b, c = half(128, 64), half(64, 128), np.zeros((128, 128), np.float16)
    made = products.matmul.fn.warmup(a, b, c, 128, 128, 64, 64, 1, 128, 1, 128, 1, 64, 64, 32, 8, "", grid=(4,), num_stages=3)
    assert not c.any()
    assert made.metadata.shared == 3 * 2 * 64 * 32 * 2 and made.metadata.num_warps == 4 and made.n_regs >= 32 and made.n_spills == 0


def test_products_of_a_group_whose_addresses_are_loaded() -> None:
    shapes = [(128, 64, 96), (64, 192, 32), (64, 64, 64)]
    group = [(half(m, k), half(k, n), np.zeros((m, n), np.float16)) for m, n, k in shapes]
    addresses = [np.array([triton.data_ptr(x) for x in column], np.int64) for column in zip(*group, strict=True)]
    sizes = np.array(shapes, np.int32)
    strides = np.array([[k, n, n] for m, n, k in shapes], np.int32)
    products.grouped_matmul[(3,)](*addresses, sizes, strides, len(shapes), 3, 64, 64, 32)
    for a, b, c in group:
        close(c, a.astype(np.float64) @ b.astype(np.float64))


def test_an_address_of_nothing_is_told() -> None:
    nothing = np.array([4096], np.int64)
    sizes, strides = np.array([[64, 64, 32]], np.int32), np.array([[32, 64, 64]], np.int32)
    with pytest.raises(GpusimError, match="there is no array at the address 4096"):
        products.grouped_matmul[(1,)](nothing, nothing, nothing, sizes, strides, 1, 1, 64, 64, 32)


def test_operations_of_products_are_counted_where_trips_are_known() -> None:
    a, b, c = half(128, 64), half(64, 128), np.zeros((128, 128), np.float16)
    made = products.matmul.fn.program(a, b, c, 128, 128, 64, 64, 1, 128, 1, 128, 1, 64, 64, 32, 8, "", grid=(4,))
    assert made.flops == 2 * 128 * 128 * 64
    q = half(1, 1, 256, 64)
    causal = products.attention.program(0.5, np.zeros(256, np.float32), 1, 1, q, q.copy(), q.copy(), q.copy(), 256, 64, 64, 64, 3, grid=(4, 1))
    assert causal.flops == (1 + 2 + 3 + 4) * 2 * 2 * 64 * 64 * 64


def test_a_bias_and_a_residual_take_time_and_bytes() -> None:
    m, n, k = 512, 512, 128
    a, b, bias, residual, c = half(m, k), half(k, n), half(n), half(m, n), np.zeros((m, n), np.float16)
    reports = []
    for wanted in (False, True):
        products.biased_matmul[(4, 4)](a, b, bias, residual, c, m, n, k, 128, 128, 64, wanted)
        reports.append(products.biased_matmul.report)
    want = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias.astype(np.float64), 0) + residual
    close(c, want)
    plain, added = reports
    assert added.traffic["dram_read_bytes"] - plain.traffic["dram_read_bytes"] == pytest.approx(residual.nbytes, rel=0.05)
    assert added.cycles > plain.cycles
