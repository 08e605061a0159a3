"""Timing without values: the slice that is executed keeps ways, addresses and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.interp.simt import execute
from gpusim.ir.simt.nodes import Geometry, Op
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import materialise
from gpusim.launch.simt.args import describe, facts
from gpusim.launch.simt.skeleton import skeleton
from gpusim.launch.simt.static import data_dependence, items
from gpusim.lower.simt import lower
from gpusim.lower.simt.code import Code

KERNELS = ("vector_add_gs", "transpose_tiled", "sgemm_tile32", "softmax_3pass", "reduce4_unroll_warp", "hgemm_mma", "stencil_smem", "conv1d_const_idx")


def _lowered(name: str) -> tuple[Code, Geometry, list[Any]]:
    entry = LIBRARY[name]
    launch = entry.launch(entry.params)
    args = list(materialise(entry.args(entry.params), np.random.default_rng(1)).values())
    program = entry.build(entry.params).program_for(describe(args))
    geometry = Geometry((*launch.grid, 1), (*launch.block, 1), launch.shared)
    return lower(program, facts(program, geometry, args)), geometry, args


def _operations(code: Code) -> int:
    return sum(isinstance(item.stmt, Op) for block in code.blocks for item in items(block.ops))


@pytest.mark.parametrize("name", KERNELS)
def test_counts_and_paths_are_those_of_the_whole_code(name: str) -> None:
    code, geometry, args = _lowered(name)
    assert data_dependence(code) is None
    thin = skeleton(code)
    assert _operations(thin) <= _operations(code)
    whole = execute(code, geometry, [np.copy(a) for a in args], record=[0], sanitize=False)
    slim = execute(thin, geometry, [np.copy(a) for a in args], record=[0], sanitize=False)
    for field in ("warps", "lanes", "arrivals", "requests", "sectors", "lines", "wavefronts"):
        assert np.array_equal(getattr(whole.counts, field), getattr(slim.counts, field)), field
    assert whole.paths[0] == slim.paths[0]


def test_arithmetic_on_data_is_left_out() -> None:
    code, _, _ = _lowered("sgemm_tile32")
    assert _operations(skeleton(code)) < _operations(code) - 30


@cuda.jit
def through_shared_memory(x):
    """An index that goes through shared memory decides an address."""
    places = cuda.shared.array(32, "int32")
    t = cuda.threadIdx.x
    places[t] = 31 - t
    cuda.syncthreads()
    x[places[t] * 8] = x[t] + 1.0


def test_what_an_address_takes_from_shared_memory_is_kept() -> None:
    x = np.zeros(256, np.float32)
    program = through_shared_memory.program_for(describe([x]))
    geometry = Geometry((1, 1, 1), (32, 1, 1))
    code = lower(program, facts(program, geometry, [x]))
    assert data_dependence(code) is None
    whole, slim = (execute(c, geometry, [x.copy()], record=[0], sanitize=False) for c in (code, skeleton(code)))
    assert whole.paths[0] == slim.paths[0] and whole.counts.sectors.max() == 32
