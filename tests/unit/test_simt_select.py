"""Instruction selection: which instructions statements become, and what disappears into another."""

from __future__ import annotations

from collections import Counter

import pytest

from gpusim.ir.simt.nodes import Barrier, For, If, Reg, Stmt, Value, Warp
from gpusim.lower.simt import cfg
from gpusim.lower.simt.code import Code, Instr
from gpusim.lower.simt.mnemonics import MNEMONICS
from gpusim.lower.simt.schedule import schedule
from gpusim.lower.simt.select import select
from gpusim.lower.simt.table import _CHAINS, _CONVERT
from tests.unit.simt_select_maker import Maker, f32, i32


def counts(code: Code) -> Counter[str]:
    return Counter(row.op for block in code.blocks for row in block.instrs)


def only(maker: Maker, result: Reg, **wanted: int) -> None:
    """Of the named mnemonics, exactly so many are emitted when `result` is stored."""
    maker.store(maker.buffer(result.dtype), i32(0), result)
    found = counts(maker.select())
    assert {k: found[k.replace("_", ".")] for k in wanted} == wanted


def test_vector_add_is_what_the_compiler_emits() -> None:
    m = Maker()
    a, b, c = m.buffer(), m.buffer(), m.buffer()
    n = m.param()
    i = m.grid()
    inside: list[Stmt] = []
    total = m.op("add", m.load(a, i, inside), m.load(b, i, inside), body=inside)
    m.store(c, i, total, inside)
    m.body.append(If(m.op("lt", i, n), tuple(inside)))
    code = m.select()
    first, last = code.blocks[0].instrs, code.blocks[-1].instrs
    assert len(first) + len(last) == 20
    assert counts(code)["IMAD.WIDE"] == 3 and counts(code)["IMAD"] == 1 and first[-1].op == "EXIT"


def test_multiply_and_add_fuse_when_the_product_is_used_once() -> None:
    m = Maker()
    x, y, z = (m.param("float32") for _ in range(3))
    only(m, m.op("add", m.op("mul", x, y), z), FFMA=1, FMUL=0, FADD=0)


def test_a_product_that_is_used_twice_stays() -> None:
    m = Maker()
    x, y = m.param("float32"), m.param("float32")
    product = m.op("mul", x, y)
    only(m, m.op("mul", m.op("add", product, x), product), FMUL=2, FADD=1, FFMA=0)


def test_subtraction_and_negation_are_free_in_a_multiply_add() -> None:
    m = Maker()
    x, y, z = (m.param("float32") for _ in range(3))
    only(m, m.op("sub", m.op("neg", z), m.op("mul", x, y)), FFMA=1, FADD=0, FMUL=0)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [("mul", "add", "IMAD"), ("add", "add", "IADD3"), ("sub", "add", "IADD3"), ("and", "or", "LOP3"), ("xor", "and", "LOP3")],
)
def test_two_integer_operations_are_one_instruction(first: str, second: str, wanted: str) -> None:
    m = Maker()
    x, y, z = (m.op(f"tid.{axis}") for axis in "xyz")
    result = m.op(second, m.op(first, x, y), z)
    m.store(m.buffer("int32"), i32(0), result)
    found = counts(m.select())
    assert found[wanted] == 1 and sum(found[k] for k in ("IMAD", "IADD3", "LOP3", "VIADD")) == 1


def test_shift_and_add_is_lea() -> None:
    m = Maker()
    m.store(m.buffer("int32"), i32(0), m.op("add", m.op("mul", m.op("tid.y"), i32(32)), m.op("tid.x")))
    found = counts(m.select())
    assert found["LEA"] + found["IMAD"] == 1 and found["SHF"] + found["IMAD.SHL"] == 0  # either pipe can do it


def test_compares_take_each_other_along() -> None:
    m = Maker()
    x, y, n = m.op("tid.x"), m.op("tid.y"), m.param()
    both = m.op("and", m.op("lt", x, n), m.op("lt", y, n), dtype="bool")
    only(m, m.op("select", both, x, y, dtype="int32"), ISETP=2, PLOP3=0, SEL=1)


def test_a_choice_of_the_greater_is_a_maximum() -> None:
    m = Maker()
    x = m.load(m.buffer(), i32(0))
    only(m, m.op("select", m.op("gt", x, f32(0)), x, f32(0), dtype="float32"), FMNMX=1, FSETP=0, FSEL=0)


def test_accesses_that_differ_by_a_constant_share_their_address() -> None:
    m = Maker()
    a, i = m.buffer(), m.grid()
    values = [m.load(a, m.op("add", i, i32(k))) for k in range(4)]
    total = values[0]
    for value in values[1:]:
        total = m.op("add", total, value)
    only(m, total, IMAD_WIDE=1, LDG=4, VIADD=0)


def test_a_multiple_of_a_stride_costs_one_more() -> None:
    m = Maker()
    a, n = m.buffer(), m.param()
    x, y = m.op("tid.x"), m.op("tid.y")
    rows = [m.load(a, m.op("add", m.op("mul", m.op("add", y, i32(8 * k)), n), x)) for k in range(4)]
    total = rows[0]
    for value in rows[1:]:
        total = m.op("add", total, value)
    only(m, total, IMAD_WIDE=4, LDG=4)


def loop_sum(step: Value | None, m: Maker) -> Code:
    a, n = m.buffer(), m.param()
    acc, var = m.reg("float32", "acc"), m.reg("int32", "i")
    m.op("mov", f32(0), dst=acc)
    inside: list[Stmt] = []
    base = m.op("tid.x")
    m.op("add", acc, m.load(a, m.op("add", var, base, body=inside), inside), body=inside, dst=acc)
    m.body.append(For(var, i32(0), n, step if step is not None else i32(1), tuple(inside), unroll=1))
    m.store(a, i32(0), acc)
    return m.select()


def body(code: Code) -> Counter[str]:
    rows = next(b for b in code.blocks if getattr(b.end, "yes", None) == b.id)
    return Counter(r.op for r in rows.instrs)


def test_a_constant_step_carries_a_pointer() -> None:
    found = body(loop_sum(None, Maker()))
    assert found["IADD3.X"] + found["IMAD.X"] == 1 and found["IMAD.WIDE"] == 0
    assert found["MOV"] + found["IMAD.MOV"] == 2


def test_a_step_in_a_register_is_one_wide_multiply_add() -> None:
    m = Maker()
    found = body(loop_sum(m.op("nctaid.x"), m))
    assert found["IMAD.WIDE"] == 1 and found["IADD3.X"] == 0


def test_the_accumulator_is_updated_in_place() -> None:
    found = body(loop_sum(m.op("nctaid.x"), m) if (m := Maker()) else None)  # type: ignore[arg-type]
    assert found["MOV"] + found["IMAD.MOV"] == 0 and found["FADD"] == 1


def test_the_counter_of_a_loop_that_all_lanes_run_alike_is_uniform() -> None:
    assert body(loop_sum(None, Maker()))["UIADD3"] == 1


def divergent_loop(m: Maker) -> Code:
    a, trips = m.buffer(), m.buffer("int32")
    i = m.grid()
    stop = m.load(trips, i)
    y, var, inside = m.reg("float32", "y"), m.reg("int32", "k"), list[Stmt]()
    m.op("mov", f32(1), dst=y)
    m.op("fma", y, f32(0.5), f32(1.0), body=inside, dst=y)
    m.body.append(For(var, i32(0), stop, i32(1), tuple(inside), unroll=1))
    m.store(a, i, y)
    return m.select()


def test_a_divergent_loop_has_one_point_of_reconvergence() -> None:
    code = divergent_loop(Maker())
    found = counts(code)
    assert found["BSSY"] == found["BSYNC"] == 1
    assert Counter(r.op for r in code.blocks[-1].instrs)["BSYNC"] == 1


def test_an_iteration_of_a_divergent_loop_is_four_instructions() -> None:
    found = body(divergent_loop(Maker()))
    assert found in (Counter({"FFMA": 1, add: 1, "ISETP": 1, "BRA": 1}) for add in ("VIADD", "IADD3"))


def test_a_uniform_branch_needs_no_point_of_reconvergence() -> None:
    m = Maker()
    a, n = m.buffer(), m.param()
    inside: list[Stmt] = []
    m.store(a, i32(0), f32(1), inside)
    m.body.append(If(m.op("gt", n, i32(3)), tuple(inside)))
    m.store(a, i32(1), f32(2))
    assert counts(m.select())["BSSY"] == 0


def test_a_predicated_if_has_no_branch() -> None:
    m = Maker()
    a = m.buffer()
    inside: list[Stmt] = []
    m.store(a, m.op("tid.x"), f32(1), inside)
    m.body.append(If(m.op("lt", m.op("tid.x"), i32(7)), tuple(inside), predicated=True))
    code = m.select()
    store = next(r for b in code.blocks for r in b.instrs if r.op == "STG")
    test = next(r for b in code.blocks for r in b.instrs if r.op == "ISETP")
    assert counts(code)["BRA"] == 0 and test.dst[0] in store.srcs


def test_every_memory_statement_has_its_access() -> None:
    m = Maker()
    a, s = m.buffer(), m.buffer(shared=64)
    m.store(s, m.op("tid.x"), m.load(a, m.op("tid.x")))
    m.body.append(Barrier("cta"))
    m.store(a, m.op("tid.x"), m.load(s, m.op("tid.y")))
    code = m.select()
    found = [row.access for b in code.blocks for row in b.instrs if row.access is not None]
    assert sorted(found) == list(range(len(code.accesses))) == [0, 1, 2, 3]


def test_neighbours_in_shared_memory_are_one_wide_load() -> None:
    m = Maker()
    s = m.buffer(shared=64)
    row = m.op("mul", m.op("tid.x"), i32(8))
    values = [m.load(s, m.op("add", row, i32(k))) for k in range(4)]
    total = values[0]
    for value in values[1:]:
        total = m.op("add", total, value)
    only(m, total, LDS=1, FADD=3)


@pytest.mark.parametrize("factor", [1, 3])
def test_neighbours_without_alignment_stay_apart(factor: int) -> None:
    m = Maker()
    s = m.buffer(shared=64)
    row = m.op("mul", m.op("tid.x"), i32(factor))
    values = [m.load(s, m.op("add", row, i32(k))) for k in range(4)]
    total = values[0]
    for value in values[1:]:
        total = m.op("add", total, value)
    only(m, total, LDS=4)


def test_a_store_between_keeps_loads_apart() -> None:
    m = Maker()
    s = m.buffer(shared=64)
    first = m.load(s, i32(0))
    m.store(s, m.op("tid.x"), first)
    only(m, m.op("add", first, m.load(s, i32(1))), LDS=2)


def test_zeros_are_set_in_pairs() -> None:
    m = Maker()
    regs = [m.reg("float32", f"acc{k}") for k in range(16)]
    for reg in regs:
        m.op("mov", f32(0), dst=reg)
        m.op("mov", f32(0), dst=reg)
    a = m.buffer()
    for k, reg in enumerate(regs):
        m.store(a, i32(k), reg)
    found = counts(m.select())
    assert found["CS2R"] >= 6


def test_everything_emitted_is_in_the_table() -> None:
    for chain in (*_CHAINS.values(), *(tuple(row.split()) for row in _CONVERT.values())):
        assert set(chain) <= set(MNEMONICS), set(chain) - set(MNEMONICS)


def test_a_full_syncwarp_is_a_nop_and_a_shuffle_one_instruction() -> None:
    m = Maker()
    x = m.load(m.buffer(), m.op("tid.x"))
    got = m.reg("float32")
    m.body += [Barrier("warp"), Warp((got,), "shfl.bfly", (i32(-1), x, i32(16), i32(32)))]
    only(m, got, NOP=1, SHFL=1, WARPSYNC=0)


def test_scheduling_keeps_dependences() -> None:
    rows = [Instr("LDS", (1,), (0,)), Instr("FADD", (2,), (1,)), Instr("STS", (), (0, 2)), Instr("BAR"), Instr("LDS", (3,), (0,)), Instr("MOV", (1,), (3,))]
    order = schedule(rows)
    place = {id(row): k for k, row in enumerate(order)}
    assert [place[id(r)] for r in rows] == sorted(place[id(r)] for r in rows)


def test_scheduling_hoists_loads() -> None:
    rows = [Instr("FADD", (1,), (0,)), Instr("FADD", (2,), (1,)), Instr("LDG", (3,), (9,)), Instr("FADD", (4,), (3, 2))]
    assert schedule(rows)[0].op == "LDG"


def test_given_registers_prevail_and_the_rest_spills() -> None:
    m = Maker()
    a = m.buffer()
    values = [m.load(a, m.op("mul", m.op("tid.x"), i32(k))) for k in range(2, 40)]
    for k, value in enumerate(values):
        m.store(a, i32(k), value)
    free = m.select()
    tight = select(cfg.build(m.program(max_registers=24)))
    assert free.registers > 38 and free.spills == 0
    assert tight.registers == 24
    assert free.registers - 24 < tight.spills <= 3 * len(values), "each value, and the two words of its address"
