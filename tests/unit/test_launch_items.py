"""Persistent kernels as blocks of one item each: the same values, no more blocks at once than were launched, and about the time of a plain grid."""

from dataclasses import replace

import numpy as np
import pytest

import gpusim as gs
from gpusim.errors import GpusimError
from gpusim.interp.tile import compute
from gpusim.ir.program import Program
from gpusim.launch.items import work_items
from gpusim.spec.load import load_spec
from tests.unit.triton_kernels import products

RNG = np.random.default_rng(9)


def persistent(m: int, n: int, k: int, programs: int, tile: tuple[int, int, int] = (64, 64, 32), by_pointers: bool = False, stages: int = 3) -> Program:
    a, b, c = (np.zeros(s, np.float16) for s in ((m, k), (n, k), (m, n)))
    if by_pointers:
        given = (a, b.reshape(k, n), c, m, n, k, k, 1, n, 1, n, 1, *tile, 4, programs)
        return products.persistent_matmul_ptr.program(*given, grid=(programs,), num_stages=stages)
    return products.persistent_matmul.program(a, b, c, m, n, k, *tile, 4, programs, True, grid=(programs,), num_stages=stages)


@pytest.mark.parametrize("by_pointers", [False, True])
def test_items_compute_what_the_kernel_computes(by_pointers: bool) -> None:
    program = persistent(300, 200, 96, 5, by_pointers=by_pointers)
    items = work_items(program, 5)
    assert items is not None and items.grid == (20,) and items.resident == 5
    inputs = {t.name: RNG.standard_normal(t.shape).astype(np.float16) for t in program.tensors if t.role == "in"}
    assert (compute(program, inputs)["c_ptr"] == compute(items, inputs)["c_ptr"]).all()


def test_a_persistent_product_takes_about_as_long_as_a_plain_one() -> None:
    spec = load_spec("h200")
    program = persistent(2048, 2048, 512, spec.sms, (128, 128, 64), stages=4)
    report = gs.run(program, gpu=spec)
    plain = gs.run(gs.kernels.gemm(2048, 2048, 512, tile=(128, 128, 64), warps=4, stages=4, dtype="fp16"), gpu=spec)
    assert report.run.occupancy.ctas_per_sm == 1 and "persistent" in report.run.notes[-1]
    assert plain.run.occupancy.ctas_per_sm == 1 and 0.95 < report.cycles / plain.cycles < 1.15


def test_other_programs_are_left_alone() -> None:
    assert work_items(gs.kernels.gemm(256, 256, 64, tile=(64, 64, 32)), 4) is None
    program = persistent(300, 200, 96, 5)
    assert work_items(replace(program, body=program.body[:-1]), 5) is None


def test_grids_that_leave_sms_idle_are_refused() -> None:
    with pytest.raises(GpusimError, match="5 persistent blocks on 132 SMs"):
        work_items(persistent(300, 200, 96, 5), 132)
