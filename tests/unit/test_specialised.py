"""Products by warps with roles: values, what is sent how often, what lies beside what."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.interp.tile import compute, error_against, random_inputs, tolerance
from gpusim.ir.parse import parse
from gpusim.kernels.gemm import gemm
from gpusim.kernels.reference import gemm_reference
from gpusim.kernels.split_k import gemm_split_k
from gpusim.launch.run import simulate
from gpusim.spec.load import load_spec
from gpusim.validate.cases import Case
from gpusim.validate.library import library_product

GPU = load_spec("h100-sxm")


def _run(*sizes: int, **options: Any) -> Any:
    return simulate(gemm(*sizes, **{"roles": "cooperative", "tile": "128x128x64", **options}), GPU, clock_mhz=1700)


@pytest.mark.parametrize(
    "options",
    [
        {"layout": "NN"},
        {"layout": "NT", "raster": "m", "group_m": 2},
        {"layout": "TN", "roles": "ping-pong", "epilogue": "bias+relu"},
        {"layout": "TT", "roles": "producer-consumer", "cluster": "1x2", "epilogue": "gelu+residual"},
        {"cluster": "2x2", "split": "columns", "epilogue": "residual+silu"},
        {"tile": "96x128x64", "mma_rows": "n", "cluster": (2, 1)},
    ],
)
def test_values(options: dict[str, Any]) -> None:
    """Sizes that no tile divides, in any layout and order of tiles."""
    program = gemm(300, 200, 136, **{"tile": "128x64x64", "roles": "cooperative", **options})
    inputs = random_inputs(program)
    error = error_against(compute(program, inputs), gemm_reference(program, inputs))["c"]
    assert error["relative_error"] < tolerance("bf16", 136)


def test_a_printed_program_is_read_back_with_its_roles() -> None:
    program = gemm(512, 256, 128, tile="128x128x64", roles="ping-pong", cluster="2x1", stages=3, schedule="grid")
    again = parse(str(program))
    assert again.body == program.body and again.pipeline == program.pipeline is not None
    assert simulate(again, GPU, clock_mhz=1700).cycles == simulate(program, GPU, clock_mhz=1700).cycles


@pytest.mark.parametrize(("m", "n", "k", "splits"), [(128, 256, 512, 4), (100, 200, 300, 3), (64, 1100, 64, 2)])
def test_shares_of_k_add_up(m: int, n: int, k: int, splits: int) -> None:
    """Also where a share is cut off, or has nothing to add."""
    shares, total = gemm_split_k(m, n, k, splits=splits, tile="64x64x64", roles="ping-pong", epilogue="bias+relu")
    inputs, bias = random_inputs(shares), random_inputs(total)["bias"]
    found = compute(total, {"part": compute(shares, inputs)["c"], "bias": bias})["c"]
    wanted = np.maximum(inputs["a"].astype(float) @ inputs["b"].astype(float) + bias.astype(float), 0)
    assert np.linalg.norm(found.astype(float) - wanted) < 0.01 * np.linalg.norm(wanted)


def test_shares_of_k_pay_where_tiles_are_few() -> None:
    """32 tiles on 132 SMs, and a loop of 256 steps; four shares are bound by DRAM instead."""
    alone = _run(128, 4096, 16384).cycles
    shares, total = (simulate(p, GPU, clock_mhz=1700).cycles for p in gemm_split_k(128, 4096, 16384, splits=4))
    assert shares < 0.65 * alone and shares + total < 0.75 * alone


def test_a_cluster_asks_once_for_what_it_shares() -> None:
    """Four CTAs in a row share A, and none shares B: 1/4 of one operand and all of the other."""
    alone, shared = _run(1024, 1024, 1024), _run(1024, 1024, 1024, cluster="1x4")
    assert shared.counters["l1_load_sectors"] == alone.counters["l1_load_sectors"] * (1 + 1 / 4) / 2
    assert shared.counters["dram_read_bytes"] == pytest.approx(alone.counters["dram_read_bytes"], rel=0.01)


def test_taking_turns_hides_the_end_of_a_tile() -> None:
    """Several short tiles for each CTA: one consumer stores while the other multiplies; sharing a tile they stop for it."""
    turns, together = (_run(4096, 4096, 512, roles=roles) for roles in ("ping-pong", "cooperative"))
    assert turns.cycles < 0.9 * together.cycles
    assert turns.counters["tensor_fma"] == together.counters["tensor_fma"] == 4096 * 4096 * 512


def test_persistent_ctas_save_the_change() -> None:
    grid, persistent = (_run(4096, 4096, 512, schedule=schedule) for schedule in ("grid", "persistent"))
    assert persistent.cycles < grid.cycles


def test_copies_of_a_warp_that_does_nothing_else_beat_those_of_all_warps() -> None:
    assert _run(4096, 4096, 4096, tile="128x256x64").cycles < simulate(gemm(4096, 4096, 4096, tile="128x256x64"), GPU, clock_mhz=1700).cycles


@pytest.mark.parametrize("cluster", ["1x1", "2x1", "4x2"])
def test_shortened_runs_agree_with_whole_ones(cluster: str) -> None:
    program = gemm(4096, 2560, 4096, tile="128x128x64", roles="ping-pong", cluster=cluster)
    short, whole = (simulate(program, GPU, clock_mhz=1700, exact=exact) for exact in (False, True))
    assert short.extrapolated and not whole.extrapolated
    assert short.cycles == pytest.approx(whole.cycles, rel=0.02)
    assert short.counters["l1_load_sectors"] == whole.counters["l1_load_sectors"]


def test_clusters_leave_sms_idle_where_a_gpc_has_no_room() -> None:
    """Clusters of eight fit fewer SMs than clusters of two."""
    assert _run(4096, 4096, 512, cluster="4x2").slots < _run(4096, 4096, 512, cluster="2x1").slots <= 132


@pytest.mark.parametrize(
    ("gpu", "options", "words"),
    [
        ("a100", {}, "copy engine"),
        ("h100-sxm", {"stages": 9}, "At most 6 stages"),
        ("h100-sxm", {"tile": "96x128x64"}, "mma_rows"),
        ("h100-sxm", {"tile": "128x256x64", "roles": "ping-pong"}, "cooperative"),
        ("h100-sxm", {"cluster": "3"}, "2x1"),
        ("h100-sxm", {"layout": "XY"}, "NN"),
        ("h100-sxm", {"epilogue": "bias+bias"}, "stands twice"),
        ("h100-sxm", {"roles": "none", "epilogue": "bias"}, "roles="),
        ("h100-sxm", {"dtype": "fp32"}, "bf16"),
    ],
)
def test_what_cannot_be(gpu: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(GpusimError, match=words):
        simulate(gemm(512, 512, 512, **{"tile": "128x128x64", "roles": "cooperative", **options}), load_spec(gpu))


def _case(name: str) -> Case:
    record = {"kernels": [name]}
    return Case("id", "g", "f", "library", {"M": 512, "N": 768, "K": 256}, record)


def test_the_name_of_a_kernel_is_read() -> None:
    """Columns come first in it: 192 along n, 128 along m; clusters of two along m."""
    program, shape = library_product(_case("nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_TNT"))
    assert shape == "512x768x256" and program.pipeline is not None
    wanted = {"tile": "128x192x64", "cluster": "2x1", "stages": 5, "layout": "NT", "mma_rows": "n", "split": "columns", "raster": "n"}
    assert {key: program.params[key] for key in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_x", {"tile": "256x128x32", "roles": "cooperative", "mma_rows": "n"}),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x64x8_stage3_warpsize2x2x1_ffma_x", {"tile": "64x128x8", "warps": 4, "stages": 3}),
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>", {"tile": "128x256x8", "warps": 8, "stages": 4}),
    ],
)
def test_names_of_products_of_32_bit_operands(name: str, wanted: dict[str, Any]) -> None:
    params = library_product(_case(name))[0].params
    assert {key: params[key] for key in wanted} == wanted


@pytest.mark.parametrize(("types", "wanted"), [("tst", "bf16 bf16"), ("hsh", "fp16 fp16"), ("hss", "fp16 fp32"), ("qqtst", "fp8e4m3 bf16")])
def test_types_are_read(types: str, wanted: str) -> None:
    program = library_product(_case(f"nvjet_sm90_{types}_128x128_64x5_1x2_h_bz_coopA_algo2_TNT"))[0]
    assert f"{program.tensor('a').dtype} {program.tensor('c').dtype}" == wanted


@pytest.mark.parametrize(
    "name", ["nvjet_sm90_tst_192x128_64x5_1x2_h_bz_splitK_TNT", "nvjet_sm90_tst_64x8", "nvjet_sm90_xyz_128x128_64x5_1x2_h_bz_TNT", "ampere_sgemm_128x64_nn", ""]
)
def test_a_name_that_tells_no_division_is_refused(name: str) -> None:
    with pytest.raises(GpusimError, match="name"):
        library_product(_case(name))
