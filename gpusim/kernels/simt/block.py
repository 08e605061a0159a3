# mypy: allow-untyped-defs
"""Device functions that several kernels share: reductions over a warp and over a block of 256 threads."""

from __future__ import annotations

from gpusim import cuda
from gpusim.cuda import float32

FULL = 0xFFFFFFFF
LOG2_E = float32(1.4426950408889634)


@cuda.jit(device=True)
def warp_sum(v):
    """The sum over the warp, in every lane: five butterfly shuffles."""
    for s in cuda.range(5, unroll=0):
        v += cuda.shfl_xor_sync(FULL, v, 16 >> s)
    return v


@cuda.jit(device=True)
def warp_max(v):
    """The maximum over the warp, in every lane."""
    for s in cuda.range(5, unroll=0):
        v = max(v, cuda.shfl_xor_sync(FULL, v, 16 >> s))
    return v


@cuda.jit(device=True)
def block_sum(v, red, at):
    """The sum over 256 threads, in every thread. `red`: shared memory of which this reduction gets eight elements from `at` on."""
    v = warp_sum(v)
    if cuda.threadIdx.x % 32 == 0:
        red[at + cuda.threadIdx.x // 32] = v
    cuda.syncthreads()
    t = red[at]
    for w in cuda.range(1, 8, unroll=0):
        t += red[at + w]
    return t


@cuda.jit(device=True)
def block_max(v, red, at):
    """The maximum over 256 threads, in every thread; as `block_sum`."""
    v = warp_max(v)
    if cuda.threadIdx.x % 32 == 0:
        red[at + cuda.threadIdx.x // 32] = v
    cuda.syncthreads()
    t = red[at]
    for w in cuda.range(1, 8, unroll=0):
        t = max(t, red[at + w])
    return t


@cuda.jit(device=True)
def fast_exp(x):
    """exp(x) as one multiplication and one instruction of the special function unit."""
    return cuda.approx_exp2(x * LOG2_E)
