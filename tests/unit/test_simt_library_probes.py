"""The microbenchmarks as kernels: chains are chains of the instruction they name, and every lane takes the path it should."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gpusim.interp.simt.execute import execute
from gpusim.ir.simt.nodes import Geometry
from gpusim.ir.simt.rewrites import optimise
from gpusim.kernels.simt.probes import alu, control, scheduling
from gpusim.kernels.simt.probes.operations import OPERATIONS
from gpusim.launch.simt.args import backing, describe, facts
from gpusim.lower.simt import lower
from gpusim.lower.simt.code import Code
from gpusim.validate.simt.data import hash32


def compiled(kernel: Any, args: list[Any], block: int = 32) -> tuple[Code, Geometry]:
    geometry = Geometry((1, 1, 1), (block, 1, 1))
    program = kernel.program_for(describe(args))
    known = facts(program, geometry, args)
    return lower(optimise(program, known), known), geometry


def run(kernel: Any, args: list[Any], block: int = 32) -> None:
    code, geometry = compiled(kernel, args, block)
    execute(code, geometry, backing(args, code.program, copy=False))


SEED = np.uint32(7)


ONE_INSTRUCTION = {"fadd": "FADD", "fmul": "FMUL", "ffma": "FFMA", "imad": "IMAD", "lop3": "LOP3", "iadd3": "IADD3", "prmt": "PRMT", "popc": "POPC"}
ONE_INSTRUCTION |= {"mufu_ex2": "MUFU", "shfl_bfly": "SHFL", "shfl_idx": "SHFL", "dfma": "DFMA", "match_any": "MATCH", "fmnmx": "FMNMX", "shf": "SHF"}


@pytest.mark.parametrize("name", ONE_INSTRUCTION)
def test_a_chain_is_as_many_instructions_as_it_has_steps(name: str) -> None:
    code, _ = compiled(alu.chains(name, 1), [np.zeros(32, np.uint32), 2, SEED])
    loop = Counter(i.op.split(".")[0] for i in max(code.blocks, key=lambda b: len(b.instrs)).instrs)
    assert loop[ONE_INSTRUCTION[name]] == alu.STEPS
    assert loop.total() <= alu.STEPS + 8


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_runs_and_its_end_is_used(name: str) -> None:
    sink = np.full(32, 0xABCD1234, np.uint32)
    run(alu.chains(name, 4), [sink, 1, SEED])
    assert not (sink == 0xABCD1234).any()


def test_a_chain_computes_what_it_names() -> None:
    sink = np.zeros(32, np.uint32)
    run(alu.chains("lop3", 1), [sink, 1, SEED])
    a, b, c, d = hash32(SEED + np.arange(4, dtype=np.uint32)) | np.uint32(1)
    x = hash32(np.arange(32, dtype=np.uint32) * np.uint32(64) + SEED) | np.uint32(1)
    for _ in range(alu.STEPS // 2):
        x = ((x & a) ^ b | c) & d
    assert np.array_equal(sink, x)


def _path(x: np.ndarray, a: np.ndarray, number: np.ndarray, m: int = 1) -> np.ndarray:
    for _ in range(16 * m):
        x = (x.astype(np.float64) * a + (1 + number * 0.125)).astype(np.float32)
    return x


@pytest.mark.parametrize("form", control.FORMS)
@pytest.mark.parametrize("k", (1, 4, 32))
def test_lanes_take_their_path_of_32(form: str, k: int) -> None:
    sink, lane = np.zeros(32, np.float32), np.arange(32)
    run(control.kway(form), [sink, 2, k, 1])
    x, a = (lane * np.float32(0.01)).astype(np.float32), np.float32(0.5) + lane.astype(np.float32) * np.float32(0.001)
    for it in range(2):
        x = _path(x, a, (lane + it) & (k - 1))
    np.testing.assert_allclose(sink, x, rtol=1e-5)


def test_nested_ifs_part_lanes_bit_by_bit() -> None:
    sink, lane = np.zeros(32, np.float32), np.arange(32)
    run(control.nested(2), [sink, 1, 1, 31])
    x, a = (lane * np.float32(0.01)).astype(np.float32), np.float32(0.5) + lane.astype(np.float32) * np.float32(0.001)
    first = np.where(lane & 1, 2, 3)
    x = _path(_path(x, a, first), a, 2 * first + np.where(lane & 2, 0, 1))
    np.testing.assert_allclose(sink, x, rtol=1e-5)


def test_each_lane_runs_its_own_trips() -> None:
    sink, trip = np.zeros(32, np.float32), np.arange(32, dtype=np.int32) % 3
    run(control.trips(), [sink, trip, 1])
    x = (np.arange(32) * np.float32(0.01)).astype(np.float32)
    expected = np.select([trip == 0, trip == 1], [x, _path(x, np.float32(0.5), np.full(32, 3))], _path(x, np.float32(0.5), np.full(32, 3), 2))
    np.testing.assert_allclose(sink, expected, rtol=1e-5)


@pytest.mark.parametrize("form", control.RELU)
def test_a_rectifier_times_zero_leaves_the_value_it_is_applied_to(form: str) -> None:
    sink = np.zeros(32, np.float32)
    run(control.relu_compute(form), [sink, 1, 0x0000FFFF, np.float32(0.5), np.float32(0)])
    assert np.array_equal(sink, np.where(np.arange(32) < 16, 2, -2))


def test_a_rectified_array() -> None:
    x, y = np.linspace(-1, 1, 128, dtype=np.float32), np.zeros(128, np.float32)
    run(control.relu_array("fmaxf"), [x, y, np.float32(0.5)])
    assert np.array_equal(y, np.maximum(x, 0))


def test_operations_side_by_side() -> None:
    sink = np.zeros(32, np.uint32)
    code, _ = compiled(alu.mix("ffma", "lop3", 2, 1), [sink, 1, SEED])
    loop = max((Counter(i.op for i in b.instrs) for b in code.blocks), key=lambda ops: ops["FFMA"])
    assert (loop["FFMA"], loop["LOP3"]) == (64, 32)


@pytest.mark.parametrize("kernel", scheduling.BARRIER.values(), ids=scheduling.BARRIER)
def test_barriers_let_everybody_pass(kernel: Any) -> None:
    run(kernel, [np.zeros(1, np.uint32), 1], block=96)


@pytest.mark.parametrize("each_lane", (0, 1))
def test_a_chase_over_zeros_ends_where_it_began(each_lane: int) -> None:
    sink = np.full(1, 7, np.int64)
    run(scheduling.chase(each_lane), [np.zeros(64 * scheduling.NODE, np.int32), 8, 64, sink])
    assert sink[0] == 7


def test_fixed_work_is_a_chain() -> None:
    code, _ = compiled(scheduling.fixed_work, [np.zeros(1, np.float32), 4])
    assert Counter(i.op for b in code.blocks for i in b.instrs)["FFMA"] == 16
