"""The front end: what programs come out of kernels, and that they compute what Python computes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import float32, float64, int32, uint32, uint64
from gpusim.frontend.translate import translate
from gpusim.interp.simt.execute import execute
from gpusim.ir.simt import nodes as n
from gpusim.ir.simt.ops import OPS
from gpusim.ir.simt.show import show
from gpusim.lower.simt.cfg import build

F32 = n.Arg("x", "float32", 1)
F64 = n.Arg("x", "float64", 1)
I64 = n.Arg("x", "int64", 1)
I32 = n.Arg("x", "int32")


def walk(node: Any) -> Iterator[Any]:
    """All nodes of a program, depth first."""
    yield node
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif is_dataclass(node) and not isinstance(node, n.Buffer | n.Reg | n.Imm):
        for f in fields(node):
            yield from walk(getattr(node, f.name))


def found(program: n.SimtProgram, kind: type) -> list[Any]:
    return [s for s in walk(program.body) if isinstance(s, kind)]


def dtypes_of(program: n.SimtProgram, name: str) -> set[str]:
    """The types that the registers of a variable have."""
    return {s.dst.dtype for s in found(program, n.Op) if s.dst.name == name}


def run(function: Any, arrays: list[Any], threads: int = 32) -> None:
    """Execute the program as it leaves the front end, in one block."""
    args = tuple(n.Arg("", str(np.asarray(a).dtype), np.ndim(a)) for a in arrays)
    execute(build(translate(function, args)), n.Geometry((1, 1, 1), (threads, 1, 1)), arrays)


def in_python(function: Any, arrays: list[Any], threads: int = 32) -> None:
    """The same with Python itself, one thread after the other."""
    for thread in range(threads):
        raw: FunctionType = function.py_func
        world = {**raw.__globals__, "cuda": type("fake", (), {"grid": staticmethod(lambda _, t=thread: t)})}
        world["cuda"].local = type("local", (), {"array": staticmethod(lambda shape, _: np.zeros(shape))})
        device = {k: v.py_func for k, v in world.items() if getattr(v, "py_func", None) and v.device}
        world |= {k: FunctionType(f.__code__, world, argdefs=f.__defaults__) for k, f in device.items()}
        FunctionType(raw.__code__, world, closure=raw.__closure__)(*arrays)


def same(function: Any, *arrays: Any, threads: int = 32) -> None:
    mine, theirs = [np.copy(a) for a in arrays], [np.copy(a) for a in arrays]
    run(function, mine, threads)
    in_python(function, theirs, threads)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


# --- structure


@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


def test_saxpy_has_the_nodes_one_expects() -> None:
    program = translate(saxpy, (n.Arg("a", "float32"), F32, F32))
    assert [(p.arg, p.what) for p in program.params] == [(0, "value"), (1, "size")]
    (branch,) = found(program, n.If)
    assert [type(s).__name__ for s in branch.then] == ["Load", "Op", "Load", "Op", "Store"]
    assert {s.dst.dtype for s in branch.then if isinstance(s, n.Op)} == {"float32"}
    first = program.first_line
    assert [program.source[s.line - first].strip() for s in (branch, branch.then[0])] == ["if i < x.size:", "y[i] = a * x[i] + y[i]"]


def test_double_scalar_makes_the_arithmetic_double() -> None:
    program = translate(saxpy, (n.Arg("a", "float64"), F32, F32))
    assert [o.dst.dtype for o in found(program, n.Op) if o.op in ("mul", "add")][-2:] == ["float64", "float64"]
    assert found(program, n.Store)[0].values[0].dtype == "float32"


def test_registers_are_numbered_without_gaps() -> None:
    program = translate(saxpy, (n.Arg("a", "float32"), F32, F32))
    ids = {r.id for r in walk((program.body, program.params)) if isinstance(r, n.Reg)}
    assert ids == set(range(program.registers))


def test_show_is_stable_and_names_source_lines() -> None:
    args = (n.Arg("a", "float32"), F32, F32)
    text = show(translate(saxpy, args))
    assert text == show(translate(saxpy, args))
    assert text.startswith("kernel saxpy(a: float32, x: float32[::1], y: float32[::1])")
    assert ": y[i] = a * x[i] + y[i]\n" in text and "  if %" in text


TILE = 16


@cuda.jit
def two_on_a_line(x, out):
    a = cuda.shared.array((TILE, TILE + 1), float32); b = cuda.shared.array(shape=TILE, dtype="uint8")  # noqa: E702  # fmt: skip
    c = cuda.shared.array(3, np.float64)
    d = cuda.shared.array(0, int32)
    i = cuda.threadIdx.x
    a[i, 1], b[i], c[0], d[i] = x[i], 1, 2, 3
    out[i] = a[i, 1]


def test_shared_arrays_are_placed_and_aligned() -> None:
    shared = {b.name: b for b in translate(two_on_a_line, (F32, F32)).buffers if b.space == "shared"}
    assert {k: (b.shape, b.dtype, b.offset) for k, b in shared.items()} == {
        "a": ((16, 17), "float32", 0),
        "b": ((16,), "uint8", 1088),
        "c": ((3,), "float64", 1104),
        "d": (None, "int32", 1136),
    }


@cuda.jit
def plane(a, out):
    i, j = cuda.grid(2)
    out[i, j] = a[i, j] + a[i, j - 1] + a[i - 1, 2] + a[i][j] + a[-1, -1]


def test_inner_index_that_may_be_negative_wraps() -> None:
    program = translate(plane, (n.Arg("a", "float32", 2), n.Arg("out", "float32", 2)))
    assert len([o for o in found(program, n.Op) if o.op == "wrap"]) == 2  # j - 1 and -1; i, j and 2 are known not to be negative
    assert ("stride1" in {p.what for p in program.params}) is False
    strided = translate(plane, (n.Arg("a", "float32", 2, "A"), n.Arg("out", "float32", 2)))
    assert (0, "stride1") in {(p.arg, p.what) for p in strided.params}


def test_elements_of_planes_are_those_of_numpy() -> None:
    a, out = np.arange(12, dtype=np.float32).reshape(3, 4), np.zeros((3, 4), np.float32)
    args = (n.Arg("a", "float32", 2), n.Arg("out", "float32", 2))
    execute(build(translate(plane, args)), n.Geometry((1, 1, 1), (3, 4, 1)), [a, out])
    np.testing.assert_array_equal(out, [[a[i, j] * 2 + a[i, j - 1] + a[i - 1, 2] + a[-1, -1] for j in range(4)] for i in range(3)])


# --- types


@cuda.jit
def typed(x, out, s):
    i = cuda.threadIdx.x
    a = i + i
    b = i / 2
    c = x[i] * 2.0
    d = x[i] * i
    e = uint32(i) * uint32(3)
    f = uint32(i) & 255
    g = i > 2
    h = x[i] ** 2
    k = math.sqrt(x[i])
    m = math.floor(x[i])
    o = int(s)
    p = float(x[i])
    q = min(x[i], 1)
    r = s >> 1
    t = -g
    u = i // 2
    out[i] = a + b + c + d + e + f + g + h + k + m + o + p + q + r + t + u


def test_results_have_numbas_types() -> None:
    program = translate(typed, (F32, F32, I32))
    types = "a int64 b float64 c float64 d float64 e uint64 f int64 g bool h float32 k float32 m int64 o int32 p float32 q float64 r int64 t int64 u int64"
    expected = dict(zip(types.split()[::2], types.split()[1::2], strict=True))
    assert {name: dtypes_of(program, name) for name in expected} == {name: {t} for name, t in expected.items()}


@cuda.jit
def widened(x, out, c):
    i = cuda.grid(1)
    k = 0
    while k < 10:
        k = k * 1.5 + 1
    v = 1
    if i > c:
        v = 2.5
    w = int32(i)
    w = x[i] * w
    out[i] = k + v + w


def test_variables_widen_where_paths_meet() -> None:
    program = translate(widened, (F32, F64, I32))
    (loop,) = found(program, n.While)
    assert loop.cond == loop.head[-1].dst and loop.head[-1].args[0].dtype == "float64"
    assert dtypes_of(program, "v") == {"int64", "float64"}
    assert dtypes_of(program, "w") == {"int32", "float64"}, "assigned anew, it is another register"


def test_loop_variable_is_as_wide_as_the_bound() -> None:
    @cuda.jit
    def loops(x, s):
        for i in range(s):
            x[i] = i
        for j in range(x.size):
            x[j] = j

    program = translate(loops, (F32, I32))
    assert [loop.var.dtype for loop in found(program, n.For)] == ["int32", "int64"]


# --- conditions


@cuda.jit
def guarded(x, out, k):
    i = cuda.grid(1)
    if i < x.size and x[i] > 0:
        out[i] = 1
    if i > 2 and i < k:
        out[i] += 1
    if i < x.size or x[0] > 0:
        out[i] += 2


def test_right_side_with_a_load_is_not_evaluated_early() -> None:
    program = translate(guarded, (F32, F32, I32))
    loads = [s for s in program.body if isinstance(s, n.Load)]
    assert not loads
    assert [o.op for o in program.body if isinstance(o, n.Op) and o.op in ("and", "or")] == ["and"]
    out = np.zeros(32, np.float32)
    run(guarded, [np.ones(3, np.float32), out, np.int32(5)])
    np.testing.assert_array_equal(out[:6], [3, 3, 3, 3, 3, 2])


DEBUG = False


@cuda.jit
def configured(out):
    if DEBUG:
        out[0] = nothing_of_that_name  # noqa: F821
    if out is not None:
        out[0] = 2


def test_constant_conditions_are_decided() -> None:
    program = translate(configured, (F32,))
    assert not found(program, n.If) and len(found(program, n.Store)) == 1


# --- control flow against Python


@cuda.jit
def wandering(x, out):
    i = cuda.grid(1)
    s = 0
    for k in range(x.size):
        if x[k] < 0:
            continue
        if x[k] > i:
            break
        s += x[k]
    else:
        s = -s
    w = i
    while w > 1:
        if w % 5 == 0:
            break
        w = w - 1 if w % 2 else w >> 1
    else:
        w = 100
    for q in (1, 2, 3):
        w += q
    for j, q in enumerate((10, 20)):
        w += j * q
    for v in x:
        w += v
    for a, b in zip((1, 2), (3, 4)):  # noqa: B905
        w += a * b
    out[i] = s + w + (i or 4) + (0 < i <= 5) + (i in (3, 4)) + divmod(i, 3)[1] + i % -3 + (-i) // 4


@cuda.jit(device=True)
def sign(x):
    if x > 0:
        if x > 10:
            return 2
    elif x < 0:
        return -1.5
    y = x * 2
    if y == 0:
        return 0
    return 1


@cuda.jit(device=True)
def position(a, v, n=4):
    for i in range(n):
        for j in range(n):
            if a[i * n + j] == v:
                return i, j
        else:
            continue
    return -1, sign(v)


@cuda.jit
def calls(x, out):
    i = cuda.grid(1)
    r, c = position(x, i)
    out[i] = r * 10 + c + sign(x[i % 16] - 3) + sign(x=-i)


@cuda.jit
def carried(x, out):
    i = cuda.grid(1)
    for k in range(4):
        if k > 0:
            out[i] += prev * k  # noqa: F821
        prev = x[i % 16] + k  # noqa: F841
    for k in range(3):
        k = k * 2
        out[i] += k
    a, b = 1, i
    for _ in range(5):
        a, b = b, a + b
    n = 3
    for m in range(n):
        n = m
    t = (a, b)
    a = 0
    out[i] += t[0] + t[i % 2] + n + a


@pytest.mark.parametrize("kernel", [wandering, calls, carried])
def test_control_flow_equals_pythons(kernel: Any) -> None:
    same(kernel, np.array([3, -1, 4, 2, 20, 3, 9, 1, 0, 7, 5, 13, 8, 6, 2, 11]), np.zeros(32))


@cuda.jit
def early(out):
    i = cuda.grid(1)
    if i > 5:
        return
    v = i * 2
    while True:
        v += 1
        if v > 20:
            out[i] = v
            return


def test_returns_end_a_thread() -> None:
    same(early, np.zeros(32))


def make_kernel(scale: float, size: int) -> Any:
    @cuda.jit
    def kernel(out):
        tile = cuda.local.array(size, float64)
        for k in range(size):
            tile[k] = k * scale
        out[cuda.grid(1)] = tile[size - 1] + len(tile)

    return kernel


def test_closures_are_constants() -> None:
    out = np.zeros(32)
    run(make_kernel(2.5, 4), [out])
    assert set(out) == {2.5 * 3 + 4}


@dataclass(frozen=True)
class Config:
    rows: int = 4
    factor: float = 0.5


CONFIG = Config()
WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@cuda.jit
def constants(out):
    i = cuda.grid(1)
    w = cuda.const.array_like(WEIGHTS)
    out[i] = w[1, i % 3] + WEIGHTS[0, 2] + CONFIG.rows * CONFIG.factor + np.float32(1) + math.pi


def test_constants_of_the_module() -> None:
    out = np.zeros(32)
    run(constants, [out])
    np.testing.assert_allclose(out, [WEIGHTS[1, i % 3] + 3 + 2 + 1 + math.pi for i in range(32)], rtol=1e-6)


@cuda.jit
def swapped(x, out):
    a = cuda.local.array(4, float64)
    b = cuda.local.array(4, float64)
    i = cuda.grid(1)
    for k in range(4):
        a[k] = x[k] + i
    src, dst = a, b
    for _ in range(3):
        for k in range(len(src)):
            dst[k] = src[(k + 1) % 4] * 2
            dst[k] += 1
        src, dst = dst, src
    rows = x if i % 2 else out
    for k in range(4):
        out[i] += src[k] + rows[k % 1] * rows.size
    cuda.atomic.add(rows, i % 1 + 5, 1)


def test_a_variable_may_be_one_of_several_arrays() -> None:
    x, out = np.arange(8.0), np.zeros(32)
    run(swapped, [x, out], threads=4)
    values = [np.roll(np.arange(4.0) + i, 0) for i in range(4)]
    for _ in range(3):
        values = [np.roll(v, -1) * 2 + 1 for v in values]
    assert x[5] == 5 + 2 and out[5] == 2
    assert [out[1], out[3]] == [v.sum() for v in (values[1], values[3])]


@cuda.jit(device=True)
def total(row):
    s = 0
    for v in row:
        s += v
    for k, (a, b) in enumerate(zip(row, row[1:])):  # noqa: B905
        s += k * a * b
    return s + len(row)


@cuda.jit
def views(x, out):
    i = cuda.grid(1)
    plane = cuda.local.array((3, 4), float64)
    for r in range(3):
        for c in range(4):
            plane[r, c] = x[r * 4 + c] + i
    row, column, part = plane[1, :], plane[:, -1], x[i + 2 : 10]
    out[i] = total(row) + 100 * total(column) + row[-1] + part[0] + len(part) + x[3:][i] + len(x[-4:])
    m, e = math.frexp(x[i] + 0.3)
    out[i] += m * 1000 + e


def test_views_and_walks() -> None:
    same(views, np.arange(16.0), np.zeros(6), threads=6)


# --- device functions


ROTATION = 41


@cuda.jit(device=True)
def rotate(x, k):
    x = uint64(x)
    return (x << uint64(k)) | (x >> uint64(64 - k))


@cuda.jit(device=True)
def next_state(states, i):
    s0 = states[2 * i]
    s1 = states[2 * i + 1] ^ s0
    states[2 * i] = rotate(s0, 55) ^ s1 ^ (s1 << uint64(14))
    states[2 * i + 1] = rotate(s1, uint32(36))
    return s0 + s1 + uint64(ROTATION)


@cuda.jit
def random_bits(states, out):
    i = cuda.grid(1)
    out[i] = next_state(states, i) >> uint64(11)


def test_device_functions_with_unsigned_arithmetic() -> None:
    states = np.arange(64, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    out, old = np.zeros(32, np.uint64), states.copy()
    run(random_bits, [states, out])
    s0, s1 = old[0::2], old[1::2] ^ old[0::2]
    np.testing.assert_array_equal(out, (s0 + s1 + np.uint64(41)) >> np.uint64(11))
    assert not np.array_equal(states, old)


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


@pytest.mark.parametrize("kernel", [together, vectors, two_on_a_line, calls, carried, wandering, saxpy])
def test_operations_are_those_of_the_table(kernel: Any) -> None:
    args = (n.Arg("a", "float32"), F32, F32) if kernel is saxpy else (F32, F32)
    for op in found(translate(kernel, args), n.Op):
        assert len(op.args) == OPS[op.op].arity, op
        kinds = {a.dtype for a in (op.args[1:] if op.op == "select" else op.args)}
        if OPS[op.op].result == "same":
            assert kinds == {op.dst.dtype}, op
        if OPS[op.op].result == "bool":
            assert op.dst.dtype == "bool" and len(kinds) == 1, op
