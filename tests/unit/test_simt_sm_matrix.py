"""Matrix instructions on one SM: rates, latencies, the queue of warpgroups, what is under way at the end of a block, and the ALU beside them."""

from __future__ import annotations

import pytest

from gpusim.devices.simt.matrix import WarpgroupQueue, issue_cycles
from gpusim.devices.simt.sm import run_sm
from gpusim.errors import GpusimError
from gpusim.lower.simt.code import Code, Instr
from gpusim.lower.simt.mnemonics import MATRIX, WARPGROUP
from tests.unit.simt_code import LOOP_ENDS, code, cta, machine, warp


def cycles(program: Code, warps: int = 1, path: tuple[int, ...] = (0,)) -> float:
    return run_sm(program, [cta(*[warp(*path)] * warps)], 1, machine()).cycles


def products(op: str, count: int, ilp: int) -> list[Instr]:
    """`count` instructions on `ilp` accumulators of one register."""
    return [Instr(op, (i % ilp,), (8, 9, i % ilp), 1) for i in range(count)]


def each(op: str, warps: int, ilp: int) -> float:
    return (cycles(code(products(op, 256, ilp)), warps) - cycles(code(products(op, 128, ilp)), warps)) / 128


@pytest.mark.parametrize(("op", "latency"), [("HMMA.16816.BF16", 24), ("HMMA.1688.TF32", 24), ("HMMA.1688.F16", 16), ("IMMA.16832", 24), ("DMMA.884", 26)])
def test_one_waits_for_the_other_or_the_pipe_is_full(op: str, latency: float) -> None:
    fmt, multiply_adds = MATRIX[op]
    rate = machine().mma_sync.fma_per_cycle[fmt]
    assert each(op, 1, 1) == pytest.approx(latency)
    assert 32 * multiply_adds / (each(op, 32, 4)) == pytest.approx(rate, rel=0.01)


def test_a_machine_names_the_formats_it_has() -> None:
    with pytest.raises(GpusimError, match="names fp16, not bf16"):
        run_sm(code(products("HMMA.16816.BF16", 4, 1)), [cta(warp(0))], 1, machine("v100"))
    with pytest.raises(GpusimError, match="no matrix instructions of warpgroups"):
        run_sm(code([Instr("HGMMA.BF16", (0,), (1,), 1, bits=64)]), [cta(warp(0))], 1, machine("a100"))


def loop(body: list[Instr], passes: int) -> float:
    """Cycles of a pass of a loop of these instructions."""
    program = code([Instr("MOV", (9,))], [*body, Instr("ISETP", (10,)), Instr("BRA", (), (10,))], [Instr("EXIT")], ends=LOOP_ENDS)
    times = [run_sm(program, [cta(warp(0, *[1] * n, 2))], 1, machine()).cycles for n in (passes, 2 * passes)]
    return (times[1] - times[0]) / passes


def test_a_block_ends_when_its_products_are_there() -> None:
    """Four accumulators of six cycles each would let the next pass begin; but compilers count to the end of a block only."""
    held, latency = 6, 24
    assert loop(products("HMMA.16816.BF16", 32, 4), 8) == pytest.approx(31 * held + latency, abs=1)
    assert loop(products("HMMA.16816.BF16", 32, 1), 8) == pytest.approx(32 * latency, abs=1)


def beside(rounds: int, matrix: bool) -> float:
    """Cycles of `rounds` times four ALU instructions, each time with a product of new registers or without, for eight warps of a sub-core."""
    rows = [Instr("MOV", (r,)) for r in range(100, 190)]
    for k in range(rounds):
        first = 100 + 10 * (k % 9)
        rows += [Instr("HMMA.16816.F16", (k % 8,), tuple(range(first, first + 10)), 1)] if matrix else []
        rows += [Instr("IADD3", (40 + (4 * k + i) % 8,), (40 + (4 * k + i) % 8,), 1) for i in range(4)]
    return cycles(code(rows), 32)


def test_the_alu_waits_while_operands_of_products_are_read() -> None:
    """Ten registers, two a cycle."""
    alone, both = ((beside(64, matrix) - beside(32, matrix)) / 32 / 8 for matrix in (False, True))
    assert alone == pytest.approx(4 * 2, rel=0.02)
    assert both == pytest.approx(4 * 2 + 5, rel=0.05)


def group(n: int, count: int, op: str = "HGMMA.BF16") -> list[Instr]:
    """A group of wgmma on one accumulator, for which the warp waits."""
    made = [Instr(op, (0,), (1, 2, 0), 1, bits=n, closes=k == count - 1) for k in range(count)]
    return [Instr("WARPGROUP.ARRIVE"), *made, Instr("WARPGROUP.DEPBAR", bits=0), Instr("EXIT")]


@pytest.mark.parametrize("n", [64, 128, 256])
def test_a_group_is_done_after_its_latency_and_its_products(n: int) -> None:
    few, many = cycles(code(group(n, 4)), 4), cycles(code(group(n, 20)), 4)
    assert many - few == pytest.approx(16 * n / 2)
    assert few == pytest.approx(6 + 58 + 4 * n / 2, abs=3)


@pytest.mark.parametrize(
    ("op", "n", "held"), [("HGMMA.BF16", 8, 18), ("HGMMA.BF16.REG", 8, 13), ("QGMMA", 32, 24), ("QGMMA.REG", 32, 16), ("HGMMA.TF32", 256, 128)]
)
def test_narrow_products_take_what_reading_takes(op: str, n: int, held: float) -> None:
    assert (cycles(code(group(n, 40, op)), 4) - cycles(code(group(n, 8, op)), 4)) / 32 == pytest.approx(held)


def test_eight_may_wait_and_the_next_is_not_issued() -> None:
    queue, instr = WarpgroupQueue(machine()), Instr("HGMMA.BF16", (0,), (1,), 1, bits=128)
    free = [queue.issue(instr, 0.0)[1] for _ in range(10)]
    assert free[:7] == [0.0] * 7, "eight are under way before one waits"
    assert free[7:] == [64.0, 128.0, 192.0], "then one is issued when one is done"


def test_a_warp_goes_on_while_products_are_under_way() -> None:
    open_group = [*group(256, 2)[:-2], *[Instr("FFMA", (5,), (5,), 1)] * 16]
    assert cycles(code(open_group), 4) < 150 < cycles(code(group(256, 2)), 4)
    assert issue_cycles(Instr("HGMMA.BF16", bits=256), machine()) == 28


def test_every_warpgroup_format_has_a_rate_on_the_newest_machines() -> None:
    for name in ("h100", "h200", "b200"):
        unit = machine(name).wgmma
        assert unit is not None and {fmt for fmt, _ in WARPGROUP.values()} <= set(unit.fma_per_cycle)
