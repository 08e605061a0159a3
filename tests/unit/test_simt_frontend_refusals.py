"""What kernels may not contain: each case is refused with its line, the line's text, and what to write instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.cuda import float32
from gpusim.errors import GpusimError
from gpusim.frontend.translate import translate
from gpusim.ir.simt.nodes import Arg

N = 4
LIST = [1, 2, 3]
X, Y = Arg("x", "float32", 1), Arg("y", "float32", 2)


class Mutable:
    size = 3


MUTABLE = Mutable()


def plain_function(x):
    return x


@cuda.jit
def another_kernel(x):
    x[0] = 1


@cuda.jit(device=True)
def endless(x):
    return endless(x) + 1


@cuda.jit(device=True)
def broken(x):
    y = x + 1
    return y + [1, 2]


# Each function's bad line is marked. The comment behind the mark: words of the message; words of the hint.
def a_list(x):
    a = [1, 2, 3]  # BAD: a list; tuple
    x[0] = a[0]


def a_dict(x):
    a = {1: 2}  # BAD: a dict; array
    x[0] = a[1]


def a_comprehension(x):
    x[0] = sum([v + 1 for v in (1, 2)])  # BAD: sum|a comprehension; for loop


def a_lambda(x):
    f = lambda v: v  # noqa: E731  # BAD: a lambda; @cuda.jit(device=True)
    x[0] = f(1)


def a_string(x):
    s = "a"
    x[0] = s + "b"  # BAD: strings; print


def a_format(x):
    print(f"{x[0]}")  # BAD: f-string; several arguments


def a_try(x):
    try:  # BAD: try; if
        x[0] = 1
    except ValueError:
        pass


def a_with(x):
    with x:  # BAD: with; without
        pass


def a_class(x):
    class A:  # BAD: a class; arrays
        pass


def an_import(x):
    import math  # BAD: an import; outside

    x[0] = math.pi


def a_deleted_element(x):
    del x[0]  # BAD: del; variables


def a_slice(x):
    x[0] = x[1:3:0][0]  # BAD: step of the slice is 0;


def a_slice_target(x):
    x[1:3] += 1  # BAD: slice; loop


def a_complex(x):
    x[0] = 1j  # BAD: complex number; z.real


def a_value(x):
    return x[0]  # BAD: returns a value; array argument


def an_unknown_name(x):
    x[0] = nowhere  # noqa: F821  # BAD: 'nowhere' is not defined; argument


def a_late_variable(x):
    x[0] = late  # noqa: F821  # BAD: 'late' has no value; every path
    late = 1  # noqa: F841


def a_plain_call(x):
    x[0] = plain_function(1)  # BAD: plain_function; @cuda.jit(device=True)


def a_kernel_call(x):
    another_kernel(x)  # BAD: is a kernel; device=True


def a_recursion(x):
    x[0] = endless(1)


def a_method(x):
    x[0] = x.sum()  # BAD: no attribute 'sum'; elements


def a_mutable(x):
    x[0] = MUTABLE.size  # BAD: may change; constant


def a_float_index(x):
    x[1 / 2] = 0  # BAD: index is a float64; //


def too_many_indices(x):
    x[1, 2] = 0  # BAD: 2 indices


def a_row(x):
    x[0] = cuda.const.array_like(LIST)[0]  # BAD: NumPy array; outside


def a_bit_float(x):
    x[0] = x[1] & 1  # BAD: & of float32; int32()


def a_dynamic_shape(x):
    s = cuda.shared.array(x.size, float32)  # BAD: not known when; constants
    s[0] = 1


def a_bad_type(x):
    s = cuda.shared.array(4, "complex64")  # BAD: no element type; float32
    s[0] = 1


def an_array_sum(x):
    x[0] = x + x  # BAD: whole array; Index it


def an_array_condition(x):
    if x:  # BAD: neither true nor false; element
        x[0] = 1


def mixed_variable(x):
    i = cuda.grid(1)
    if i > 2:
        v = (1, 2)
    else:
        v = 1
    x[i] = v  # BAD: tuple of 2 (line|int64 (line; two variables


def a_break_of_tuple_loop(x):
    for _ in (x, 1):  # BAD: needs a constant index; if
        if x[0] > 0:
            break


def a_float_range(x):
    for k in range(x[0]):  # BAD: float32; int()
        x[k] = 1


def a_zero_step(x):
    for k in range(0, 4, 0):  # BAD: step of the range is 0
        x[k] = 1


def a_keyword(x):
    x[0] = max(1, 2, key=None)  # BAD: max


def wrong_count(x):
    cuda.atomic.add(x, 0)  # BAD: takes ary, idx, val


def wide_vector(x):
    x[0] = cuda.load8(x, 0)[0]  # BAD: 32 bytes; narrower


def constant_write(x):
    c = cuda.const.array_like(TABLE)
    c[0] = x[0]  # BAD: constant array 'c' is written; argument


TABLE = np.ones(4, np.float32)

CASES = [
    f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and getattr(f, "__code__", None) and f.__code__.co_varnames[:1] == ("x",)
]
CASES = [f for f in CASES if f not in (plain_function, a_recursion)]


def refusal(function: Any, args: tuple[Arg, ...] = (X,)) -> GpusimError:
    with pytest.raises(GpusimError) as caught:
        translate(function, args)
    return caught.value


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_refused_with_line_and_remedy(function: Any) -> None:
    import inspect

    lines, first = inspect.getsourcelines(function)
    ((number, text),) = [(first + k, line) for k, line in enumerate(lines) if "# BAD: " in line]
    what, _, hint = text.split("# BAD: ")[1].strip().partition("; ")
    error = refusal(function)
    assert error.where == f"{__file__}:{number}"
    assert text.strip() in error.what
    assert any(w in error.what.split("\n")[0] for w in what.split("|")) or all(w in error.what for w in what.split("|")), error.what
    assert hint in error.hint


def test_recursion_is_refused() -> None:
    assert "calls itself" in refusal(a_recursion).what


@cuda.jit
def uses_broken(x):
    x[0] = broken(x[1])


def test_error_in_a_device_function_has_its_line() -> None:
    error = refusal(uses_broken)
    assert "return y + [1, 2]" in error.what and "a list" in error.what


def test_number_of_arguments() -> None:
    assert "takes 1 arguments (x); 2 given" in refusal(a_list, (X, X)).what


def test_types_of_arguments() -> None:
    assert "complex64" in refusal(a_list, (Arg("x", "complex64", 1),)).what
    assert "9-dimensional" in refusal(a_list, (Arg("x", "float32", 9),)).what


def test_source_that_cannot_be_read() -> None:
    world: dict[str, Any] = {"cuda": cuda}
    exec("def k(x):\n    x[0] = 1\n", world)
    error = refusal(world["k"])
    assert "not available" in error.what and "notebook" in error.hint


def test_notebook_cells_work() -> None:
    import linecache

    text = "def k(x):\n    x[0] = 1\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    world: dict[str, Any] = {}
    exec(compile(text, name, "exec"), world)
    program = translate(world["k"], (X,))
    assert program.file == name and program.source == ("def k(x):", "    x[0] = 1")


def test_intrinsics_outside_a_kernel() -> None:
    with pytest.raises(GpusimError, match="cuda.syncthreads was called outside a kernel"):
        cuda.syncthreads()
    with pytest.raises(GpusimError, match="cuda.atomic.add was called outside"):
        cuda.atomic.add(None, 0, 1)
