"""The checker: every rule of the table has a program that breaks it, and good programs pass."""

import time
from dataclasses import replace

import pytest

from gpusim.errors import GpusimError
from gpusim.ir.check import check, static
from gpusim.ir.expr import Const, Name
from gpusim.ir.ops import Atomic, Box, Dot, If, Index, Let, Load, Loop, Scan, Store
from gpusim.ir.parse import parse
from gpusim.ir.program import Program, Tensor
from gpusim.ir.rules import PROGRAM_RULES, RULES, TENSOR_RULES
from gpusim.ir.types import DTYPES
from gpusim.kernels.gemm import gemm

HEAD = """program('p', grid=(4,), warps=1, flops=0)
a: bf16[64, 32] = tensor('in', pitch=32)
c: fp32[64, 32] = tensor('out', pitch=32)
"""
LOAD = "t = load(a[pid0 * 16 :+ 16, 0 :+ 32])\n"

AT = "i = index(int32[4], pid0 * 4, steps=(1,))\n"

#: rule -> the body of a program that breaks it (after HEAD), and words of the message
BROKEN = {
    "assigned once": ("x = 1\nx = 2\n", "'x' is defined twice"),
    "scalars defined": ("x = y + 1\n", "'y' is not a scalar"),
    "tiles defined": ("t = exp(u)\n", "'u' is not a tile"),
    "tensor known": ("t = load(b[0 :+ 1, 0 :+ 1])\n", "no tensor 'b'"),
    "box rank": ("t = load(a[0 :+ 1])\n", "the box has 1 dimension(s) and 'a' has 2"),
    "box extent": ("t = load(a[0 :+ 0, 0 :+ 1])\n", "(0, 1) are not positive"),
    "tile extent": ("t = full(fp32[4, -1], 0.0)\n", "(4, -1) are not positive"),
    "store to an output": (LOAD + "store(a[pid0 * 16 :+ 16, 0 :+ 32], t)\n", "'a' is an input"),
    "store shape": (LOAD + "u = cast(t, fp32)\nstore(c[0 :+ 32, 0 :+ 32], u)\n", "'u' is fp32[16, 32] and the box is [32, 32]"),
    "store dtype": (LOAD + "store(c[pid0 * 16 :+ 16, 0 :+ 32], t)\n", "'t' is bf16[16, 32] and 'c' holds fp32"),
    "stages": ("for k in range(0, 2, stages=0):\n    pass\n", "stages = 0"),
    "accumulator": (LOAD + "t += dot(t, t)\n", "'t' is not made by full"),
    "product shape": (LOAD + "u = full(fp32[16, 16], 0.0)\nu += dot(t, t)\n", "[16, 16] += [16, 32] x [16, 32]"),
    "product dtype": (
        "v = load(a[0 :+ 32, 0 :+ 32])\nw = cast(v, fp16)\nu = full(fp32[32, 32], 0.0)\nu += dot(v, w)\n",
        "the operands are bf16 and fp16",
    ),
    "accumulator dtype": ("v = load(a[0 :+ 32, 0 :+ 32])\nu = full(bf16[32, 32], 0.0)\nu += dot(v, v)\n", "products of bf16 do not accumulate in bf16"),
    "broadcast": (LOAD + "u = full(bf16[3, 32], 0.0)\nv = add(t, u)\n", "(16, 32), (3, 32) do not broadcast"),
    "argument dtypes": (LOAD + "u = full(fp32[16, 32], 0.0)\nv = add(t, u)\n", "here are (bf16[16, 32], fp32[16, 32])"),
    "reduction axis": (LOAD + "u = sum(t, axis=2)\n", "has no axis 2"),
    "reduction dtype": (LOAD + "u = lt(t, t)\nv = sum(u, axis=0)\n", "'u' holds bool"),
    "box axes": ("t = load(a[0 :+ 8, 0 :+ 8], axes=(1,))\n", "axes (1,) and limits () do not fit (8, 8)"),
    "edges": (LOAD + "store(c[0 :+ 16, 0 :+ 32], t, masked=True, edges=('wrap', ''))\n", "a store has no edges"),
    "index": (LOAD + "u = gather(a, t)\n", "the index 't' is bf16[16, 32]"),
    "mask": (AT + "u = gather(a, i, mask=i)\n", "the mask 'i' is int32[4], not bool"),
    "access shape": (AT + "u = full(bool[8], 1)\nv = gather(a, i, mask=u)\n", "differ in shape"),
    "write to an output": (AT + "t = gather(a, i)\nscatter(a, i, t)\n", "'a' is an input"),
    "write dtype": (AT + "t = gather(a, i)\nscatter(c, i, t)\n", "'t' is bf16[4] and 'c' holds fp32"),
    "compare": (AT + "t = gather(c, i)\nu = atomic_add(c, i, t, compare=t)\n", "a comparison belongs to cas"),
    "one variable": (AT + "t = gather(a, i)\nupdate(t, i)\n", "'t' is bf16[4] and 'i' is int32[4]"),
    "index dtype": ("i = index(fp32[4], 0, steps=(1,))\n", "integers, not fp32"),
    "index steps": ("i = index(int32[4, 2], 0, steps=(1,))\n", "1 steps for 2 axes"),
    "one element": (AT + "n = read(i)\n", "a scalar is read from shape ()"),
    "elements stay": (AT + "t = reshape(i, (3, 2))\n", "does not have the elements of (3, 2)"),
    "broadcast to": (AT + "t = broadcast(i, (4, 2))\n", "does not broadcast to (4, 2)"),
    "order of axes": (LOAD + "u = transpose(t, (0, 0))\n", "(0, 0) is no order"),
    "joined": (LOAD + AT + "u = join(t, i)\n", "Both have one type"),
    "axis": (AT + "t = scan_sum(i, 1)\n", "has no axis 1"),
    "part": (AT + "t = part(i, 0, 4)\n", "axis 0 of 'i' has no index 4"),
    "bins": (LOAD + "u = histogram(t, 8)\n", "make no histogram"),
    "same bits": (AT + "t = cast(i, fp64, bits=True)\n", "is not as wide as fp64"),
    "condition": (AT + "check(i, 'all')\n", "'i' is int32[4], not bool"),
    "fold": (AT + "with fold((i,), axis=0, left=(p,), right=(q, r), results=(p,)) as (t,):\n    pass\n", "as many results"),
}
#: what the parser refuses already, so that it has to be built
BUILT = {
    "name": ((Let("for", Const(1)),), "'for' is not a name"),
    "function known": ("exp", "frobnicate", "'frobnicate' is no function"),
    "argument count": ("exp", "add", "add takes 2 tile(s), here are 1"),
    "reduction known": ("sum", "median", "'median' is no reduction"),
    "atomic known": ((Index("i", (4,), DTYPES["int32"], Const(0), (Const(1),)), Atomic("t", "nand", "c", "i", "i")), "'nand' is no atomic"),
    "scan known": ((Index("i", (4,), DTYPES["int32"], Const(0), (Const(1),)), Scan("t", "xor", "i", 0)), "'xor' is no scan"),
}


def body_of(text: str) -> Program:
    return parse(HEAD + text)


def refused(program: Program) -> str:
    with pytest.raises(GpusimError) as caught:
        check(program)
    return str(caught.value)


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_rule_is_told(rule: str) -> None:
    text, message = BROKEN[rule]
    assert message in refused(body_of(text))


@pytest.mark.parametrize("rule", ["function known", "argument count", "reduction known"])
def test_a_function_that_is_not_known_is_told(rule: str) -> None:
    fine, wrong, message = BUILT[rule]
    call = f"u = {fine}(t{', axis=1' if fine == 'sum' else ''})\n"
    program = body_of(LOAD + call)
    check(program)
    assert message in refused(replace(program, body=(program.body[0], replace(program.body[1], fn=wrong))))


@pytest.mark.parametrize("rule", ["atomic known", "scan known"])
def test_a_way_to_accumulate_that_is_not_known_is_told(rule: str) -> None:
    body, message = BUILT[rule]
    c = Tensor("c", DTYPES["int32"], (64,), 64, "inout")
    assert message in refused(Program("p", (c,), (1,), body, 1))


def test_a_name_that_is_no_name_is_told() -> None:
    assert "'for' is not a name" in refused(Program("p", (), (1,), (Let("for", Const(1)),), 1))


def test_every_rule_has_a_program_that_breaks_it() -> None:
    assert {*BROKEN, *BUILT} == {rule.name for rule in RULES}


HEADERS = {
    "grid": ("grid=(4,)", "grid=(4, 0)", "grid (4, 0)"),
    "warps": ("warps=1", "warps=0", "0 warps"),
    "tensors unique": ("c: fp32", "a: fp32", "same name"),
    "tensor shape": ("bf16[64, 32]", "bf16[0, 32]", "(0, 32)"),
    "role": ("'out'", "'output'", "'output'"),
    "pitch": ("'in', pitch=32", "'in', pitch=31", "pitch 31"),
    "bound": ("'in', pitch=32", "'in', pitch=32, bound=33", "bound 33"),
}


@pytest.mark.parametrize("rule", HEADERS)
def test_a_broken_header_is_told(rule: str) -> None:
    old, new, message = HEADERS[rule]
    assert old in HEAD
    assert message in refused(parse(HEAD.replace(old, new)))


def test_a_tensor_name_that_is_no_name_is_told() -> None:
    program = body_of("")
    assert "'a-b' is not a name" in refused(replace(program, tensors=(replace(program.tensors[0], name="a-b"),)))


def test_every_header_rule_has_a_program_that_breaks_it() -> None:
    assert {*HEADERS, "tensor name"} == {rule.name for rule in (*PROGRAM_RULES, *TENSOR_RULES)}


def test_names_end_with_the_body_that_defines_them() -> None:
    assert "'t' is not a tile" in refused(body_of("for k in range(0, 2, stages=1):\n    " + LOAD + "u = exp(t)\n"))
    assert "'x' is not a scalar" in refused(body_of("if pid0 < 2:\n    x = 1\ny = x\n"))
    assert "'k' is not a scalar" in refused(body_of("for k in range(0, 2, stages=1):\n    pass\ny = k\n"))


def test_a_loop_variable_is_fresh() -> None:
    assert "'x' is defined twice" in refused(body_of("x = 1\nfor x in range(0, 2, stages=1):\n    pass\n"))
    assert "'pid0' is defined twice" in refused(body_of("for pid0 in range(0, 2, stages=1):\n    pass\n"))


def test_the_message_names_program_op_and_source_line() -> None:
    message = refused(body_of("x = y + 1  # line 12\n"))
    assert message.startswith("p: x = y + 1 (line 12): ")


def test_a_box_outside_names_block_tensor_and_index() -> None:
    message = refused(body_of("t = load(a[pid0 * 16 + 1 :+ 16, 0 :+ 32])\n"))
    assert "block 3 touches index 64 of dimension 0 of 'a', which has 64 there" in message
    message = refused(body_of("t = load(a[0 :+ 16, pid0 - 1 :+ 1])\n"))
    assert "block 0 touches index -1 of dimension 1 of 'a'" in message


def test_a_box_outside_in_the_last_iteration_only_is_found() -> None:
    loop = "for k in range(0, {}, stages=1):\n    t = load(a[k * 16 :+ 16, 0 :+ 32])\n"
    check(body_of(loop.format(4)))
    assert "touches index 64" in refused(body_of(loop.format(5)))


def test_a_box_outside_in_the_middle_of_a_loop_is_found() -> None:
    loop = "for k in range(0, 8, stages=1):\n    x = k % 5\n    t = load(a[x * {} :+ 16, 0 :+ 32])\n"
    check(body_of(loop.format(12)))
    assert "touches index 64" in refused(body_of(loop.format(13)))


def test_a_loop_whose_inner_bounds_vary_is_walked_in_full() -> None:
    text = "for k in range(0, 10, stages=1):\n    for j in range(10 - k, 5, stages=1):\n        t = load(a[{} :+ 1, 0 :+ 32])\n"
    check(body_of(text.format("k * 6 + j")))
    assert "touches index -1" in refused(body_of(text.format("60 - k * 10 + j * 5")))


def test_a_branch_limits_which_blocks_count() -> None:
    text = "if pid0 < 3:\n    t = load(a[pid0 * 20 :+ 20, 0 :+ 32])\n"
    check(body_of(text))
    assert "block 3" in refused(body_of(text.replace("pid0 < 3", "pid0 < 4")))


def test_a_loop_that_never_runs_touches_nothing() -> None:
    check(body_of("for k in range(0, pid0 - 3, stages=1):\n    t = load(a[1000 :+ 1, 0 :+ 32])\n"))


def test_masked_boxes_may_leave_the_tensor() -> None:
    check(body_of("t = load(a[pid0 * 160 - 7 :+ 16, 5 :+ 32], masked=True, other=0.0)\n"))


def test_two_blocks_that_store_to_one_place_are_told() -> None:
    text = "t = full(fp32[16, 32], 1.0)\nstore(c[{} * 16 :+ 16, 0 :+ 32], t)\n"
    check(body_of(text.format("pid0")))
    assert "blocks 2 and 3 write the same box of 'c'" in refused(body_of(text.format("min(pid0, 2)")))
    masked = "t = full(fp32[16, 32], 1.0)\nstore(c[(pid0 % 2 + 4) * 16 :+ 16, 0 :+ 32], t, masked=True)\n"
    check(body_of(masked))


def test_division_by_zero_is_told() -> None:
    for text in ("x = 5 // pid0\n", "x = 5 % 0\n", "for k in range(0, 3, stages=1):\n    x = pid0 % k\n"):
        assert "divides by zero" in refused(body_of(text))
    check(body_of("if 0 < pid0:\n    x = 5 // pid0\n"))


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "tf32", "fp32", "fp64"])
@pytest.mark.parametrize("size", [(65, 70, 33), (128, 64, 96), (1, 1, 1)])
def test_gemm_passes(size: tuple[int, int, int], dtype: str) -> None:
    program = gemm(*size, tile=(32, 32, 32), dtype=dtype)
    check(program)
    assert static(program)


def test_a_hundred_thousand_blocks_are_checked_at_once() -> None:
    program = gemm(5136, 5136, 512, tile=(16, 16, 16))
    assert program.ctas > 100_000
    start = time.perf_counter()
    check(program)
    assert time.perf_counter() - start < 0.25


def test_static_asks_where_indices_come_from() -> None:
    box = Box("a", (Const(0), Const(0)), (1, 1))
    load = Load("t", box)
    fine = (Let("x", Name("pid0")), Loop("k", Const(0), Name("x"), (load, Let("y", Name("k")))))
    assert static(Program("p", (), (4,), fine, 1))
    loaded = Name("t")
    for op in (Let("x", loaded), Loop("k", Const(0), loaded, ()), If(loaded, ()), Load("u", replace(box, origin=(loaded, Const(0))))):
        assert not static(Program("p", (), (4,), (load, op), 1))
    nested = (load, Loop("k", Const(0), Const(3), (Store(replace(box, origin=(loaded, Const(0))), "t"), Dot("t", "t", "t"))))
    assert not static(Program("p", (), (4,), nested, 1))
