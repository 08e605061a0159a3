"""The front end: what programs come out of kernels, and that they compute what Python computes."""

from __future__ import annotations

import math

import numpy as np

from gpusim import cuda
from gpusim.cuda import float32, int32, uint32
from gpusim.frontend.translate import translate
from gpusim.interp.simt.execute import execute
from gpusim.ir.simt import nodes as n
from gpusim.ir.simt.show import show
from gpusim.lower.simt.cfg import build
from tests.unit.simt_frontend_tools import F32, F64, I32, dtypes_of, found, run, walk

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
