# mypy: allow-untyped-defs
"""Latency and throughput of arithmetic: dependent chains, one for latency with one warp, several side by side for throughput."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import uint32
from gpusim.kernels.simt.probes.operations import OPERATIONS, mixed

#: steps of all chains together in one pass of the loop
STEPS = 256


def chains(operation: str, ilp: int) -> Any:
    """A kernel with `ilp` independent chains of `operation` a thread, 256 steps of all of them in a loop that runs `iters` times."""
    op = OPERATIONS[operation]
    dtype, start, bits, even, odd = op.kind.dtype, op.kind.start, op.kind.bits, op.even, op.odd
    pairs = STEPS // ilp // 2

    @cuda.jit(launch_bounds=(1024, 2))
    def chains(sink, iters, seed):
        a, b, c, d = start(mixed(seed)), start(mixed(uint32(seed + 1))), start(mixed(uint32(seed + 2))), start(mixed(uint32(seed + 3)))
        x = cuda.local.array(ilp, dtype)
        for j in cuda.range(ilp, unroll=0):
            x[j] = start(mixed(uint32(cuda.threadIdx.x * 64 + j + seed)))
        for _ in cuda.range(iters, unroll=1):
            for _ in cuda.range(pairs, unroll=0):
                for j in cuda.range(ilp, unroll=0):
                    x[j] = even(x[j], a, b, c, d)
                for j in cuda.range(ilp, unroll=0):
                    x[j] = odd(x[j], a, b, c, d)
        s = uint32(0)
        for j in cuda.range(ilp, unroll=0):
            s = uint32(s ^ bits(x[j]))
        sink[cuda.grid(1)] = s

    return chains


def mix(first: str, second: str, na: int, nb: int) -> Any:
    """A kernel that puts `na` steps of one operation beside `nb` of another, four chains of each, 32 times a pass: do their pipes run
    together?"""
    one, two = OPERATIONS[first], OPERATIONS[second]
    dtype1, start1, bits1, step1 = one.kind.dtype, one.kind.start, one.kind.bits, one.even
    dtype2, start2, bits2, step2 = two.kind.dtype, two.kind.start, two.kind.bits, two.even

    @cuda.jit(launch_bounds=(1024, 2))
    def mix(sink, iters, seed):
        a, b, c, d = start1(mixed(seed)), start1(mixed(uint32(seed + 1))), start1(mixed(uint32(seed + 2))), start1(mixed(uint32(seed + 3)))
        a2, b2 = start2(mixed(uint32(seed + 5))), start2(mixed(uint32(seed + 6)))
        x = cuda.local.array(4, dtype1)
        y = cuda.local.array(4, dtype2)
        for j in cuda.range(4, unroll=0):
            x[j] = start1(mixed(uint32(cuda.threadIdx.x + j)))
            y[j] = start2(mixed(uint32(cuda.threadIdx.x + j + 7)))
        for _ in cuda.range(iters, unroll=1):
            for u in cuda.range(32, unroll=0):
                for i in cuda.range(na, unroll=0):
                    x[(u * na + i) & 3] = step1(x[(u * na + i) & 3], a, b, c, d)
                for i in cuda.range(nb, unroll=0):
                    y[(u * nb + i) & 3] = step2(y[(u * nb + i) & 3], a2, b2, b2, a2)
        s = uint32(0)
        for j in cuda.range(4, unroll=0):
            s = uint32(s ^ bits1(x[j]) ^ bits2(y[j]))
        sink[cuda.grid(1)] = s

    return mix
