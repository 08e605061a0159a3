"""Selection in detail: fast divisions and powers of two, and the order of issue that lets the most warps be resident."""

from __future__ import annotations

from collections import Counter

import pytest

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import Geometry, Reg
from gpusim.lower.simt import cfg
from gpusim.lower.simt.code import Code
from gpusim.lower.simt.registers import FREE, resident
from gpusim.lower.simt.select import select
from gpusim.lower.simt.vectorise import vectorise
from tests.unit.simt_select_maker import Maker, f32, i32


def opcodes(code: Code) -> list[str]:
    return [row.op for block in code.blocks for row in block.instrs]


def divided(op: str, *, above_is_used: bool = False, constant: bool = False) -> Counter[str]:
    """Instructions of one division of a loaded value, or of 1, by another one."""
    m = Maker()
    a, tid = m.buffer(), m.op("tid.x")
    x, y = m.load(a, tid), m.load(m.buffer(), tid)
    m.store(a, tid, m.op(op, f32(1) if constant else x, y))
    if above_is_used:
        m.store(a, tid, m.op("add", x, f32(3)))
    found = Counter(opcodes(m.select()))
    return Counter({name: found[name] for name in ("FSETP", "FMUL", "FSEL", "MUFU.RCP", "FADD") if found[name]})


def test_a_fast_division_scales_a_small_divisor_and_multiplies_by_its_inverse() -> None:
    assert divided("fdividef") == {"FSETP": 1, "FMUL": 3, "MUFU.RCP": 1}


def test_a_dividend_that_is_needed_later_is_scaled_by_a_choice() -> None:
    once, again = divided("fdividef"), divided("fdividef", above_is_used=True)
    assert again - once == {"FSEL": 1, "FADD": 1} and not once - again


def test_a_constant_dividend_is_chosen_not_multiplied() -> None:
    x, one = divided("fdividef"), divided("fdividef", constant=True)
    assert one["FMUL"] == x["FMUL"] - 1 and one["FSEL"] == 1


def test_a_division_of_the_full_range_scales_large_divisors_too() -> None:
    fast, full = divided("fdividef"), divided("approx.div")
    assert full - fast == {"FSETP": 1, "FMUL": 2} and not fast - full
    again = divided("approx.div", above_is_used=True)
    assert again - full == {"FSEL": 1, "FADD": 1} and not full - again


def test_quotients_by_one_divisor_share_its_inverse() -> None:
    m = Maker()
    a, tid = m.buffer(), m.op("tid.x")
    x, y = m.load(a, tid), m.load(m.buffer(), tid)
    m.store(a, tid, m.op("approx.div", x, y))
    m.store(a, i32(4), m.op("approx.div", m.op("add", x, f32(1)), y))
    found = Counter(opcodes(m.select()))
    assert found["MUFU.RCP"] == 1 and found["FSETP"] == 2


def test_two_divisions_of_one_dividend_share_its_quarter() -> None:
    m = Maker()
    a, tid = m.buffer(), m.op("tid.x")
    x, y = m.load(a, tid), m.load(m.buffer(), tid)
    m.store(a, tid, m.op("approx.div", x, y))
    m.store(a, i32(4), m.op("approx.div", x, m.op("add", y, f32(1))))
    assert opcodes(m.select()).count("FMUL") == 2 * divided("approx.div")["FMUL"] - 1


@pytest.mark.parametrize(("op", "extra"), [("approx.ex2", {}), ("fast.ex2", {"FSETP": 1, "FMUL": 2})])
def test_a_fast_power_of_two_scales_what_the_unit_takes_for_zero(op: str, extra: dict[str, int]) -> None:
    m = Maker()
    a, tid = m.buffer(), m.op("tid.x")
    m.store(a, tid, m.op(op, m.load(a, tid)))
    found = Counter(opcodes(m.select()))
    assert found["MUFU.EX2"] == 1 and {name: found[name] for name in ("FSETP", "FMUL", "FSEL") if found[name]} == extra


def loads(count: int, *, together: bool) -> Maker:
    """`count` loads: each is summed at once, or all of them live until the last one is there."""
    m = Maker()
    a, b = m.buffer(), m.buffer()
    begin = m.op("mul", m.op("tid.x"), i32(count))
    if together:
        values = [m.load(a, m.op("add", begin, i32(k))) for k in range(count)]
        for k in reversed(range(count)):
            m.store(b, m.op("add", begin, i32(k)), values[k])
        return m
    total: Reg | None = None
    for k in range(count):
        total = m.op("fma", m.load(a, m.op("add", begin, i32(k))), f32(2 + k), total or f32(0))
    assert total is not None
    m.store(b, begin, total)
    return m


def in_ctas(count: int, warps: int, **extra: int) -> Code:
    """`loads` one after the other, selected for CTAs of so many warps."""
    program = loads(count, together=False).program(**extra)
    return select(vectorise(cfg.build(program)), LaunchFacts(Geometry((1, 1, 1), (32 * warps, 1, 1))))


def ahead(code: Code) -> int:
    """Loads in front of the first use."""
    rows = opcodes(code)
    return rows[: next(i for i, op in enumerate(rows) if op in ("FFMA", "STG"))].count("LDG")


def test_few_loads_all_go_ahead() -> None:
    code = loads(20, together=False).select()
    assert ahead(code) == 20 and code.registers <= FREE


def test_fewer_loads_go_ahead_where_that_lets_more_warps_be_resident() -> None:
    code = loads(60, together=False).select()
    assert resident(code.registers) > resident(60)
    assert 4 <= ahead(code) < FREE


def test_more_loads_go_ahead_where_fewer_make_no_room_for_another_cta() -> None:
    """With 32 warps a CTA one CTA fits in either order, with 8 more of them fit where fewer loads go ahead."""
    large, small = in_ctas(60, 32), in_ctas(60, 8)
    assert ahead(large) > FREE > ahead(small)
    assert resident(large.registers) // 32 == resident(small.registers) // 32 == 1
    assert resident(large.registers) // 8 < resident(small.registers) // 8


def test_all_loads_go_ahead_where_no_order_lets_more_warps_be_resident() -> None:
    code = loads(60, together=True).select()
    assert ahead(code) == 60 and code.registers > 60


def test_an_order_that_fits_a_limit_goes_before_spills() -> None:
    free, tight = in_ctas(60, 32), in_ctas(60, 32, max_registers=40)
    assert free.registers > 40 >= tight.registers and tight.spills == 0 and ahead(tight) < ahead(free)


def test_what_no_order_fits_spills() -> None:
    tight = in_ctas(60, 32, max_registers=24)
    assert tight.registers == 24 and tight.spills > 0
