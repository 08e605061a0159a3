"""How fast values of SIMT kernels are: `PYTHONPATH=. python -m tests.speed.bench_simt` prints, per kernel, seconds, million thread-operations a
second, and the ratio to a NumPy yardstick of the same run (one addition of 65536 floats per operation of as many threads)."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel

Case = tuple[Kernel, object, object, tuple[object, ...]]
RNG = np.random.default_rng(0)


def vector_add() -> Case:
    k, size = Kernel(), 1 << 20
    x, y, z, count = k.array("x"), k.array("y"), k.array("z"), k.scalar("n")
    i = k.index()
    with k.when(k.op("lt", i, count)):
        k.store(z, i, k.op("add", k.load(x, i), k.load(y, i)))
    a = RNG.random((3, size), np.float32)
    return k, size // 256, 256, (a[0], a[1], a[2], size)


def straight() -> Case:
    k, size = Kernel(), 1 << 20
    x = k.array("x")
    i = k.index()
    v = k.load(x, i)
    for j in range(50):
        v = k.op("add", k.op("mul", v, n.Imm(0.5, "float32")), n.Imm(float(j), "float32"))
    k.store(x, i, v)
    return k, size // 256, 256, (RNG.random(size, np.float32),)


def branchy() -> Case:
    k, size = Kernel(), 1 << 20
    x = k.array("x")
    i, j = k.index(), k.reg()
    v = k.load(x, i)
    with k.loop(j, k.op("rem", i, 29)):
        with k.when(k.op("gt", v, n.Imm(0.5, "float32"))):
            k.op("mul", v, n.Imm(0.9, "float32"), to=v)
        with k.otherwise():
            k.op("add", v, n.Imm(0.3, "float32"), to=v)
    k.store(x, i, v)
    return k, size // 256, 256, (RNG.random(size, np.float32),)


def sgemm() -> Case:
    k, size = Kernel(), 512
    a, b, c = k.array("a"), k.array("b"), k.array("c")
    s, t = k.shared("s", 1024), k.shared("t", 1024)
    tx, ty, k0 = k.op("tid.x"), k.op("tid.y"), k.reg()
    col = k.op("add", k.op("mul", k.op("ctaid.x"), 32), tx)
    row = k.op("mul", k.op("add", k.op("mul", k.op("ctaid.y"), 32), ty), size)
    spot, line = k.op("add", k.op("mul", ty, 32), tx), k.op("mul", ty, 32)
    acc = k.op("mov", n.Imm(0.0, "float32"))
    with k.loop(k0, size, 0, 32):
        k.store(s, spot, k.load(a, k.op("add", k.op("add", row, k0), tx)))
        k.store(t, spot, k.load(b, k.op("add", k.op("mul", k.op("add", k0, ty), size), col)))
        k.sync()
        for j in range(32):
            k.op("add", acc, k.op("mul", k.load(s, k.op("add", line, j)), k.load(t, k.op("add", tx, 32 * j))), to=acc)
        k.sync()
    k.store(c, k.op("add", row, col), acc)
    m = RNG.random((3, size, size), np.float32)
    return k, (size // 32, size // 32), (32, 32), (m[0], m[1], m[2])


def histogram() -> Case:
    k, size, bins = Kernel(), 1 << 20, 256
    x, out = k.array("x", "int32"), k.array("out", "int32")
    s = k.shared("s", bins, "int32")
    tid = k.op("tid.x")
    k.store(s, tid, 0)
    k.sync()
    k.atomic("add", s, k.load(x, k.index()), 1, result=False)
    k.sync()
    k.atomic("add", out, tid, k.load(s, tid), result=False)
    return k, size // bins, bins, (RNG.integers(0, bins, size, np.int32), np.zeros(bins, np.int32))


def gather() -> Case:
    k, size = Kernel(), 1 << 20
    x, index, out = k.array("x"), k.array("index", "int32"), k.array("out")
    s, tid = k.shared("s", 256), k.op("tid.x")
    i = k.index()
    k.store(s, tid, k.load(x, k.load(index, i)))
    k.sync()
    k.store(out, i, k.load(s, k.op("rem", k.load(index, i), 256)))
    return k, size // 256, 256, (RNG.random(size, np.float32), RNG.integers(0, size, size, np.int32), np.zeros(size, np.float32))


CASES: dict[str, Callable[[], Case]] = {f.__name__: f for f in (vector_add, straight, branchy, sgemm, histogram, gather)}


def yardstick() -> float:
    """Seconds of one NumPy addition of 65536 floats, best of many."""
    a, best = np.ones(65536, np.float32), 1.0
    for _ in range(300):
        start = time.process_time()
        a + a
        best = min(best, time.process_time() - start)
    return best


def measure(name: str) -> tuple[float, float, float]:
    """(seconds, thread-operations per second, times slower than the yardstick per operation)."""
    kernel, grid, block, arrays = CASES[name]()
    code = kernel.code()
    kernel.run(grid, block, *arrays, ctas=[0])
    start = time.process_time()
    counts = kernel.run(grid, block, *arrays).counts
    seconds = time.process_time() - start
    operations = sum(int(counts.lanes[b.id]) * len(b.ops) for b in code.blocks)
    return seconds, operations / seconds, seconds / operations * 65536 / yardstick()


def main() -> None:
    for name in CASES:
        seconds, rate, ratio = measure(name)
        print(f"{name:12} {seconds:7.3f} s {rate / 1e6:9.0f} M thread-operations/s {ratio:8.2f} x yardstick")


if __name__ == "__main__":
    main()
