"""What each rewrite does to a small program, and what it must leave alone."""

from __future__ import annotations

import time

import pytest

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Barrier, Break, Buffer, For, Geometry, If, Imm, Load, Op, Param, Reg, SimtProgram, Stmt, Store, While
from gpusim.ir.simt.rewrites import optimise
from gpusim.ir.simt.walk import contains, count, walk

OUT = Buffer(0, "out", "global", "float32", None, 0)
DATA = Buffer(1, "data", "global", "float32", None, 1)
TILE = Buffer(2, "tile", "shared", "float32", (64,))
OWN = Buffer(3, "own", "local", "float32", (8,), line=3)
N = Reg(0, "int64", "n")
I = Reg(1, "int64", "i")
TID = Reg(2, "int32")
WIDE = Reg(3, "int64")
P = Reg(4, "bool")
K = Reg(5, "int64", "k")
X, Y, ACC = Reg(6, "float32"), Reg(7, "float32"), Reg(8, "float32", "acc")
FIRST: tuple[Stmt, ...] = (Op(TID, "tid.x", ()), Op(WIDE, "cvt", (TID,)), Op(I, "mov", (WIDE,)), Op(ACC, "mov", (Imm(0.0, "float32"),)))
LAST = Store(OUT, I, (ACC,), 9)


def better(*body: Stmt, n: int = 1000, overlapping: frozenset[int] = frozenset()) -> SimtProgram:
    program = SimtProgram("t", (), (Param(N, 2, "value"),), (OUT, DATA, TILE, OWN), (*FIRST, *body, LAST), 100, file="t.py")
    return optimise(program, LaunchFacts(Geometry((4, 1, 1), (64, 1, 1)), {(2, "value"): n}, overlapping))


def imm(value: int) -> Imm:
    return Imm(value, "int64")


def loop(body: tuple[Stmt, ...], stop: Imm | Reg, unroll: int | None, step: int = 1) -> For:
    return For(K, imm(0), stop, imm(step), body, 4, unroll)


def loads(program: SimtProgram, name: str) -> int:
    return sum(isinstance(s, Load) and s.buffer.name == name for s in walk(program.body))


ADD = (Load((X,), DATA, K, 5), Op(ACC, "add", (ACC, X), 6))


@pytest.mark.parametrize(
    ("stop", "unroll", "copies", "loops"), [(8, None, 8, 0), (8, 1, 1, 1), (100, None, 1, 1), (100, 0, 100, 0), (8, 4, 4, 1), (10, 4, 6, 1)]
)
def test_unrolling(stop: int, unroll: int | None, copies: int, loops: int) -> None:
    program = better(loop(ADD, imm(stop), unroll))
    assert loads(program, "data") == copies
    assert sum(isinstance(s, For) for s in walk(program.body)) == loops


def test_unknown_trip_count_needs_a_word_and_gets_a_rest() -> None:
    assert loads(better(loop(ADD, N, None)), "data") == 1
    program = better(loop(ADD, N, 4))
    assert loads(program, "data") == 5
    assert "loop at line 4 unrolled 4 times" in program.notes


def test_loop_with_break_stays() -> None:
    assert loads(better(loop((*ADD, If(P, (Break(7),), (), 7)), imm(8), 0)), "data") == 1


def test_while_stays() -> None:
    body = (Op(ACC, "add", (ACC, ACC), 5), Op(K, "sub", (K, imm(1)), 6))
    program = better(Op(K, "mov", (imm(4),)), While((Op(P, "gt", (K, imm(0)), 4),), P, body, 4))
    assert contains(program.body, While)


def test_local_array_in_registers_only_with_constant_indices() -> None:
    fill, use = loop((Store(OWN, K, (ACC,), 5),), imm(8), 0), Load((ACC,), OWN, imm(3), 6)
    program = better(fill, use)
    assert not any(b.space == "local" for b in program.buffers)
    assert "local array own of line 3 in registers" in program.notes
    assert loads(better(fill, Load((ACC,), OWN, I, 6)), "own") == 1


@pytest.mark.parametrize(
    ("between", "overlap", "left"),
    [
        ((), (), 1),
        ((Store(OUT, I, (X,), 5),), (), 1),
        ((Store(OUT, I, (X,), 5),), (0, 1), 2),
        ((Barrier("cta"),), (), 1),
    ],
)
def test_second_load_of_an_array_that_is_never_written(between: tuple[Stmt, ...], overlap: tuple[int, ...], left: int) -> None:
    program = better(Load((X,), DATA, I, 4), *between, Load((Y,), DATA, I, 6), Op(ACC, "add", (X, Y), 7), overlapping=frozenset(overlap))
    assert loads(program, "data") == left


@pytest.mark.parametrize(("between", "left"), [((), 1), ((Barrier("cta"),), 2), ((Store(TILE, imm(1), (X,), 5),), 2), ((Store(OUT, I, (X,), 5),), 1)])
def test_second_load_of_shared_memory(between: tuple[Stmt, ...], left: int) -> None:
    program = better(Store(TILE, I, (ACC,), 3), Load((X,), TILE, I, 4), *between, Load((Y,), TILE, I, 6), Op(ACC, "add", (X, Y), 7))
    assert loads(program, "tile") == left


def test_integers_fit_32_bits_or_stay() -> None:
    square = (Op(Reg(20, "int64"), "mul", (I, N), 4), Op(Reg(21, "int64"), "add", (Reg(20, "int64"), imm(3)), 4), Load((ACC,), DATA, Reg(21, "int64"), 5))
    assert not any(r.dtype == "int64" for s in walk(better(*square).body) if isinstance(s, Op) for r in (s.dst, *s.args))
    large = better(*square, n=1 << 40)
    assert any(s.dst.dtype == "int64" for s in walk(large.body) if isinstance(s, Op))


def test_only_the_low_half_of_a_sum_is_needed_behind_a_cast() -> None:
    seed, low = Reg(20, "int64"), Reg(21, "int32")
    body = (Load((X,), DATA, I, 3), Op(seed, "cvt", (X,), 4), Op(Reg(22, "int64"), "mul", (seed, imm(5)), 5), Op(low, "cvt", (Reg(22, "int64"),), 6))
    program = better(*body, Op(ACC, "cvt", (low,), 7))
    assert [s.dst.dtype for s in walk(program.body) if isinstance(s, Op) and s.op == "mul"] == ["int32"]


@pytest.mark.parametrize(("op", "value", "found"), [("floordiv", 8, "shr"), ("mod", 8, "and"), ("floordiv", 6, "div"), ("mod", 6, "rem")])
def test_division_of_what_is_not_negative(op: str, value: int, found: str) -> None:
    at = Reg(20, "int64")
    program = better(Op(at, op, (I, imm(value)), 4), Load((ACC,), DATA, at, 5))
    assert [s.op for s in walk(program.body) if isinstance(s, Op) and s.op not in ("tid.x", "mov")] == [found]


def test_a_sum_with_the_same_constant_part_is_shared() -> None:
    a, b, c, d = (Reg(r, "int64") for r in range(20, 24))
    one = (Op(a, "add", (I, imm(1)), 4), Op(b, "mul", (a, imm(64)), 4), Load((X,), DATA, b, 4))
    two = (Op(c, "add", (I, imm(2)), 5), Op(d, "mul", (c, imm(64)), 5), Load((Y,), DATA, d, 5))
    program = better(*one, *two, Op(ACC, "add", (X, Y), 6))
    assert sum(isinstance(s, Op) and s.op == "mul" for s in walk(program.body)) == 1


def test_small_if_is_predicated_and_a_large_one_is_not() -> None:
    small = If(P, (Load((X,), TILE, I, 5), Op(ACC, "add", (ACC, X), 6)), (), 4)
    program = better(Op(P, "lt", (I, N), 3), small)
    assert [s.predicated for s in walk(program.body) if isinstance(s, If)] == [True]
    assert "if at line 4 predicated" in program.notes
    large = If(P, tuple(Op(ACC, "mul", (ACC, ACC), 5) for _ in range(9)), (), 4)
    assert [s.predicated for s in walk(better(Load((ACC,), DATA, I, 2), Op(P, "lt", (I, N), 3), large).body) if isinstance(s, If)] == [False]


def test_if_with_a_barrier_or_at_the_very_end_keeps_its_branch() -> None:
    body = better(Op(P, "lt", (I, N), 3), If(P, (Barrier("cta"),), (), 4)).body
    assert [s.predicated for s in walk(body) if isinstance(s, If)] == [False]
    program = SimtProgram("t", (), (Param(N, 2, "value"),), (OUT,), (*FIRST, Op(P, "lt", (I, N), 3), If(P, (LAST,), (), 4)), 100)
    done = optimise(program, LaunchFacts(Geometry((1, 1, 1), (64, 1, 1)), {(2, "value"): 9}))
    assert [s.predicated for s in walk(done.body) if isinstance(s, If)] == [False]


def test_two_sides_that_only_choose_a_value_are_a_selection() -> None:
    sides = If(P, (Op(ACC, "mov", (X,), 5),), (Op(ACC, "mov", (Imm(0.0, "float32"),), 6),), 4)
    program = better(Load((X,), DATA, I, 2), Op(P, "gt", (X, Imm(0.0, "float32")), 3), sides)
    assert not contains(program.body, If)
    assert [s.op for s in walk(program.body) if isinstance(s, Op) and s.dst.dtype == "float32"] == ["select"]


def test_invariant_arithmetic_moves_out_of_the_loop() -> None:
    at = Reg(20, "int64")
    body = (Op(Reg(21, "int64"), "mul", (I, N), 5), Op(at, "add", (Reg(21, "int64"), K), 5), Load((X,), DATA, at, 5), Op(ACC, "add", (ACC, X), 6))
    program = better(loop(body, N, 1))
    (inner,) = (s for s in program.body if isinstance(s, For))
    assert [s.op for s in inner.body if isinstance(s, Op)] == ["add", "add"]


def test_a_large_register_tile_is_rewritten_in_time() -> None:
    """64 sums of 8 products each, as in a matrix product: 512 multiply-adds after unrolling."""
    i, j, k = (Reg(r, "int64") for r in (30, 31, 32))
    acc = Buffer(4, "acc", "local", "float32", (64,), line=1)
    at, a, b = Reg(33, "int64"), Reg(34, "float32"), Reg(35, "float32")
    where = (Op(Reg(36, "int64"), "mul", (i, imm(8)), 5), Op(at, "add", (Reg(36, "int64"), j), 5))
    product = (Load((a,), TILE, i, 5), Load((b,), TILE, j, 5), Load((X,), acc, at, 5), Op(Y, "fma", (a, b, X), 5), Store(acc, at, (Y,), 5))

    def nested(body: tuple[Stmt, ...], *counters: Reg) -> tuple[Stmt, ...]:
        for counter in counters:
            body = (For(counter, imm(0), imm(8), imm(1), body, 4, 0),)
        return body

    start = nested((*where, Store(acc, at, (Imm(0.0, "float32"),), 3)), j, i)
    body = (*FIRST, *start, loop(nested((*where, *product), j, i, k), N, 1), *nested((*where, Load((X,), acc, at, 8), Store(OUT, at, (X,), 8)), j, i))
    program = SimtProgram("t", (), (Param(N, 2, "value"),), (OUT, TILE, acc), body, 100)
    begin = time.process_time()
    done = optimise(program, LaunchFacts(Geometry((1, 1, 1), (64, 1, 1)), {(2, "value"): 9}))
    assert sum(isinstance(s, Op) and s.op == "fma" for s in walk(done.body)) == 512
    assert count(done.body) < 900
    assert time.process_time() - begin < 2.0
