# mypy: allow-untyped-defs
"""`match` on an integer: what Python makes of it, lane by lane, and how many comparisons a switch of many cases takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim import cuda
from gpusim.cuda import int32
from gpusim.errors import GpusimError
from gpusim.frontend.translate import translate
from gpusim.ir.simt.nodes import Arg, If, Op, SimtProgram
from gpusim.ir.simt.walk import walk


@cuda.jit(device=True)
def few(x):
    y = 7
    match x:
        case 1:
            y = 10
        case -2 | 5:
            y = 20
        case 3 | 9 if y > x:
            y = 30
    return y


@cuda.jit(device=True)
def dense(x):
    match x:
        case 4:
            y = 44
        case 0:
            y = 1
        case 1:
            y = 11
        case 2:
            y = 22
        case 3:
            y = 33
        case 5:
            y = 55
        case 6:
            y = 66
        case _:
            y = -1
    return y


@cuda.jit(device=True)
def gaps(x):
    match x + 1:
        case -7:
            return 1
        case 12:
            return 2
        case 3:
            return 3
        case 0:
            return 4
        case 9:
            return 5
        case 3:  # never: the first one wins
            return 6
    return x


@cuda.jit(device=True)
def named(x):
    match x:
        case 0:
            return 100
        case other:
            match other & 3:
                case 1:
                    return other * 2
                case 2 if other > 5:
                    return other * 3
                case _ if other > 8:
                    return 9
                case _:
                    return -other


FORMS: list[Callable[..., Any]] = [few, dense, gaps, named]


def applied(choose: Any) -> Any:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = choose(x[i])

    return kernel


@pytest.mark.parametrize("choose", FORMS)
def test_every_lane_takes_the_case_that_python_takes(choose: Any) -> None:
    x = np.arange(-16, 16, dtype=np.int32)
    out = np.zeros_like(x)
    gs.run(applied(choose), "h200", grid=1, block=32, args=(x, out))
    expected = [choose.py_func(int(v)) for v in x]
    assert out.tolist() == expected and len(set(expected)) >= 4


def test_in_a_loop_a_case_may_leave_it() -> None:
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        total = int32(0)
        for k in range(10):
            match (x[i] + k) % 8:
                case 0:
                    continue
                case 5:
                    break
                case 6 | 7:
                    total += 100
                case _:
                    total += 1
        out[i] = total

    x, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    gs.run(kernel, "h200", grid=1, block=32, args=(x, out))

    def expected(start: int) -> int:
        total = 0
        for k in range(10):
            case = (start + k) % 8
            if case == 5:
                break
            total += 0 if case == 0 else 100 if case in (6, 7) else 1
        return total

    assert out.tolist() == [expected(v) for v in range(32)]


def program(choose: Any) -> SimtProgram:
    return translate(applied(choose), (Arg("x", "int32", 1), Arg("out", "int32", 1)))


def depth(body: Any) -> int:
    """Most ifs inside each other."""
    return max((1 + max(depth(s.then), depth(s.orelse)) for s in body if isinstance(s, If)), default=0)


def test_many_cases_are_halved() -> None:
    assert depth(program(dense).body) <= 5
    compares = [s.op for s in walk(program(dense).body) if isinstance(s, Op) and s.op in ("eq", "gt", "lt", "ge", "le")]
    assert compares.count("gt") >= 3 and compares.count("eq") < 7


def test_the_subject_is_computed_once() -> None:
    adds = [s for s in walk(program(gaps).body) if isinstance(s, Op) and s.op == "add" and 1 in [getattr(a, "value", None) for a in s.args]]
    assert len(adds) == 1


def test_a_known_subject_leaves_one_case() -> None:
    @cuda.jit
    def kernel(out):
        match 3:
            case 2:
                out[0] = 2
            case 3:
                out[0] = 3

    assert depth(translate(kernel, (Arg("out", "int32", 1),)).body) == 0


def test_other_cases_and_subjects_are_refused_with_their_line() -> None:
    @cuda.jit
    def text(x):
        match x[0]:
            case "a":
                x[0] = 1

    @cuda.jit
    def real(x):
        match x[0] * 0.5:
            case 1:
                x[0] = 1

    for kernel, words in ((text, "a match with such a case"), (real, "must be an integer")):
        with pytest.raises(GpusimError, match=words) as raised:
            translate(kernel, (Arg("x", "int32", 1),))
        assert "match x[0]" in str(raised.value) and __file__ in str(raised.value)
