"""CTAs that do much more than others decide the time, wherever they are in the grid."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt import LIBRARY
from gpusim.launch.simt.run import SimtResult, simulate_simt
from gpusim.launch.simt.uneven import dealt, is_uneven, uneven_loads
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve
from gpusim.trace.simt import Work
from tests.unit.made_simt import SPEC


def work(longest: list[int]) -> Work:
    values = np.array(longest, np.int64)
    return Work(np.arange(len(values)), values * 2, values)


def test_where_ctas_are_alike_a_free_slot_is_the_one_that_was_dealt_first() -> None:
    machine = resolve(load_spec(SPEC), 1980.0)
    sm_of = dealt(machine, 2, [5] * (machine.sms * 6))
    assert (sm_of[: 2 * machine.sms] == sm_of[2 * machine.sms : 4 * machine.sms]).all()
    assert not is_uneven(work([5] * 40)) and is_uneven(work([5] * 40 + [50]))


def test_the_sm_with_the_longest_warp_and_the_one_with_most_to_do_are_timed() -> None:
    machine = resolve(load_spec(SPEC), 1980.0)
    longest = [10] * (machine.sms * 3)
    longest[7] = 1000
    sums = np.array(longest) * 2
    sums[11] = 5000
    loads = uneven_loads(machine, 4, Work(np.arange(len(longest)), sums, np.array(longest)))
    assert 7 in loads[0].ctas and loads[0].keep == (7,) and 11 in loads[1].ctas
    assert sum(load.sms for load in loads) == machine.sms


def sparse(long_row: int | None, values: bool) -> SimtResult:
    """Rows of four elements, and perhaps one of 600."""
    rows = 132 * 64
    lengths = np.full(rows, 4)
    if long_row is not None:
        lengths[long_row] = 600
    ptr = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    rng = np.random.default_rng(0)
    col = rng.integers(0, rows, ptr[-1]).astype(np.int32)
    val, x, y = rng.random(ptr[-1]).astype(np.float32), rng.random(rows).astype(np.float32), np.zeros(rows, np.float32)
    entry = LIBRARY["spmv_scalar"]
    kernel = entry.build({"rows": rows, "nnz": int(ptr[-1])})
    return simulate_simt(kernel, Geometry((rows // 64, 1, 1), (64, 1, 1)), (ptr, col, val, x, y, rows), load_spec(SPEC), values=values)


@pytest.mark.parametrize("values", [True, False])
def test_one_long_row_decides_wherever_it_is(values: bool) -> None:
    even = sparse(None, values).run.cycles
    first, other = (sparse(row, values).run for row in (64 * 3, 64 * 101))
    assert min(first.cycles, other.cycles) > 5 * even
    assert first.cycles == pytest.approx(other.cycles, rel=0.05)
    assert "the SM with the longest warp" in first.extrapolated
