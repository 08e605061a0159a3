"""
Kernels in Triton's spelling
============================

A kernel of tiles says what one block does with pieces of arrays. Change the import lines of a kernel for Triton, and it runs here: on NumPy
arrays, with the right numbers, and with the time that a GPU would take. No GPU is needed.
"""

import numpy as np

import gpusim.triton as triton
import gpusim.triton.language as tl

triton.set_gpu("h100")

# %%
# A row of a softmax in one block: the row is read once and written once.


@triton.jit
def softmax(x, y, columns, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + row * stride + at, e / tl.sum(e, axis=0), mask=at < columns)


rows, columns = 4096, 1000
x = np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)
y = np.zeros_like(x)
softmax[(rows,)](x, y, columns, columns, BLOCK=1024)
print(softmax.report)
fused_us = softmax.report.time_us
want = np.exp(x.astype(np.float64))
want /= want.sum(axis=1, keepdims=True)
print(f"fused: largest error {abs(y - want).max():.1e}")

# %%
# What the simulator times is a program of tiles. Pointers have become boxes of the arrays, and masks their bounds.

print(softmax.program(x, y, columns, columns, 1024, grid=(rows,)))

# %%
# The same in steps, each a kernel of its own that goes through memory: that is what fusing saves.


@triton.jit
def shifted_exp(x, y, columns, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    tl.store(y + row * stride + at, tl.exp(value - tl.max(value, axis=0)), mask=at < columns)


@triton.jit
def normalise(x, y, columns, stride, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < columns, other=0.0)
    tl.store(y + row * stride + at, value / tl.sum(value, axis=0), mask=at < columns)


def in_steps():
    shifted_exp[(rows,)](x, y, columns, columns, BLOCK=1024)
    normalise[(rows,)](y, y, columns, columns, BLOCK=1024)


naive_us = 1000 * triton.testing.do_bench(in_steps)
print(f"in one kernel {fused_us:.1f} us, in two {naive_us:.1f} us")

# %%
# A product with four configurations. Each is timed, none is run; the fastest one computes the values.

CONFIGS = [triton.Config({"BM": bm, "BN": bn, "BK": 64}, num_warps=w, num_stages=3) for bm, bn, w in ((64, 64, 4), (128, 64, 4), (128, 128, 4), (128, 256, 8))]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a + rm[:, None] * K + rk[None, :]
    b_ptrs = b + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), acc)
        a_ptrs += BK
        b_ptrs += BK * N
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


n = 1024
a, b, c = (np.random.default_rng(1).standard_normal((n, n)).astype(np.float16) for _ in range(3))
matmul[lambda meta: (n // meta["BM"], n // meta["BN"])](a, b, c, n, n, n)
for tried in matmul.tried:
    print(f"{tried.config}: {tried.time_us:.1f} us")
print(f"taken: {matmul.best_config}, {matmul.report.tflops:.0f} TFLOP/s")
