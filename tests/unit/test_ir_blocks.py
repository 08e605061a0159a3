"""The scalar walk over many blocks agrees with one plain Python loop for each block."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.errors import GpusimError
from gpusim.ir.blocks import affine_loops, program_ids, run
from gpusim.ir.boxes import check_boxes, parts
from gpusim.ir.expr import Bin, Const, Expr, Name, evaluate
from gpusim.ir.ops import Box, If, Let, Load, Loop, Op
from gpusim.ir.program import Program, Tensor
from gpusim.ir.types import DTYPES

SIZE = 24


def test_axis_0_of_the_grid_runs_fastest() -> None:
    ids = program_ids((3, 2, 4), np.arange(24))
    assert ids["pid0"].tolist()[:7] == [0, 1, 2, 0, 1, 2, 0]
    assert ids["pid1"].tolist()[:7] == [0, 0, 0, 1, 1, 1, 0]
    assert ids["pid2"].tolist() == [n // 6 for n in range(24)]


@cache
def indices(*names: str) -> st.SearchStrategy[Expr]:
    leaves = st.one_of(st.integers(-3, 9).map(Const), st.sampled_from(names).map(Name))
    ops = st.sampled_from(["+", "-", "*", "min", "max", "<"])
    half = st.builds(lambda op, a, b: Bin(op, a, Const(b)), st.sampled_from(["//", "%"]), leaves, st.integers(1, 5))
    return st.recursive(st.one_of(leaves, half), lambda inner: st.builds(Bin, ops, inner, inner), max_leaves=4)


@cache
def load(dst: str, *names: str) -> st.SearchStrategy[Op]:
    return indices(*names).map(lambda e: Load(dst, Box("a", (e,), (4,))))


@st.composite
def bodies(draw: Any) -> tuple[Op, ...]:
    """A let, a loop with a let, a branch and a loop inside, and loads everywhere."""
    known = ("pid0", "x")
    inner = Loop("j", draw(indices(*known, "k")), draw(indices(*known, "k")), (draw(load("t1", *known, "k", "j", "y")),))
    branch = If(draw(indices(*known, "k", "y")), (draw(load("t2", *known, "k", "y")),), (draw(load("t3", *known, "k", "y")),))
    body = (Let("y", draw(indices(*known, "k"))), inner, branch)
    return Let("x", draw(indices("pid0"))), Loop("k", draw(indices(*known)), draw(indices(*known)), body), draw(load("t4", *known))


def one_block(body: tuple[Op, ...], env: dict[str, int]) -> list[tuple[str, int]]:
    """What a single block does, told as (load, origin)."""
    done: list[tuple[str, int]] = []
    for op in body:
        if isinstance(op, Let):
            env = {**env, op.name: evaluate(op.value, env)}
        elif isinstance(op, Loop):
            for n in range(evaluate(op.start, env), evaluate(op.stop, env)):
                done += one_block(op.body, {**env, op.var: n})
        elif isinstance(op, If):
            done += one_block(op.then if evaluate(op.cond, env) else op.orelse, env)
        else:
            assert isinstance(op, Load)
            done.append((op.dst, evaluate(op.box.origin[0], env)))
    return done


@given(bodies(), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_every_block_does_what_it_would_do_alone(body: tuple[Op, ...], count: int) -> None:
    seen: list[list[tuple[str, int]]] = [[] for _ in range(count)]

    def visit(op: Op, rows: np.ndarray, scalars: Any) -> None:
        assert isinstance(op, Load)
        origins = np.broadcast_to(evaluate(op.box.origin[0], scalars), rows.shape)
        for row, origin in zip(rows, origins, strict=True):
            seen[row].append((op.dst, int(origin)))

    run(body, np.arange(count), program_ids((count,), np.arange(count)), visit)
    assert seen == [one_block(body, {"pid0": n}) for n in range(count)]


@given(bodies(), st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_the_checker_finds_a_box_outside_if_and_only_if_a_block_touches_it(body: tuple[Op, ...], count: int) -> None:
    program = Program("p", (Tensor("a", DTYPES["fp32"], (SIZE,), SIZE),), (count,), body, 1)
    origins = [origin for n in range(count) for _, origin in one_block(body, {"pid0": n})]
    if all(0 <= o <= SIZE - 4 for o in origins):
        check_boxes(program)
        return
    with pytest.raises(GpusimError, match="touches index"):
        check_boxes(program)


def test_loops_on_which_addresses_are_linear_are_known() -> None:
    k, x = Name("k"), Name("x")
    for e, linear in ((k * 3 + x, True), (x - k * 2, True), (k * k, False), (k % 3, False), (k.minimum(4), False), (x * 3, True)):
        loop = Loop("k", Const(0), Const(9), (Let("y", e), Load("t", Box("a", (Name("y") * 2,), (4,)))))
        assert affine_loops((Let("x", Const(1)), loop)) == (frozenset({"k"}) if linear else frozenset())
    through_a_let = Loop("k", Const(0), Const(9), (Let("y", k + 1), Load("t", Box("a", (Bin("%", Name("y"), Const(3)),), (4,)))))
    assert not affine_loops((through_a_let,))


def test_boxes_are_grouped_by_what_is_inside() -> None:
    groups = list(parts([np.array([-2, 0, 7, 8, 30]), 0], (4, 3), (10, 3), 5))
    told = {spans: np.arange(5)[rows].tolist() for rows, spans in groups}
    assert told == {((2, 4), (0, 3)): [0], ((0, 4), (0, 3)): [1], ((0, 3), (0, 3)): [2], ((0, 2), (0, 3)): [3]}
    assert list(parts([np.array([0, 6]), 0], (4, 3), (10, 3), 2)) == [(slice(None), ((0, 4), (0, 3)))]
