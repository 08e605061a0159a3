# mypy: allow-untyped-defs
"""Matrix instructions of a warp and of a warpgroup: one that waits for the other, or several side by side."""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import float32, uint32
from gpusim.ir.simt.matrix import FORMATS, SUMS, registers

#: matrix instructions of a warp in one pass of the loop; of a warpgroup
STEPS, GROUP_STEPS = 32, 16
#: what operands grow by from pass to pass where they must not stay the same
GROWTH_A, GROWTH_B = 0x2040801, 0x1020408


def mma_chain(shape: str, fmt: str, sums: str, ilp: int) -> Any:
    """A kernel with `ilp` independent accumulators a warp, 32 instructions on all of them in a loop that runs `iters` times. Operands stay the
    same; but fp8 is unpacked to fp16 first, and they change so that this is not done once in front of the loop."""
    na, nb, nc = registers(shape, fmt, sums)
    multiply = _MULTIPLY[na, nb, nc](shape, fmt, sums)
    held, dtype = FORMATS[fmt].register, SUMS[sums][0]
    grows = fmt == "fp8"

    @cuda.jit(launch_bounds=1024)
    def mma_chain(sink, iters, src):
        tid = cuda.threadIdx.x
        a = cuda.local.array(na, held)
        b = cuda.local.array(nb, held)
        d = cuda.local.array((ilp, nc), dtype)
        for i in cuda.range(na, unroll=0):
            a[i] = src[tid * 8 + i]
        for i in cuda.range(nb, unroll=0):
            b[i] = src[tid * 8 + 4 + i]
        for j in cuda.range(ilp, unroll=0):
            for i in cuda.range(nc, unroll=0):
                d[j, i] = 0
        for it in cuda.range(iters, unroll=1):
            for u in cuda.range(STEPS // ilp, unroll=0):
                for j in cuda.range(ilp, unroll=0):
                    if grows:
                        for i in cuda.range(na, unroll=0):
                            a[i] = uint32(a[i] + it * GROWTH_A + u)
                        for i in cuda.range(nb, unroll=0):
                            b[i] = uint32(b[i] + it * GROWTH_B + u)
                    multiply(d, j, a, b)
        s = d[0, 0]
        for j in cuda.range(ilp, unroll=0):
            for i in cuda.range(nc, unroll=0):
                s += d[j, i]
        sink[cuda.grid(1)] = s

    return mma_chain


def _four(shape: str, fmt: str, sums: str) -> Any:
    @cuda.jit(device=True)
    def multiply(d, j, a, b):
        c = (d[j, 0], d[j, 1], d[j, 2], d[j, 3])
        d[j, 0], d[j, 1], d[j, 2], d[j, 3] = cuda.mma((a[0], a[1], a[2], a[3]), (b[0], b[1]), c, fmt, shape, sums)

    return multiply


def _two(shape: str, fmt: str, sums: str) -> Any:
    @cuda.jit(device=True)
    def multiply(d, j, a, b):
        d[j, 0], d[j, 1] = cuda.mma((a[0], a[1], a[2], a[3]), (b[0], b[1]), (d[j, 0], d[j, 1]), fmt, shape, sums)

    return multiply


def _narrow(shape: str, fmt: str, sums: str) -> Any:
    @cuda.jit(device=True)
    def multiply(d, j, a, b):
        c = (d[j, 0], d[j, 1], d[j, 2], d[j, 3])
        d[j, 0], d[j, 1], d[j, 2], d[j, 3] = cuda.mma((a[0], a[1]), b[0], c, fmt, shape, sums)

    return multiply


def _single(shape: str, fmt: str, sums: str) -> Any:
    @cuda.jit(device=True)
    def multiply(d, j, a, b):
        d[j, 0], d[j, 1] = cuda.mma(a[0], b[0], (d[j, 0], d[j, 1]), fmt, shape, sums)

    return multiply


#: registers of A, B and C -> what makes the step
_MULTIPLY: dict[tuple[int, int, int], Any] = {(4, 2, 4): _four, (4, 2, 2): _two, (2, 1, 4): _narrow, (1, 1, 2): _single}


#: words of shared memory: a step along a row, B (at most 256 rows), A of a warpgroup
_STEP, _RIGHT, _LEFT = 8, 256 * 32, 64 * 32
#: bytes of shared memory for B and four warpgroups
TILES = 4 * (_RIGHT + 4 * _LEFT)


def wgmma_chain(n: int, fmt: str, in_registers: bool, accumulators: int) -> Any:
    """A kernel in which every warpgroup multiplies its A (64 rows of 128 bytes) by the CTA's B (n rows): 16 instructions on `accumulators` tiles
    a pass, each pass a group, of which one may stay open."""

    @cuda.jit(device=True)
    def body(d, a, smem, left):
        for s in cuda.range(GROUP_STEPS // accumulators, unroll=0):
            for j in cuda.range(accumulators, unroll=0):
                if in_registers:
                    cuda.wgmma(d, (j, 0), (a[s & 3, 0], a[s & 3, 1], a[s & 3, 2], a[s & 3, 3]), (smem, (s & 3) * _STEP), n, fmt)
                else:
                    cuda.wgmma(d, (j, 0), (smem, left + (s & 3) * _STEP), (smem, (s & 3) * _STEP), n, fmt)
        cuda.wgmma_commit()
        cuda.wgmma_wait(1)

    return _wgmma(n, accumulators, body)


def wgmma_alone(n: int, fmt: str, in_registers: bool) -> Any:
    """The same with one instruction a pass, for which the warpgroup waits."""

    @cuda.jit(device=True)
    def body(d, a, smem, left):
        if in_registers:
            cuda.wgmma(d, (0, 0), (a[0, 0], a[0, 1], a[0, 2], a[0, 3]), (smem, 0), n, fmt)
        else:
            cuda.wgmma(d, (0, 0), (smem, left), (smem, 0), n, fmt)
        cuda.wgmma_commit()
        cuda.wgmma_wait(0)

    return _wgmma(n, 1, body)


@cuda.jit(device=True)
def fill(smem, at, src, begin, rows):
    """`rows` rows of 128 bytes to shared memory, in the 128-byte swizzle."""
    for i in range(cuda.threadIdx.x, rows * 8, cuda.blockDim.x):
        r, c = i // 8, i % 8
        cuda.store4(smem, at + r * 32 + ((c ^ (r & 7)) << 2), cuda.load4(src, begin + i * 4))


def _wgmma(n: int, accumulators: int, body: Any) -> Any:
    @cuda.jit
    def wgmma(sink, iters, src):
        smem = cuda.shared.array(0, uint32)
        group = cuda.threadIdx.x // 128
        left = _RIGHT + group * _LEFT
        fill(smem, 0, src, 0, n)
        for g in range(cuda.blockDim.x // 128):
            fill(smem, _RIGHT + g * _LEFT, src, _RIGHT + g * _LEFT, 64)
        lane, warp = cuda.laneid, cuda.threadIdx.x // 32 % 4
        a = cuda.local.array((4, 4), uint32)
        for s in cuda.range(4, unroll=0):
            for i in cuda.range(4, unroll=0):
                row = 16 * warp + lane // 4 + (i & 1) * 8
                a[s, i] = src[left + row * 32 + s * _STEP + (i >> 1) * 4 + lane % 4]
        cuda.fence_async()
        cuda.syncthreads()
        d = cuda.local.array((accumulators, n // 2), float32)
        for j in cuda.range(accumulators, unroll=0):
            for i in cuda.range(n // 2, unroll=0):
                d[j, i] = 0
        for _ in cuda.range(iters, unroll=1):
            cuda.wgmma_fence()
            body(d, a, smem, left)
        cuda.wgmma_wait(0)
        s = float32(0)
        for j in cuda.range(accumulators, unroll=0):
            for i in cuda.range(n // 2, unroll=0):
                s += d[j, i]
        sink[cuda.grid(1)] = s

    return wgmma
