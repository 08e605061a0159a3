# mypy: allow-untyped-defs
"""What branches inside a warp cost: a choice of k paths, nested ifs, trip counts that differ, rectifiers in six forms.

A path is a loop of dependent multiply-adds with its own constant, so that no two can become one. Functions that return device functions
build choices of any size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32, uint32

ZERO, LEAK, HALF, STEP = float32(0.0), float32(0.01), float32(0.5), float32(0.001)
#: multiply-adds in one pass of a path's loop
PATH = 16


def path(number: int) -> Any:
    """A device function (x, a, m): 16 m dependent multiply-adds with a constant of its own."""
    constant = float32(1.0 + number * 0.125)

    @cuda.jit(device=True)
    def path(x, a, m):
        for _ in cuda.range(m, unroll=1):
            for _ in cuda.range(PATH, unroll=0):
                x = cuda.fma(x, a, constant)
        return x

    return path


def if_chain(first: int, paths: int) -> Any:
    """A device function (sel, x, a, m): one comparison after the other, from path `first` on."""
    mine = path(first)
    if first == paths - 1:

        @cuda.jit(device=True)
        def last(sel, x, a, m):
            return mine(x, a, m)

        return last
    rest = if_chain(first + 1, paths)

    @cuda.jit(device=True)
    def choose(sel, x, a, m):
        if sel == first:
            x = mine(x, a, m)
        else:
            x = rest(sel, x, a, m)
        return x

    return choose


#: a switch ends in an indirect branch: the target of each case comes from a table in constant memory
TARGETS = np.arange(64, dtype=np.int32) % 2


def switch(first: int, paths: int) -> Any:
    """A device function (sel, x, a, m): as compilers make a switch of many cases, comparisons that halve, then a table of two targets."""
    if paths == 2:
        one, two = path(first), path(first + 1)

        @cuda.jit(device=True)
        def jump(sel, x, a, m):
            targets = cuda.const.array_like(TARGETS)
            if targets[min(sel, first + 2)] == 0:
                x = one(x, a, m)
            else:
                x = two(x, a, m)
            return x

        return jump
    half = paths // 2
    low, high = switch(first, half), switch(first + half, half)
    border = first + half - 1

    @cuda.jit(device=True)
    def choose(sel, x, a, m):
        if sel > border:
            x = high(sel, x, a, m)
        else:
            x = low(sel, x, a, m)
        return x

    return choose


def kway(form: str, paths: int = 32) -> Any:
    """A kernel whose lanes spread over k of 32 paths of equal length, another path in every pass. k is a power of two."""
    choose = FORMS[form](0, paths)

    @cuda.jit
    def kway(sink, iters, k, m):
        lane = cuda.threadIdx.x & 31
        x, a = float32(lane) * LEAK, HALF + float32(lane) * STEP
        for it in cuda.range(iters, unroll=1):
            x = choose((lane + it) & (k - 1), x, a, m)
            cuda.syncwarp()
        sink[cuda.grid(1)] = x

    return kway


FORMS: dict[str, Callable[[int, int], Any]] = {"switch of 32": switch, "if chain of 32": if_chain}


def nest(depth: int, number: int = 1) -> Any:
    """A device function (b, x, a, m): `depth` ifs inside each other, each on one bit of b, a path on both sides."""
    if depth == 0:

        @cuda.jit(device=True)
        def leaf(b, x, a, m):
            return x

        return leaf
    yes, no = path(2 * number), path(2 * number + 1)
    deeper_yes, deeper_no = nest(depth - 1, 2 * number), nest(depth - 1, 2 * number + 1)

    @cuda.jit(device=True)
    def branch(b, x, a, m):
        if b & 1:
            x = deeper_yes(b >> 1, yes(x, a, m), a, m)
        else:
            x = deeper_no(b >> 1, no(x, a, m), a, m)
        return x

    return branch


def nested(depth: int) -> Any:
    """A kernel with `depth` nested ifs. lane_mask 31: lanes go every way; 0: all go the same."""
    choose = nest(depth)

    @cuda.jit
    def nested(sink, iters, m, lane_mask):
        lane = cuda.threadIdx.x & 31
        x, a = float32(lane) * LEAK, HALF + float32(lane) * STEP
        for it in cuda.range(iters, unroll=1):
            x = choose(uint32((lane & lane_mask) + it * 32), x, a, m)
            cuda.syncwarp()
        sink[cuda.grid(1)] = x

    return nested


def trips() -> Any:
    """A kernel in which each lane runs its own number of passes through a path."""
    body = path(3)

    @cuda.jit
    def trips(sink, trip, iters):
        lane = cuda.threadIdx.x & 31
        x = float32(lane) * LEAK
        n = trip[cuda.threadIdx.x]
        for _ in cuda.range(iters, unroll=1):
            x = body(x, HALF, n)
            cuda.syncwarp()
        sink[cuda.grid(1)] = x

    return trips


ONE_PATH, TWO_PATH = path(1), path(2)


@cuda.jit(device=True)
def relu_max(x, a):
    return max(x, ZERO)


@cuda.jit(device=True)
def relu_times(x, a):
    return x * float32(x > ZERO)


@cuda.jit(device=True)
def relu_select(x, a):
    return cuda.selp(x > ZERO, x, LEAK * x)


@cuda.jit(device=True)
def relu_else(x, a):
    if x > ZERO:
        y = ONE_PATH(x, a, 2)
    else:
        y = -TWO_PATH(-x, a, 2)
    return y


@cuda.jit(device=True)
def relu_both(x, a):
    p, q = x, -x
    for _ in cuda.range(32, unroll=0):
        p = cuda.fma(p, a, float32(1.125))
    for _ in cuda.range(32, unroll=0):
        q = cuda.fma(q, a, float32(1.25))
    return cuda.selp(x > ZERO, p, -q)


@cuda.jit(device=True)
def relu_if(x, a):
    y = x
    if x > ZERO:
        y = ONE_PATH(x, a, 2)
    return y


#: form, as the measurements name it -> device function (x, a)
RELU = {
    "fmaxf": relu_max,
    "x*(x>0)": relu_times,
    "select leaky": relu_select,
    "if/else 32 FFMA each": relu_else,
    "both bodies + select": relu_both,
    "if only 32 FFMA": relu_if,
}


def relu_compute(form: str) -> Any:
    """A kernel that applies a rectifier four times a pass to a value that stays what it was (z is 0): lanes in `mask` are positive."""
    relu = RELU[form]

    @cuda.jit
    def relu_compute(sink, iters, mask, a, z):
        x = float32(1.0) if (mask >> (cuda.threadIdx.x & 31)) & 1 else float32(-1.0)
        y = x
        for _ in cuda.range(iters, unroll=1):
            for _ in cuda.range(4, unroll=0):
                r = relu(x, a)
                y = cuda.fma(r, z, y)
                x = cuda.fma(r, z, x)
                cuda.syncwarp()
        sink[cuda.grid(1)] = y + x

    return relu_compute


def relu_array(form: str) -> Any:
    """A kernel that rectifies an array, four elements a thread: the memory decides, unless lanes diverge into long bodies."""
    relu = RELU[form]

    @cuda.jit
    def relu_array(x, y, a):
        threads = cuda.blockDim.x
        at = cuda.blockIdx.x * threads * 4 + cuda.threadIdx.x
        v = cuda.local.array(4, float32)
        for u in cuda.range(4, unroll=0):
            v[u] = x[at + u * threads]
        for u in cuda.range(4, unroll=0):
            y[at + u * threads] = relu(v[u], a)

    return relu_array
