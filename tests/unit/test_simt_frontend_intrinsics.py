"""The front end: what intrinsics become."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import int32
from gpusim.frontend.translate import translate
from gpusim.ir.simt import nodes as n
from gpusim.ir.simt.ops import OPS
from tests.unit.simt_frontend_tools import F32, found

# --- intrinsics


def test_every_intrinsic_is_translated() -> None:
    from gpusim.cuda.intrinsics import Intrinsic, Namespace, names
    from gpusim.frontend.cuda_calls import CUDA
    from gpusim.frontend.libdevice import LIBDEVICE

    offered = list(names().values())
    members = [m for v in offered if isinstance(v, Namespace) for m in v.members.values()]
    wanted = {v.name for v in [*offered, *members] if isinstance(v, Intrinsic)}
    assert wanted - set(CUDA) - set(LIBDEVICE) == set()
    assert all(v.doc for v in [*offered, *members] if not isinstance(v, Namespace))


@cuda.jit
def together(x, out):
    i = cuda.grid(1)
    b = cuda.ballot_sync(0xFFFFFFFF, x[i] > 3)
    down = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 16, 16)
    cuda.atomic.add(out, 0, 1)
    old = cuda.atomic.max(out, (i,), down)
    cuda.syncwarp()
    c = cuda.syncthreads_count(i > 3)
    lo, hi = cuda.unpack_bf16(cuda.pack_bf16(x[i], 1))
    out[i] = b + old + c + cuda.popc(b) + cuda.bitcast(x[i], int32) + cuda.libdevice.fast_expf(x[i]) + lo + hi
    cuda.threadfence_block()


@cuda.jit
def whole(x, out):
    g = cuda.cg.this_grid()
    np.sin(x, out)
    g.sync()
    out[0] = np.sin(x[0])


def test_grid_barrier_and_whole_array_functions() -> None:
    program = translate(whole, (F32, F32))
    assert [b.kind for b in found(program, n.Barrier)] == ["grid"]
    (loop,) = found(program, n.For)
    assert [type(s).__name__ for s in loop.body] == ["Load", "Op", "Store"]


def test_warp_and_atomic_nodes() -> None:
    program = translate(together, (F32, F32))
    ballot, down = found(program, n.Warp)
    assert (ballot.op, ballot.dst[0].dtype) == ("ballot", "uint32")
    assert down.args[0] == n.Imm(0xFFFFFFFF, "uint32") and down.args[3] == n.Imm(16, "int32")
    unused, used = found(program, n.Atomic)
    assert unused.dst is None and used.dst is not None and used.dst.dtype == "float32"
    assert [(b.kind, b.op) for b in found(program, n.Barrier)] == [("warp", ""), ("cta", "count")]
    assert [f.scope for f in found(program, n.Fence)] == ["cta"]


@cuda.jit
def vectors(x, out):
    tile = cuda.shared.array((16, 16), cuda.bfloat16)
    i = cuda.grid(1)
    a, b, c, d = cuda.load4(x, 4 * i)
    cuda.store2(out, 2 * i, (a + b, c + d))
    f = cuda.ldmatrix(tile, (cuda.laneid % 16, 8 * (cuda.laneid // 16)), 4, trans=True)
    acc = cuda.mma_m16n8k16(f, f[:2], (a, b, c, d))
    cuda.store4(out, 4 * i, acc)
    for k in cuda.range(0, 8, 2, unroll=4):
        out[k] = cuda.ldcg(x, k)
    for k in cuda.static_range(2):
        out[k] = 0


def test_vector_and_matrix_nodes() -> None:
    program = translate(vectors, (F32, F32))
    assert [len(s.dst) for s in found(program, n.Load)] == [4, 1] and found(program, n.Load)[1].cache == "cg"
    assert [len(s.values) for s in found(program, n.Store)] == [2, 4, 1, 1]
    (matrix,) = found(program, n.LdMatrix)
    assert matrix.trans and len(matrix.dst) == 4
    (mma,) = found(program, n.Mma)
    assert (len(mma.a), len(mma.b), len(mma.c), mma.fmt) == (4, 2, 4, "bf16")
    assert [loop.unroll for loop in found(program, n.For)] == [4, 0]


@pytest.mark.parametrize("kernel", [together, vectors])
def test_operations_are_those_of_the_table(kernel: Any) -> None:
    for op in found(translate(kernel, (F32, F32)), n.Op):
        assert len(op.args) == OPS[op.op].arity, op
        kinds = {a.dtype for a in (op.args[1:] if op.op == "select" else op.args)}
        if OPS[op.op].result == "same":
            assert kinds == {op.dst.dtype}, op
        if OPS[op.op].result == "bool":
            assert op.dst.dtype == "bool" and len(kinds) == 1, op
