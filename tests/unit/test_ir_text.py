"""show and parse: what one writes the other reads, and what cannot be read is refused with its line."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.ir.expr import OPERATORS, Bin, Const, Expr, Name, bin_, evaluate
from gpusim.ir.forms import FORMS
from gpusim.ir.functions import ARGS, MAPS, REDUCES
from gpusim.ir.ops import Box, Dot, Fold, Full, If, Let, Load, Loop, Map, Reduce, Store, While
from gpusim.ir.parse import parse
from gpusim.ir.program import Program, Tensor
from gpusim.ir.show import show, show_expr
from gpusim.ir.types import DTYPES
from gpusim.kernels.gemm import gemm

NAMES = st.sampled_from(["x", "y1", "acc", "load", "min", "pid0", "_t", "inf", "fp32"])
SIZES = st.integers(1, 10**12)
DTYPE = st.sampled_from(list(DTYPES.values()))
LINE = st.integers(0, 9999)
VALUES = st.one_of(st.floats(allow_nan=False), st.integers(-(10**18), 10**18))


def expressions(names: st.SearchStrategy[str]) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.integers(-(10**12), 10**12).map(Const), names.map(Name))
    return st.recursive(leaves, lambda inner: st.builds(Bin, st.sampled_from(list(OPERATORS)), inner, inner), max_leaves=12)


EXPRS = expressions(NAMES)


@st.composite
def boxes(draw: Any) -> Box:
    rank = draw(st.integers(1, 3))
    limits = draw(st.sampled_from([(), tuple(draw(st.none() | EXPRS) for _ in range(rank))]))
    edges = draw(st.lists(st.sampled_from(["", "wrap", "first"]), max_size=3).map(tuple))
    axes = draw(st.none() | st.lists(st.integers(-1, 3), max_size=3).map(tuple))
    return Box(draw(NAMES), tuple(draw(EXPRS) for _ in range(rank)), tuple(draw(SIZES) for _ in range(rank)), draw(st.booleans()), limits, axes, edges)


@st.composite
def maps(draw: Any) -> Map:
    fn = draw(st.sampled_from(list(MAPS)))
    return Map(draw(NAMES), fn, tuple(draw(NAMES) for _ in MAPS[fn].takes), draw(LINE))


SHAPES = st.lists(SIZES, min_size=1, max_size=3).map(tuple)
TILES = st.lists(NAMES, max_size=3).map(tuple)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "tile": NAMES,
    "tiles": TILES,
    "expr": EXPRS,
    "exprs": st.lists(EXPRS, max_size=3).map(tuple),
    "integer": st.integers(0, 99),
    "integers": st.lists(st.integers(0, 99), max_size=3).map(tuple),
    "number": VALUES,
    "flag": st.booleans(),
    "string": st.text(max_size=9),
    "dtype": DTYPE,
}


@st.composite
def formed(draw: Any) -> Any:
    """An op that `forms` describes, with any values."""
    form = draw(st.sampled_from(FORMS))
    values = {f.name: draw(KINDS[f.kind]) for f in form.fields if f.kind != "type"}
    if len(values) < len(form.fields):
        values |= {"dtype": draw(DTYPE), "shape": draw(st.lists(SIZES, max_size=3).map(tuple))}
    values |= {form.target: draw(NAMES)} if form.target else {}
    values |= {"fn": draw(st.sampled_from(sorted(form.functions)))} if form.functions else {}
    return form.node(**values, line=draw(LINE))


FLAT = st.one_of(
    st.builds(Let, NAMES, EXPRS, LINE),
    st.builds(Load, NAMES, boxes(), VALUES, LINE),
    st.builds(Store, boxes(), NAMES, LINE),
    st.builds(Full, NAMES, SHAPES, DTYPE, VALUES, LINE),
    st.builds(Dot, NAMES, NAMES, NAMES, LINE),
    maps(),
    st.builds(Reduce, NAMES, st.sampled_from(sorted(REDUCES | ARGS)), NAMES, st.integers(0, 5), LINE, st.booleans()),
    formed(),
)
OPS = st.recursive(
    FLAT,
    lambda inner: st.one_of(
        st.builds(Loop, NAMES, EXPRS, EXPRS, st.lists(inner, max_size=3).map(tuple), st.one_of(st.none(), st.integers(1, 9)), LINE),
        st.builds(While, st.lists(FLAT, max_size=2).map(tuple), EXPRS, st.lists(inner, max_size=2).map(tuple), LINE),
        st.builds(Fold, TILES, TILES, st.integers(0, 3), TILES, TILES, st.lists(inner, max_size=2).map(tuple), TILES, st.booleans(), st.booleans(), LINE),
        st.builds(If, EXPRS, st.lists(inner, max_size=2).map(tuple), st.lists(inner, max_size=2).map(tuple), LINE),
    ),
    max_leaves=6,
)
PARAMS = st.dictionaries(
    st.sampled_from(["m", "tile", "dtype", "scale", "sizes"]),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=40), st.tuples(st.integers(), st.text(max_size=3))),
)
TENSORS = st.builds(Tensor, NAMES, DTYPE, SHAPES, SIZES, st.sampled_from(["in", "out", "inout"]), st.integers(0, 99), st.text(max_size=4))
PROGRAMS = st.builds(
    Program,
    st.text(max_size=12),
    st.lists(TENSORS, max_size=3).map(tuple),
    st.lists(SIZES, min_size=1, max_size=3).map(tuple),
    st.lists(OPS, max_size=5).map(tuple),
    st.integers(1, 32),
    PARAMS,
    st.integers(0, 10**15),
)


#: programs of many kinds of ops take a while to be drawn, on a busy machine too long for the default
SLOW = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@SLOW
@given(PROGRAMS)
def test_what_show_writes_parse_reads(program: Program) -> None:
    text = show(program)
    assert parse(text) == program
    assert show(parse(text)) == text


@SLOW
@given(expressions(st.sampled_from("xyz")))
def test_the_text_of_an_expression_means_in_python_what_it_means_here(e: Expr) -> None:
    env = {"x": 7, "y": -2, "z": 0}
    try:
        expected = evaluate(e, env)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            eval(show_expr(e), {}, env)
        return
    assert eval(show_expr(e), {}, env) == expected


@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator_has_a_text(op: str) -> None:
    e = Bin(op, Bin(op, Name("x"), Const(-3)), Bin(op, Const(4), Name("x")))
    body = parse(f"program('p', grid=(1,), warps=1, flops=0)\nv = {show_expr(e)}\n").body
    assert body == (Let("v", e),)


def test_parentheses_only_where_they_matter() -> None:
    x, y = Name("x"), Name("y")
    assert show_expr((x + y) * 2 - (x - (y - 1))) == "(x + y) * 2 - (x - (y - 1))"
    assert show_expr(x * 3 + y // 2 % 5) == "x * 3 + y // 2 % 5"
    assert show_expr((x < y) <= (y < 3)) == "(x < y) <= (y < 3)"
    assert show_expr((x + 1).minimum(bin_("max", y, 0))) == "min(x + 1, max(y, 0))"


def test_infinite_fill_values_survive() -> None:
    box = Box("a", (Const(0),), (4,), True)
    body = (Load("t", box, -math.inf), Full("u", (4,), DTYPES["fp32"], math.inf))
    program = Program("p", (), (1,), body, 1)
    assert "other=-inf" in show(program)
    assert parse(show(program)).body == body


def test_numpy_integers_print_as_numbers() -> None:
    assert show(gemm(np.int64(64), np.int64(64), np.int64(64), tile=(32, 32, 32))) == show(gemm(64, 64, 64, tile=(32, 32, 32)))


def test_source_lines_stand_at_the_end() -> None:
    program = Program("p", (), (1,), (Loop("k", Const(0), Const(2), (Let("v", Name("k"), 8),), 1, 7),), 1)
    assert show(program).splitlines()[-2:] == ["for k in range(0, 2, stages=1):  # line 7", "    v = k  # line 8"]
    assert parse(show(program)) == program


HEAD = "program('p', grid=(4,), warps=1, flops=0)\na: fp32[8, 8] = tensor('in', pitch=8)\n"
BAD = {
    "": (1, "begins with program"),
    "x = 1\n": (1, "begins with program"),
    "program('p', warps=1, flops=0)\n": (1, "lacks 'grid='"),
    "program('p', grid=(1,), warps=1, flops=0, size=3)\n": (1, "no argument 'size'"),
    "program('p', grid=(1.5,), warps=1, flops=0)\n": (1, "not an integer"),
    "program(p, grid=(1,), warps=1, flops=0)\n": (1, "not a string"),
    "program('p', grid=(1,), warps=1, flops=0)\nparams(3)\n": (2, "name=value"),
    "program('p', grid=(1,), warps=1, flops=0)\nparams(x=y)\n": (2, "not a number"),
    "program('p', grid=(1,), warps=1, flops=0)\na: fp31[8] = tensor('in', pitch=8)\n": (2, "Did you mean 'fp32'"),
    "program('p', grid=(1,), warps=1, flops=0)\na: fp32[8] = 3\n": (2, "declared like"),
    "program('p', grid=(1,), warps=1, flops=0)\na: fp32 = tensor('in', pitch=8)\n": (2, "not a type"),
    HEAD + "v = (1\n": (3, "never closed"),
    HEAD + "v = pid0 / 2\n": (3, "not an index expression"),
    HEAD + "v = 1.5\n": (3, "not an integer"),
    HEAD + "v = 0 < pid0 < 3\n": (3, "not an index expression"),
    HEAD + "v = min(1, 2, 3)\n": (3, "not an index expression"),
    HEAD + "v = w = 3\n": (3, "one name"),
    HEAD + "\n\nt = load(a[0:8, 0 :+ 8])\n": (5, "start :+ extent"),
    HEAD + "t = load(a[0 :+ 8, 0 :+ 8:2])\n": (3, "start :+ extent"),
    HEAD + "t = load(a)\n": (3, "not a box"),
    HEAD + "t = load(a[0 :+ 8, 0 :+ 8], masked=1)\n": (3, "not True or False"),
    HEAD + "t = load(a[0 :+ 8, 0 :+ 8], cached=True)\n": (3, "no argument 'cached'"),
    HEAD + "t = expp(u)\n": (3, "Did you mean 'exp'"),
    HEAD + "t = add(u)\n": (3, "takes 2 argument(s)"),
    HEAD + "t = sum(u)\n": (3, "lacks 'axis='"),
    HEAD + "t = cast(u, bf17)\n": (3, "Did you mean 'bf16'"),
    HEAD + "t = full(fp32[4], zero)\n": (3, "not a number"),
    HEAD + "t -= dot(u, v)\n": (3, "only products accumulate"),
    HEAD + "t += mul(u, v)\n": (3, "only products accumulate"),
    HEAD + "mul(u, v)\n": (3, "store(box, tile)"),
    HEAD + "for k in range(3):\n    pass\n": (3, "takes 2 argument(s)"),
    HEAD + "for k in range(0, 3):\n    pass\n": (3, "lacks 'stages='"),
    HEAD + "for k in list:\n    pass\n": (3, "a loop is written like"),
    HEAD + "if pid0 < 2:\n    v = 3\nelse:\n    while 1: pass\n": (6, "an open loop is written"),
    HEAD + "with open(a): pass\n": (3, "a fold is written"),
    HEAD + "assert a\n": (3, "is not an op"),
    HEAD + "import os\n": (3, "is not an op"),
    HEAD + "t = a.b\n": (3, "not an index expression"),
    HEAD + "a[0] = 3\n": (3, "is not a name"),
}


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_read_is_refused_with_its_line(text: str) -> None:
    line, message = BAD[text]
    with pytest.raises(GpusimError) as caught:
        parse(text)
    assert caught.value.where == f"line {line}"
    assert message in str(caught.value)


def test_what_has_no_text_is_refused() -> None:
    for program in (
        Program("p", (), (1,), (Let("a b", Const(1)),), 1),
        Program("p", (), (1,), (Let("for", Const(1)),), 1),
        Program("p", (), (1,), (Store(Box("a", (Const(0),), (1, 2)), "t"),), 1),
        Program("p", (), (1,), (), 1, {"x": object()}),
    ):
        with pytest.raises(GpusimError):
            show(program)
