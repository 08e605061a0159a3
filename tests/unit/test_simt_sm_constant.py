"""Special ways of memory requests: constants by index, lanes counted in one pass, copies of zeros."""

from __future__ import annotations

import numpy as np
import pytest

from gpusim import cuda
from gpusim.devices.simt.sm import run_sm
from gpusim.ir.simt.nodes import Geometry
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import materialise
from gpusim.launch.simt.run import SimtResult, simulate_simt
from gpusim.lower.simt.code import Instr
from gpusim.spec.load import load_spec
from gpusim.trace.simt import Touch
from tests.unit.made_simt import SPEC
from tests.unit.simt_code import ALL, code, cta, machine, warp
from tests.unit.test_simt_sm_memory import step


@cuda.jit
def add_one(h_out, n):
    h = cuda.shared.array(32, cuda.int32)
    h[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    cuda.atomic.add(h, 7, 1)
    cuda.syncthreads()
    h_out[cuda.threadIdx.x] = h[cuda.threadIdx.x]


@cuda.jit
def add_two(h_out, n):
    h = cuda.shared.array(32, cuda.int32)
    h[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    cuda.atomic.add(h, 7, 2)
    cuda.syncthreads()
    h_out[cuda.threadIdx.x] = h[cuda.threadIdx.x]


def one_warp(kernel: object) -> tuple[SimtResult, np.ndarray]:
    out = np.zeros(32, np.int32)
    return simulate_simt(kernel, Geometry((1, 1, 1), (32, 1, 1)), (out, 32), load_spec(SPEC)), out


def test_lanes_that_add_one_are_counted_in_one_pass_and_others_take_turns() -> None:
    (one, ones), (two, twos) = one_warp(add_one), one_warp(add_two)
    assert ones[7] == 32 and twos[7] == 64
    assert one.run.counters["shared_atomic_wavefronts"] == 1 and two.run.counters["shared_atomic_wavefronts"] == 32
    assert one.run.cycles < two.run.cycles


@pytest.mark.parametrize("addresses", [1, 4, 32])
def test_constants_by_index_come_one_address_at_a_time(addresses: int) -> None:
    m = machine()
    assert step("LDC", Touch(0, 32, (), addresses)) == m.simt.latency["LDC"] + (addresses - 1) * m.simt.constant_address
    free = code([Instr("LDC", (i,), (99,), 1, i) for i in range(40)])
    run = run_sm(free, [cta(*[warp((0, ALL, tuple(Touch(i, 32, (), addresses) for i in range(40))))] * 16)], 1, m)
    assert run.cycles == pytest.approx(40 * 16 * addresses * m.simt.constant_address, rel=0.06)


def test_a_copy_of_zeros_makes_no_request() -> None:
    entry = LIBRARY["hgemm_mma"]
    params = {**entry.params, "M": 64, "N": 64, "K": 64}
    args, launch = materialise(entry.args(params), np.random.default_rng(0)), entry.launch(params)
    geometry = Geometry((*launch.grid, 1), (*launch.block, 1), launch.shared)
    run = simulate_simt(entry.build(params), geometry, tuple(args.values()), load_spec(SPEC), values=False).run
    assert run.counters["l1_load_requests"] * 512 == 2 * 64 * 64 * 2
