"""Values of matrix instructions and of asynchronous copies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gpusim.ir.simt import nodes as n
from tests.unit.simt_interp_builder import Kernel


def mma_operands(k: Kernel, base: Any, count: int) -> tuple[Any, ...]:
    return tuple(k.load(base, k.op("add", k.op("mul", k.op("laneid"), count), j)) for j in range(count))


@pytest.mark.parametrize("fmt", ["bf16", "fp16"])
def test_mma_with_the_register_layout_of_ptx(fmt: str) -> None:
    half = ml_dtypes.bfloat16 if fmt == "bf16" else np.float16
    rng = np.random.default_rng(5)
    a, b, c = (rng.standard_normal(s).astype(t) for s, t in (((16, 16), half), ((16, 8), half), ((16, 8), np.float32)))
    k = Kernel()
    pa, pb, pc, out = k.array("a", "uint32"), k.array("b", "uint32"), k.array("c"), k.array("out")
    dst = tuple(k.reg("float32") for _ in range(4))
    k.add(n.Mma, dst=dst, shape="m16n8k16", fmt=fmt, a=mma_operands(k, pa, 4), b=mma_operands(k, pb, 2), c=mma_operands(k, pc, 4))
    k.store(out, k.op("mul", k.op("laneid"), 4), *dst)
    ra, rb, rc = np.zeros((32, 4, 2), half), np.zeros((32, 2, 2), half), np.zeros((32, 4), np.float32)
    for lane in range(32):
        g, t = divmod(lane, 4)
        for j in (0, 1):
            ra[lane, :, j] = a[g, 2 * t + j], a[g + 8, 2 * t + j], a[g, 2 * t + 8 + j], a[g + 8, 2 * t + 8 + j]
            rb[lane, :, j] = b[2 * t + j, g], b[2 * t + 8 + j, g]
            rc[lane, j], rc[lane, 2 + j] = c[g, 2 * t + j], c[g + 8, 2 * t + j]
    got = np.zeros((32, 4), np.float32)
    k.run(1, 32, ra.view(np.uint32).ravel(), rb.view(np.uint32).ravel(), rc, got)
    want = a.astype(np.float64) @ b.astype(np.float64) + c
    for lane in range(32):
        g, t = divmod(lane, 4)
        assert np.allclose(got[lane], [*want[g, 2 * t : 2 * t + 2], *want[g + 8, 2 * t : 2 * t + 2]], atol=1e-5)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("pitch", [8, 16, 24, 64])
def test_ldmatrix_values_and_phases(count: int, trans: bool, pitch: int) -> None:
    k = Kernel()
    x, out = k.array("x", "float16"), k.array("out", "uint32")
    s = k.shared("s", 32 * pitch, "float16")
    lane, j = k.op("laneid"), k.reg()
    with k.loop(j, 32 * pitch, lane, 32):
        k.store(s, j, k.load(x, j))
    k.sync()
    dst = tuple(k.reg("uint32") for _ in range(count))
    k.add(n.LdMatrix, dst=dst, buffer=s, index=k.op("mul", lane, pitch), trans=trans)
    for i, r in enumerate(dst):
        k.store(out, k.op("add", k.op("mul", lane, count), i), r)
    a = np.arange(32 * pitch).astype(np.float16).reshape(32, pitch)
    got = np.zeros((32, count), np.uint32)
    r = k.run(1, 32, a, got)
    halves = got.view(np.float16).reshape(32, count, 2)
    for i in range(count):
        matrix = a[8 * i : 8 * i + 8, :8]
        assert np.array_equal(halves[:, i].reshape(8, 8), matrix.T if trans else matrix)
    place = [i for i, x in enumerate(k.code().accesses) if x.kind == "ldmatrix"]
    assert r.counts.wavefronts[place[0]] == count * np.gcd(pitch * 2 // 16, 8)


@pytest.mark.parametrize("count,pending", [(1, 0), (4, 1)])
def test_cp_async_pipeline(count: int, pending: int) -> None:
    k = Kernel()
    x, out = k.array("x"), k.array("out")
    s = k.shared("s", 64 * 4 * 2)
    tid = k.op("tid.x")
    spot = k.op("mul", tid, count)
    for stage in (0, 1):
        k.add(
            n.AsyncCopy,
            target=s,
            target_index=k.op("add", spot, stage * 256),
            source=x,
            source_index=k.op("add", spot, stage * 256),
            count=count,
            valid=k.val(count - stage),
        )
        k.add(n.AsyncCommit)
    k.add(n.AsyncWait, pending=pending)
    k.sync()
    k.store(out, tid, k.load(s, k.op("sub", 64 * count - 1, tid)))
    if not pending:
        k.store(out, k.op("add", tid, 64), k.load(s, k.op("add", spot, 256)))
    a, got = np.arange(1, 513, dtype=np.float32), np.full(128, -1, np.float32)
    r = k.run(2, 64, a, got)
    assert np.array_equal(got[:64], a[64 * count - 1 - np.arange(64)])
    if not pending:
        assert (got[64:] == 0).all()
    assert r.counts.requests[0] == 4 and r.counts.sectors[0] == 2 * 64 * count // 8
    assert r.counts.wavefronts[0] == 4 * count
