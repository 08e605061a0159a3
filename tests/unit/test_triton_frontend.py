"""What the Triton front end makes of single forms: the program's text, and the words of a refusal."""

from typing import Any

import numpy as np
import pytest

import gpusim.triton as triton
import gpusim.triton.language as tl
from gpusim.errors import GpusimError
from gpusim.ir.check import check
from gpusim.ir.parse import parse
from gpusim.ir.show import show

X = np.zeros((64, 128), np.float32)


def lines(kernel: Any, *args: Any, grid: Any = (4,), **kwargs: Any) -> list[str]:
    """The ops of the program, without their source lines; the program passes the checker, and its text can be read back."""
    program = kernel.program(*args, grid=grid, **kwargs)
    check(program)
    assert parse(show(program)) == program
    text = show(program).split("\n\n")[1].splitlines()
    return [line.split("  #")[0] for line in text]


@triton.jit
def strided(x, y, pitch, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x += row * pitch
    for k in range(0, 3):  # noqa: B007 - the loop's name is looked at
        tl.store(y + at, tl.load(x + at))
        x += 4 * pitch


def test_a_pointer_that_moves_evenly_is_a_box_of_the_loop() -> None:
    text = lines(strided, X, np.zeros(128, np.float32), 128, 128)
    assert text[0] == "for k in range(0, 3, stages=1):"
    assert text[1] == "    t0 = load(x[pid0 + k * 4 :+ 1, 0 :+ 128], axes=(1,))"
    assert text[2] == "    store(y[0 :+ 128], t0)"


@triton.jit
def columns(x, y, pitch, rows, ROWS: tl.constexpr):
    at = tl.arange(0, ROWS)
    tl.store(y + at, tl.load(x + at * pitch + tl.program_id(0), mask=at < rows, other=1.0), mask=at < rows)


def test_a_column_is_a_box_with_one_column() -> None:
    text = lines(columns, X, np.zeros(64, np.float32), 128, 50, 64, grid=(1,))
    assert text[0] == "t0 = load(x[0 :+ 64, pid0 :+ 1], masked=True, axes=(0,), other=1.0)"
    assert text[1] == "store(y[0 :+ 64], t0, masked=True)"


@triton.jit
def gathered(x, index, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + at, mask=at < n, other=0)
    tl.store(y + at, tl.load(x + where, mask=at < n), mask=at < n)


def test_addresses_from_data_stay_addresses() -> None:
    x, index, y = np.arange(100, dtype=np.float32), np.arange(50, dtype=np.int32)[::-1].copy(), np.zeros(50, np.float32)
    gathered[(2,)](x, index, y, 50, BLOCK=32)
    assert (y == x[index]).all()
    text = lines(gathered, x, index, y, 50, grid=(2,), BLOCK=32)
    assert any(" = gather(x, t0, mask=" in line for line in text)


def test_an_address_outside_is_told_with_block_and_element() -> None:
    index = np.full(50, 100, np.int32)
    with pytest.raises(GpusimError, match="block 0 touches element 100 of 'x', which has 100"):
        gathered[(2,)](np.zeros(100, np.float32), index, np.zeros(50, np.float32), 50, BLOCK=32)


@triton.jit
def wrapped(x, y, n, BLOCK: tl.constexpr):
    at = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    tl.store(y + at, tl.load(x + at))


def test_a_remainder_goes_where_the_grid_proves_that_it_changes_nothing() -> None:
    x = np.zeros(128, np.float32)
    assert lines(wrapped, x, x.copy(), 128, 32) == ["t0 = load(x[pid0 * 32 :+ 32])", "store(y[pid0 * 32 :+ 32], t0)"]
    assert any("remainder" in line for line in lines(wrapped, x, x.copy(), 40, 32))


def test_indices_that_wrap_at_the_end_are_a_box_with_an_edge() -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    text = lines(wrapped, x, y, 100, 32)
    assert text[0] == "t0 = load(x[pid0 * 32 :+ 32], masked=True, edges=('wrap',), other=0.0)"
    assert text[-1].startswith("scatter(y, ")
    wrapped[(4,)](x, y, 100, 32)
    assert (y[:100] == x[:100]).all() and not y[100:].any()


@triton.jit
def branching(x, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid == 0:
        return
    at = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    scale = 2.0
    if pid % 2 == 1:
        value = value + 1
        scale = 3.0
    tl.store(x + at, value * scale)


def test_branches_join_what_they_change() -> None:
    x = np.arange(64, dtype=np.float32)
    branching[(4,)](x, 64, BLOCK=16)
    start = np.arange(64, dtype=np.float32)
    want = np.where(start < 16, start, np.where(start // 16 % 2 == 1, (start + 1) * 3, start * 2))
    assert (x == want).all()


@triton.jit
def counted(x, out):
    steps = 0
    value = tl.load(x)
    while value > 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    tl.store(out, steps)


def test_loops_without_bounds_depend_on_data() -> None:
    out = np.zeros(1, np.int32)
    counted[(1,)](np.array([27], np.int32), out)
    assert out[0] == 111


@triton.jit
def pair_max(a_value, a_index, b_value, b_index):
    larger = a_value >= b_value
    return tl.where(larger, a_value, b_value), tl.where(larger, a_index, b_index)


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def folded(x, values, places, sums, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    v = tl.load(x + at)
    best, where = tl.reduce((v, at), 0, pair_max)
    tl.store(values, best)
    tl.store(places, where)
    tl.store(sums + at, tl.associative_scan(v, 0, plus, reverse=True))


def test_functions_of_the_user_combine_tiles() -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    values, places, sums = np.zeros(1, np.float32), np.zeros(1, np.int32), np.zeros(64, np.float32)
    folded[(1,)](x, values, places, sums, 64)
    assert values[0] == x.max() and places[0] == x.argmax()
    np.testing.assert_allclose(sums, np.cumsum(x[::-1])[::-1], rtol=1e-5, atol=1e-5)


@triton.jit
def shaped(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS * COLUMNS)
    tile = tl.reshape(tl.load(x + at), (ROWS, COLUMNS))
    left, right = tl.split(tl.reshape(tl.trans(tile), (COLUMNS, ROWS // 2, 2)))
    both = tl.interleave(right, left)
    top = tl.flip(tl.sort(tl.ravel(both)))
    tl.store(out + at, tl.where(tl.cumsum(top, 0) > 0, top, 0.0))


def test_shapes() -> None:
    x = np.random.default_rng(1).random(32).astype(np.float32)
    out = np.zeros(32, np.float32)
    shaped[(1,)](x, out, 8, 4)
    assert (out == np.sort(x)[::-1]).all()


@triton.jit
def typed(x, out, n: tl.constexpr):
    at = tl.arange(0, n)
    value = tl.load(x + at)
    tl.static_assert(value.dtype == tl.float16)
    tl.static_assert(x.dtype.element_ty == tl.float16 and value.shape[0] == n)
    half = value * 2 + 1
    tl.static_assert(half.dtype == tl.float16)
    tl.static_assert((half / 3).dtype == tl.float32)
    tl.static_assert((at + 1).dtype == tl.int32 and (at > 3).dtype == tl.int1)
    bits = half.to(tl.int16, bitcast=True)
    tl.store(out + at, bits)


def test_types_meet_as_the_language_says() -> None:
    x, out = np.arange(16, dtype=np.float16), np.zeros(16, np.int16)
    typed[(1,)](x, out, 16)
    assert (out.view(np.float16) == x * 2 + 1).all()


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def heuristic(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, 1.0 if EVEN else 2.0, mask=at < n)


def test_heuristics_give_arguments() -> None:
    for n, want in ((64, 1), (50, 2)):
        x = np.zeros(n, np.float32)
        heuristic[(triton.cdiv(n, 32),)](x, n, BLOCK=32)
        assert (x == want).all()


@triton.jit
def counters(count, hist, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=-1)
    tl.atomic_add(hist + value, 1, mask=at < n)
    mine = tl.atomic_add(count, 1)
    tl.device_assert(mine < 4)


def test_atomics_return_and_add() -> None:
    x = np.random.default_rng(2).integers(0, 8, 100).astype(np.int32)
    count, hist = np.zeros(1, np.int32), np.zeros(8, np.int32)
    counters[(4,)](count, hist, x, 100, BLOCK=32)
    assert (hist == np.bincount(x, minlength=8)).all() and count[0] == 4


def refused(kernel: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(GpusimError) as caught:
        kernel[(1,)](*args, **kwargs)
    return str(caught.value)


@triton.jit
def odd_range(x):
    tl.store(x + tl.arange(0, 12), 0.0)


@triton.jit
def with_break(x):
    for i in range(4):
        if i == 2:
            break


@triton.jit
def changing(x):
    acc = tl.zeros((16,), tl.float32)
    for _ in range(4):
        acc = acc.to(tl.float16)
    tl.store(x + tl.arange(0, 16), acc)


@triton.jit
def late(x):
    for i in range(4):
        value = tl.load(x + i)
    tl.store(x, value)


@triton.jit
def listed(x):
    y = tl.load(x + tl.arange(0, 16))
    tl.store(x, y[3])


@triton.jit
def misspelt(x):
    tl.store(x, tl.sinus(1.0))


REFUSALS = {
    "odd_range": (odd_range, "has 12 elements, which is no power of two"),
    "with_break": (with_break, "break"),
    "changing": (changing, "'acc' is fp32[16] before an iteration of this loop and fp16[16] after it"),
    "late": (late, "'value' has no value here: it is given a value in a loop only"),
    "listed": (listed, "tiles have no single elements"),
    "misspelt": (misspelt, "has no 'sinus'"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_kernels_cannot_contain_is_told_with_its_line(name: str) -> None:
    kernel, words = REFUSALS[name]
    text = refused(kernel, np.zeros(64, np.float32))
    assert words in text and "test_triton_frontend.py:" in text


def test_launches_are_told_what_is_wrong() -> None:
    x = np.zeros(64, np.float32)
    assert "missing a required argument: 'BLOCK'" in refused(heuristic.fn, x, 64, EVEN=True)
    assert "num_warps = 3" in refused(odd_range, x, num_warps=3)
    with pytest.raises(GpusimError, match="was called without a grid"):
        odd_range(x)
    fixed = x.copy()
    fixed.flags.writeable = False
    assert "it is read-only" in refused(branching, fixed, 64, 16)


def test_every_function_of_the_language_can_be_named() -> None:
    for name in tl.names():
        assert getattr(tl, name).name == name
    assert tl.float32.ir == "fp32" and tl.math.exp2.name == "exp2"
    with pytest.raises(AttributeError):
        _ = tl.nonsense


@triton.jit
def swizzled(out, ROWS: tl.constexpr, COLUMNS: tl.constexpr, GROUP: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0) // COLUMNS, tl.program_id(0) % COLUMNS, ROWS, COLUMNS, GROUP)
    tl.store(out + i * COLUMNS + j, tl.program_id(0))


def test_blocks_in_groups_of_rows() -> None:
    out = np.zeros((5, 3), np.int32)
    swizzled[(15,)](out, 5, 3, 2)
    assert out.tolist() == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11], [12, 13, 14]]
