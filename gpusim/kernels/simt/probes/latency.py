# mypy: allow-untyped-defs
"""Latency of every level: one thread follows pointers, so that each load waits for the one before it. A pointer is a byte offset into the array
(`cuda.index_at`), so a step is one load and nothing else.

The timed loop is the last one of each kernel; `STEPS` of its loads make one pass.
"""

from __future__ import annotations

from typing import Any

from gpusim import cuda
from gpusim.cuda import float32, int32, uint32, uint64

#: dependent loads in one pass of the timed loop
STEPS = 16
#: dependent atomics in one pass of the timed loop
ATOMICS = 8
#: threads of a CTA that touches memory for a chase
THREADS = 1024


# one step: (ring, pointer, sum of what else was loaded) -> (next pointer, sum)


@cuda.jit(device=True)
def cached(ring, p, rest):
    return ring[cuda.index_at(ring, p)], rest


@cuda.jit(device=True)
def past_l1(ring, p, rest):
    return cuda.ldcg(ring, cuda.index_at(ring, p)), rest


@cuda.jit(device=True)
def pair(ring, p, rest):
    p, other = cuda.load2(ring, cuda.index_at(ring, p))
    return p, rest ^ other


@cuda.jit(device=True)
def read_only(ring, p, rest):
    return cuda.ldg(ring, cuda.index_at(ring, p)), rest


#: how a load is spelled in the measurements -> one step
LOADS: dict[str, Any] = {"ca": cached, "ca.u64": cached, "cg": past_l1, "cg.u64": past_l1, "ca.v2.u64": pair, "nc.u64": read_only}


def chase(load: str) -> Any:
    """A kernel whose first thread follows the pointers of `ring` from byte `start` on: `warm` passes, then the timed ones."""
    step = LOADS[load]

    @cuda.jit(launch_bounds=1024)
    def chase(ring, start, warm, passes, sink):
        if cuda.threadIdx.x > 0:
            return
        p, rest = uint64(start), uint64(0)
        for _ in cuda.range(warm, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                p, rest = step(ring, p, rest)
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                p, rest = step(ring, p, rest)
        sink[0] = p ^ rest

    return chase


#: passes for one line, of so many loads: in the first one it comes to the near half, the last one tells when the second ended
VISITS, LOADS_A_VISIT = 3, 4


@cuda.jit
def visit(ring, lines, pitch, every, sink):
    """One thread of every so many CTAs follows pointers that point to themselves, line by line, `pitch` bytes apart."""
    if cuda.blockIdx.x % every > 0:
        return
    p = uint64(0)
    for i in cuda.range(lines, unroll=1):
        p = uint64(i) * uint64(pitch)
        for _ in cuda.range(VISITS, unroll=1):
            for _ in cuda.range(LOADS_A_VISIT, unroll=0):
                p = cuda.ldcg(ring, cuda.index_at(ring, p))
    if p == 1:
        sink[0] = p


@cuda.jit(launch_bounds=1024)
def touch(ring, first, words, step, sink):
    """One CTA reads one word of every `step` from word `first` on."""
    s = uint64(0)
    for o in cuda.range(first + cuda.threadIdx.x * step, words, cuda.blockDim.x * step, unroll=4):
        s ^= cuda.ldcg(ring, o)
    if s == 1:
        sink[0] = s


@cuda.jit(launch_bounds=1024)
def touch_all(ring, first, words, sink):
    """All SMs together read words `first` to `words`, 16 bytes a lane."""
    s = uint64(0)
    for o in cuda.range(first + cuda.grid(1) * 2, words, cuda.gridsize(1) * 2, unroll=4):
        a, b = cuda.load2(ring, o)
        s ^= a ^ b
    if s == 1:
        sink[0] = s


def shared_chase(size: int) -> Any:
    """A ring of 1024 nodes, 16 bytes apart, in shared memory; loads of `size` bytes."""
    n, words = 1024, size // 4

    @cuda.jit
    def shared_chase(passes, sink):
        ring = cuda.shared.array(8192, uint32)
        for i in cuda.range(cuda.threadIdx.x, n, cuda.blockDim.x):
            for j in cuda.range(4, unroll=0):
                ring[i * 4 + j] = uint32(((i + 1) % n) * 16)
        cuda.syncthreads()
        if cuda.threadIdx.x > 0:
            return
        p = uint32(0)
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                at = cuda.index_at(ring, p)
                if words == 1:
                    p = ring[at]
                elif words == 2:
                    p = cuda.load2(ring, at)[0]
                else:
                    p = cuda.load4(ring, at)[0]
        if p == 1:
            sink[0] = p

    return shared_chase


def constant_chase(table: Any, uniform: bool) -> Any:
    """Pointers in constant memory, warm. uniform: the offset is the same for all lanes by its making, so the uniform pipe loads it."""

    @cuda.jit
    def constant_chase(warm, passes, sink):
        ring = cuda.const.array_like(table)
        p = uint32(0) if uniform else uint32(cuda.threadIdx.x * 64)
        for _ in cuda.range(warm, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                p = ring[cuda.index_at(ring, p)]
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(STEPS, unroll=0):
                p = ring[cuda.index_at(ring, p)]
        if p == 1:
            sink[0] = p

    return constant_chase


@cuda.jit
def local_chase(n, warm, passes, sink):
    """A ring in the thread's own memory: node i points to node i + 17."""
    ring = cuda.local.array(1024, uint64)
    for i in cuda.range(n, unroll=1):
        ring[i] = uint64(((i + 17) % n) * 8)
    p = uint64(0)
    for _ in cuda.range(warm, unroll=1):
        for _ in cuda.range(STEPS, unroll=0):
            p = ring[cuda.index_at(ring, p)]
    for _ in cuda.range(passes, unroll=1):
        for _ in cuda.range(STEPS, unroll=0):
            p = ring[cuda.index_at(ring, p)]
    if p == 1:
        sink[0] = p


# one step of a chain of atomics: (array, index, value) -> value


@cuda.jit(device=True)
def add(a, i, x):
    return cuda.atomic.add(a, i, x)


@cuda.jit(device=True)
def cas(a, i, x):
    return cuda.atomic.cas(a, i, x, x)


@cuda.jit(device=True)
def exch(a, i, x):
    return cuda.atomic.exch(a, i, x)


@cuda.jit(device=True)
def fence_block(a, i, x):
    a[i] = x
    cuda.threadfence_block()
    return x


@cuda.jit(device=True)
def fence_device(a, i, x):
    a[i] = x
    cuda.threadfence()
    return x


@cuda.jit(device=True)
def fence_system(a, i, x):
    a[i] = x
    cuda.threadfence_system()
    return x


@cuda.jit(device=True)
def reduce_then_load(a, i, x):
    cuda.atomic.add(a, i, x)
    return cuda.ldcg(a, i)


def shared_atomics(step: Any, dtype: Any) -> Any:
    @cuda.jit
    def shared_atomics(passes, at, word):
        a = cuda.shared.array(4, dtype)
        a[cuda.threadIdx.x & 3] = dtype(0)
        cuda.syncthreads()
        if cuda.threadIdx.x > 0:
            return
        x = dtype(1)
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(ATOMICS, unroll=0):
                x = step(a, 0, x)
        word[0] = x

    return shared_atomics


def global_atomics(step: Any, dtype: Any) -> Any:
    @cuda.jit
    def global_atomics(passes, at, word):
        if cuda.threadIdx.x > 0:
            return
        x = dtype(1)
        for _ in cuda.range(passes, unroll=1):
            for _ in cuda.range(ATOMICS, unroll=0):
                x = step(word, at, x)
        word[0] = x

    return global_atomics


#: operation as the measurements name it -> kernel, and the type of the word
ATOMIC: dict[str, tuple[Any, Any]] = {
    "shared_add_u32": (shared_atomics(add, uint32), uint32),
    "shared_cas": (shared_atomics(cas, uint32), uint32),
    "shared_exch": (shared_atomics(exch, uint32), uint32),
    "shared_add_f32": (shared_atomics(add, float32), float32),
    "global_add_u32": (global_atomics(add, uint32), uint32),
    "global_cas": (global_atomics(cas, uint32), uint32),
    "global_exch": (global_atomics(exch, uint32), uint32),
    "global_add_f32": (global_atomics(add, float32), float32),
    "global_add_u64": (global_atomics(add, uint64), uint64),
    "fence_cta_after_st": (global_atomics(fence_block, int32), int32),
    "fence_gpu_after_st": (global_atomics(fence_device, int32), int32),
    "fence_sys_after_st": (global_atomics(fence_system, int32), int32),
    "red_global_then_ld_cg": (global_atomics(reduce_then_load, uint32), uint32),
}
