"""Every kernel of the library leaves what NumPy says: odd sizes, sizes that no block divides, random data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.interp.simt.execute import execute
from gpusim.ir.simt.nodes import Geometry
from gpusim.ir.simt.rewrites import optimise
from gpusim.kernels.simt import LIBRARY
from gpusim.kernels.simt.entry import Array, Entry, materialise
from gpusim.launch.simt.args import backing, describe, facts
from gpusim.lower.simt import lower

N = st.integers(1, 600)
TILED = st.integers(1, 3).map(lambda k: 32 * k)
SIZES = st.integers(1, 70)
#: kernel -> params that vary in the random tests; the others stay as in the example
VARIED: dict[str, dict[str, st.SearchStrategy[int]]] = {
    **dict.fromkeys(("vector_add_1", "vector_add_gs", "saxpy", "conv1d_const", "conv1d_const_idx", "collatz"), {"n": N}),
    "vector_add_f4": {"n": N.map(lambda n: 4 * n)},
    "vector_add_gs_u4": {"n": st.integers(1, 3).map(lambda k: 1024 * k)},
    **dict.fromkeys(("copy_stride", "copy_wstride"), {"n": N, "stride": st.integers(1, 5)}),
    "copy_offset": {"n": N, "offset": st.integers(0, 16)},
    **dict.fromkeys(("relu_branch", "relu_mask", "relu_costly"), {"n": N, "iters": st.integers(0, 70)}),
    **dict.fromkeys(("transpose_naive_read", "transpose_naive_write", "transpose_copy", "stencil_naive", "stencil_smem"), {"n": TILED}),
    "transpose_tiled": {"n": TILED, "pad": st.integers(0, 1)},
    **dict.fromkeys((name for name in LIBRARY if name.startswith("reduce")), {"n": N, "ctas": st.integers(1, 4)}),
    "reduce7_grid_stride_f4": {"n": N.map(lambda n: 4 * n), "ctas": st.integers(1, 4)},
    **dict.fromkeys(("sgemm_naive_uncoalesced", "sgemm_naive_coalesced", "sgemm_tile32"), {"M": SIZES, "N": SIZES, "K": SIZES}),
    **dict.fromkeys(("softmax_3pass", "softmax_smem", "softmax_online", "layernorm_2pass", "rmsnorm"), {"rows": st.integers(1, 3), "cols": N}),
    "layernorm_welford": {"rows": st.integers(1, 3), "cols": st.integers(1, 3).map(lambda k: 256 * k)},
    "softmax_warp": {"rows": st.integers(1, 9), "cols": st.sampled_from((32, 64, 256))},
    **dict.fromkeys(("hist_global", "hist_shared"), {"n": N, "ctas": st.integers(1, 3)}),
    "conv1d_smem": {"n": st.integers(1, 2).map(lambda k: 256 * k)},
    **dict.fromkeys(("spmv_scalar", "spmv_vector"), {"rows": st.integers(1, 80), "nnz": st.integers(1, 900)}),
    "mandelbrot": {"w": SIZES, "h": SIZES, "max_it": st.integers(0, 40)},
    "lane_trip": {"n": N, "T": st.integers(0, 40)},
    "switch_paths": {"n": N, "paths": st.integers(1, 8), "iters": st.integers(0, 20)},
    **dict.fromkeys((name for name in LIBRARY if name.startswith("scan")), {"n": N}),
}


def run(entry: Entry, params: Mapping[str, Any], seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments before and after a launch with `params`."""
    args = entry.args(params)
    before = materialise(args, np.random.default_rng(seed))
    launch = entry.launch(params)
    geometry = Geometry((*launch.grid, 1), (*launch.block, 1), launch.shared)
    after = {name: value.copy() if isinstance(args[name], Array) else value for name, value in before.items()}
    program = entry.build(params).program_for(describe(list(after.values())))
    known = facts(program, geometry, list(after.values()))
    execute(lower(optimise(program, known), known), geometry, backing(list(after.values()), program, copy=False))
    return before, after


def check(name: str, params: Mapping[str, Any], seed: int = 0) -> None:
    entry = LIBRARY[name]
    before, after = run(entry, params, seed)
    expected = entry.expected(params, before)
    for array in (key for key, arg in entry.args(params).items() if isinstance(arg, Array)):
        got, want = after[array].astype(np.float64), np.asarray(expected.get(array, before[array]), np.float64)
        np.testing.assert_allclose(got, want, entry.rtol, entry.atol, err_msg=f"{name} {array} {dict(params)}")


@pytest.mark.parametrize("name", LIBRARY)
def test_the_example_of_each_row_equals_its_reference(name: str) -> None:
    check(name, LIBRARY[name].params)


@pytest.mark.parametrize("name", VARIED)
@settings(max_examples=2, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_size_equals_the_reference(name: str, data: st.DataObject) -> None:
    params = {**LIBRARY[name].params, **{key: data.draw(strategy, key) for key, strategy in VARIED[name].items()}}
    check(name, params, data.draw(st.integers(0, 99), "seed"))


@pytest.mark.parametrize("paths", (1, 2, 3, 5, 8))
def test_lanes_on_any_number_of_paths(paths: int) -> None:
    check("switch_paths", {"n": 77, "paths": paths, "iters": 9})


@pytest.mark.parametrize("params", ({"M": 130, "N": 150, "K": 9}, {"M": 64, "N": 64, "K": 8}, {"M": 129, "N": 33, "K": 17, "ld": 36}), ids=str)
@pytest.mark.parametrize("name", ("sgemm_reg1d", "sgemm_reg2d", "sgemm_vec"))
def test_register_tiled_products_at_the_edges_of_tiles(name: str, params: dict[str, int]) -> None:
    check(name, params)


@pytest.mark.parametrize("stages", (2, 4))
def test_the_tensor_product_with_any_number_of_stages(stages: int) -> None:
    check("hgemm_mma", {**LIBRARY["hgemm_mma"].params, "stages": stages, "M": 64, "N": 130, "K": 33})


def test_the_tensor_product_writes_no_tile_that_was_not_launched() -> None:
    params = {**LIBRARY["hgemm_mma"].params, "M": 128, "N": 64, "K": 32, "tiles_launched": 1}
    before, after = run(LIBRARY["hgemm_mma"], params)
    assert np.isnan(after["C"].astype(np.float32).reshape(128, 64)[64:]).all()
    assert not np.isnan(after["C"].astype(np.float32).reshape(128, 64)[:64]).any()


def test_attention_over_all_keys() -> None:
    check("flash_fwd", {"bh": 1, "seq": 128, "causal": 0})


def test_nothing_but_the_output_is_written() -> None:
    before, after = run(LIBRARY["vector_add_1"], {"n": 33})
    assert all(np.array_equal(before[name], after[name]) for name in ("a", "b"))
    assert not np.isnan(after["c"]).any()


def test_a_histogram_of_one_bin_counts_everything() -> None:
    entry, params = LIBRARY["hist_shared"], {"n": 700, "ctas": 2}
    before, after = run(entry, params)
    assert after["bins"].sum() == 700
    assert np.array_equal(after["bins"], np.bincount(before["items"], minlength=256))
