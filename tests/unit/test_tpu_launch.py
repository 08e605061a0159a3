"""A launch on a TPU: rules of dimensions, rooflines, the sequential grid, values, refusals."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import gpusim as gs
from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.program import Program
from gpusim.parts.systolic import passes
from gpusim.report.report import Report
from gpusim.spec.load import names
from gpusim.spec.tpu import TpuSpec

ALL = names("tpu")


def gemm(m: int, n: int, k: int, gpu: Any = "tpu-v5e", **options: Any) -> Report:
    return gs.run(gs.kernels.gemm(m, n, k, **options), gpu=gpu)


def spec_of(name: str) -> TpuSpec:
    spec = gs.load_spec(name)
    assert isinstance(spec, TpuSpec)
    return spec


@pytest.mark.parametrize("name", ALL)
def test_a_large_product_reaches_the_peak_and_not_more(name: str) -> None:
    report = gemm(8192, 8192, 8192, name)
    assert report.fraction_of_peak is not None and 0.85 < report.fraction_of_peak <= 1.01


@pytest.mark.parametrize("name", ALL)
def test_a_product_of_few_rows_reads_its_weights_at_the_memory_s_rate(name: str) -> None:
    spec = spec_of(name)
    report = gemm(16, 16384, 8192, name)
    memory = 2 * 16384 * 8192 / spec.dram.bandwidth * 1e6
    arrays = passes(spec.mxu.dim, 8192, 16384) * spec.mxu.dim / spec.mxu.weight_rows_per_cycle / (spec.chip.cores * spec.mxu.count) / spec.clock * 1e6
    assert memory < report.time_us < 1.35 * max(memory, arrays)
    assert report.bottleneck == ("DRAM" if memory > arrays else "MXU weights")


@pytest.mark.parametrize("name", ALL)
def test_the_published_peak_is_what_the_arrays_do(name: str) -> None:
    s = spec_of(name)
    for fmt, peak in s.peak.items():
        assert 2 * s.chip.cores * s.mxu.count * s.mxu.dim**2 * s.mxu.rows_per_cycle[fmt] * s.clock == pytest.approx(peak, rel=0.01)


def test_64_columns_cost_as_much_as_128_and_129_twice_that() -> None:
    """The array is as wide as it is."""
    for n, squares in ((64, 1), (128, 1), (129, 2), (256, 2)):
        report = gemm(4096, n, 4096, tile=f"512x{-(-n // 128) * 128}x1024")
        assert report.run.counters["mxu_passes"] == 8 * 32 * squares == 8 * passes(128, 4096, n)
    half, one, more = (gemm(4096, n, 4096, tile="512x256x1024").run.bounds["MXU"] for n in (64, 128, 129))
    assert half == one == more, "a block pays for all of its columns"


def test_the_device_chooses_blocks_that_fit_the_columns() -> None:
    narrow, wide = gemm(4096, 128, 4096), gemm(4096, 129, 4096)
    assert wide.run.bounds["MXU"] == pytest.approx(2 * narrow.run.bounds["MXU"], rel=0.02)


def test_a_batch_costs_the_same_until_the_rows_hide_the_weights() -> None:
    """Weights move in one row a cycle: 128 rows of activations are as long as a square of weights."""
    reports = {m: gemm(m, 4096, 4096, tile=f"{max(8, m)}x1024x1024") for m in (1, 8, 16, 64, 128, 256)}
    spent = {m: r.run.stalls["mxu"] + r.run.stalls.get("weights", 0.0) for m, r in reports.items()}
    assert spent[1] == spent[8] < 1.2 * spent[8]
    assert spent[64] == pytest.approx(spent[128], rel=0.1)
    assert spent[256] == pytest.approx(2 * spent[128], rel=0.01)
    times = [r.time_us for r in reports.values()]
    assert times == sorted(times)
    assert times[3] < 1.1 * times[0], "memory is the limit up to about 240 rows"


def test_narrow_types_are_packed() -> None:
    """int8: four rows in one of 32 bits, so blocks of 32 rows; half the bytes, twice the rate."""
    wide, narrow = (gemm(4096, 4096, 4096, tile="1024x1024x1024", dtype=dtype) for dtype in ("bf16", "int8"))
    assert narrow.run.counters["dram_read_bytes"] == wide.run.counters["dram_read_bytes"] / 2
    assert narrow.run.bounds["MXU"] == wide.run.bounds["MXU"] / 2
    with pytest.raises(GpusimError, match="8x128.*int8.*32x128 pieces"):
        gemm(4096, 4096, 4096, tile="8x128x128", dtype="int8")
    assert gemm(4096, 4096, 4096, tile="32x128x128", dtype="int8").time_us > 0


def test_all_8_bit_floats_have_one_rate() -> None:
    reports = [gemm(2048, 2048, 2048, "tpu-v7", dtype=dtype, tile="512x1024x1024") for dtype in ("fp8e4m3", "fp8e5m2", "bf16")]
    assert reports[0].run.bounds["MXU"] == reports[1].run.bounds["MXU"] == reports[2].run.bounds["MXU"] / 2
    assert reports[0].peak_tflops == 4614


def test_blocks_under_the_minimum_are_refused_with_the_nearest_legal_ones() -> None:
    with pytest.raises(GpusimError, match="128x64 of 'a'.*tile 128x128x128") as caught:
        gemm(1024, 1024, 1024, tile="128x128x64")
    assert "lanes" in str(caught.value)
    assert gemm(1024, 1024, 64, tile="128x128x64").time_us > 0, "64 is the whole dimension"
    with pytest.raises(GpusimError, match="16x128 pieces.*sublanes"):
        gemm(1024, 1024, 1024, "tpu-v7", tile="8x128x128")


def test_what_does_not_fit_or_does_not_exist_is_refused() -> None:
    with pytest.raises(GpusimError, match="MiB of vector memory"):
        gemm(8192, 8192, 8192, "tpu-v4", tile="2048x2048x2048")
    with pytest.raises(GpusimError, match="multiply no fp16.*Use one of bf16"):
        gemm(1024, 1024, 1024, dtype="fp16")
    with pytest.raises(GpusimError, match="multiply no int8"):
        gemm(1024, 1024, 1024, "tpu-v3", dtype="int8")
    with pytest.raises(GpusimError, match="no L2"):
        gs.run(gs.kernels.gemm(1024, 1024, 1024), gpu="tpu-v5e", l2="warm")
    with pytest.raises(GpusimError, match="on GPUs only"):
        gs.run(gs.kernels.gemm(1024, 1024, 1024), gpu="tpu-v5e", without=["l2-misses"])


def test_kernels_of_threads_are_refused() -> None:
    from gpusim import cuda

    @cuda.jit
    def one(x):  # type: ignore[no-untyped-def]
        x[cuda.grid(1)] = 1.0

    with pytest.raises(GpusimError, match="tpu-v5e is a TPU, which has no threads"):
        gs.run(one, gpu="tpu-v5e", grid=1, block=32, args=(np.zeros(32, np.float32),))


def test_gathers_are_refused() -> None:
    k = Builder("gathered", grid=(1,), warps=1)
    x = k.tensor("x", "fp32", (1024,))
    y = k.tensor("y", "fp32", (1024,), role="out")
    where = k.index((1024,), 0, (1,))
    k.store(y, (0,), k.gather(x, where), (1024,))
    with pytest.raises(GpusimError, match="Gather: accesses that are no boxes"):
        gs.run(k.finish({"dtype": "fp32"}), gpu="tpu-v5e")


def test_values_are_those_of_a_gpu() -> None:
    rng = np.random.default_rng(0)
    inputs = {"a": rng.standard_normal((100, 300)).astype("f"), "b": rng.standard_normal((300, 70)).astype("f")}
    program = gs.kernels.gemm(100, 70, 300, tile="64x128x128", dtype="fp32")
    rows = {"x": rng.standard_normal((64, 1024)).astype("f")}
    for made, given, out in ((program, inputs, "c"), (gs.kernels.softmax(64, 1024), rows, "y")):
        tpu, gpu = (gs.run(made, gpu=name, inputs=given).values for name in ("tpu-v5e", "a100"))
        assert tpu is not None and gpu is not None
        assert np.array_equal(tpu[out], gpu[out])


def test_a_block_that_is_used_again_is_not_copied_again() -> None:
    """All of K in one block: consecutive blocks of a column share their weights."""
    once = gemm(1024, 1024, 1024, tile="128x256x1024")
    assert once.run.counters["dram_read_bytes"] == 2 * (4 * 1024 * 1024 + 1024 * 1024)
    deep = gemm(1024, 1024, 1024, tile="128x256x512")
    assert deep.run.counters["dram_read_bytes"] == 2 * (4 * 1024 * 1024 + 8 * 1024 * 1024)


def test_cores_share_the_grid_and_the_memory() -> None:
    two, spec = spec_of("tpu-v5p"), spec_of("tpu-v5p")
    one = spec.model_copy(update={"chip": spec.chip.model_copy(update={"cores": 1})})
    assert gemm(8192, 8192, 8192, one).time_us == pytest.approx(2 * gemm(8192, 8192, 8192, two).time_us, rel=0.05)
    alone = gemm(128, 128, 1024, two, tile="128x128x1024")
    assert "2 TensorCores" in str(alone) and "1 blocks for 2 cores" in alone.advice


def softmax(rows: int, columns: int, together: int) -> Program:
    k = Builder("softmax", grid=(rows // together,), warps=4)
    x, y = k.tensor("x", "fp32", (rows, columns)), k.tensor("y", "fp32", (rows, columns), role="out")
    at = (k.program_id(0) * together, 0)
    t = k.load(x, at, (together, columns))
    e = k.map("exp", k.map("sub", t, k.reduce("max", t, 1)))
    k.store(y, at, k.map("div", e, k.reduce("sum", e, 1)), (together, columns))
    return k.finish({"rows": rows, "columns": columns, "dtype": "fp32"})


def alone() -> TpuSpec:
    """A machine whose compiler puts no blocks together."""
    spec = spec_of("tpu-v5e")
    return spec.model_copy(update={"grid": spec.grid.model_copy(update={"together": 1})})


def test_row_kernels_run_and_larger_blocks_hide_the_steps() -> None:
    reports = [gs.run(softmax(2048, 2048, together), gpu=alone()) for together in (1, 8, 64)]
    assert [r.run.counters["grid_steps"] for r in reports] == [2048, 256, 32]
    assert len({r.run.counters["dram_read_bytes"] for r in reports}) == 1
    assert reports[0].time_us > 3 * reports[1].time_us > 3 * reports[2].time_us
    assert reports[2].bottleneck == "DRAM"
    assert reports[1].run.counters["transcendental_operations"] == 2 * 2048 * 2048 / 1024


def test_blocks_of_a_row_share_their_steps() -> None:
    """As many as leave 16 steps; bytes and operations stay what they are, and a vector that all rows use is copied once for each group."""
    for program in (
        gs.kernels.softmax(4096, 2048),
        gs.kernels.softmax(4096, 2048, variant="online"),
        gs.kernels.elementwise(1 << 22),
        gs.kernels.rmsnorm(1024, 512),
    ):
        together, one = (gs.run(program, gpu=gpu) for gpu in ("tpu-v5e", alone()))
        a, b = together.run.counters, one.run.counters
        assert a["grid_steps"] % 16 == 0 and a["grid_steps"] < b["grid_steps"] and together.time_us < one.time_us
        same = ("dram_write_bytes", "vector_operations", "transcendental_operations", "vmem_bytes")
        assert [a.get(name) for name in same] == [b.get(name) for name in same]
        assert a["dram_read_bytes"] == b["dram_read_bytes"] and "share each grid step" in str(together) and not one.run.notes


@pytest.mark.parametrize("name", ALL)
def test_a_copy_reaches_the_memory_s_rate(name: str) -> None:
    spec = spec_of(name)
    report = gs.run(gs.kernels.elementwise(1 << 26), gpu=name)
    assert 0.85 < (report.run.counters["dram_read_bytes"] + report.run.counters["dram_write_bytes"]) / report.time_us * 1e6 / spec.dram.bandwidth < 0.94


def test_the_same_run_twice_is_the_same_report() -> None:
    assert str(gemm(1000, 1000, 1000)) == str(gemm(1000, 1000, 1000))


def test_speed() -> None:
    """An 8192^3 in under a second, 1,000 shapes in under 60 s on two cores: time of this process, as others may keep the machine busy."""
    begun = time.process_time()
    gemm(8192, 8192, 8192, "tpu-v5p")
    assert time.process_time() - begun < 1.0
    begun = time.process_time()
    for size in range(1000, 8000, 350):
        gemm(size, 9000 - size, 4096, "tpu-v5p")
    assert time.process_time() - begun < 20 * 0.12


def test_kernels_of_the_library_run_unchanged() -> None:
    for program in (gs.kernels.softmax(512, 1024, variant=v) for v in ("fused", "online", "three-pass")):
        report = gs.run(program, gpu="tpu-v5e")
        assert report.run.counters["dram_write_bytes"] == 4 * 512 * 1024 and "vector unit" in report.bounds
    sizes = {b: gs.run(gs.kernels.elementwise(1 << 22, fn="add", block=b), gpu=alone()) for b in (1 << 12, 1 << 18)}
    assert {r.run.counters["dram_read_bytes"] for r in sizes.values()} == {2 * 4 << 22}
    assert sizes[1 << 18].bottleneck == "DRAM" and sizes[1 << 12].time_us > 2 * sizes[1 << 18].time_us


def test_attention_in_triton_s_spelling() -> None:
    from tests.unit.tpu_attention import attention

    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 128, 64)).astype("f") for _ in range(3))
    outputs, steps = {}, {}
    for causal in (False, True):
        o = np.zeros_like(q)
        args = {"q": q, "k": k, "v": v, "o": o, "size": 128, "D": 64, "BM": 32, "BN": 32, "CAUSAL": causal}
        report = gs.run(attention, gpu="tpu-v5e", grid=(4, 2), args=args)
        outputs[causal], steps[causal] = o, report.run.counters["grid_steps"]
    for causal in (False, True):
        scores = np.einsum("hid,hjd->hij", q, k) / 8 + (np.triu(np.full((128, 128), -np.inf), 1) if causal else 0)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = np.einsum("hij,hjd->hid", weights / weights.sum(-1, keepdims=True), v)
        assert np.allclose(outputs[causal], expected, atol=2e-3), "operands are rounded to tf32"
    assert steps == {False: 2 * 4 * 4, True: 2 * (1 + 2 + 3 + 4)}


def test_attention_of_the_library_wants_large_blocks() -> None:
    """A head of 64 fills half of an array, so it takes as long as one of 128; blocks that suit warps leave a TPU in its grid steps."""
    small, large = (gs.run(gs.kernels.attention(heads=2, seq=1024, head_dim=128, block=block), gpu="tpu-v5e") for block in ("128x64", "512x512"))
    assert small.bottleneck == "grid steps" and small.time_us > 5 * large.time_us
    narrow = gs.run(gs.kernels.attention(heads=2, seq=1024, head_dim=64, block="512x512"), gpu="tpu-v5e")
    assert narrow.time_us == pytest.approx(large.time_us, rel=0.05)
    chosen = gs.run(gs.kernels.attention(heads=2, seq=1024, head_dim=128), gpu="tpu-v5e")
    assert chosen.run.cycles <= large.run.cycles < small.run.cycles
    short = gs.run(gs.kernels.attention(heads=2, seq=200, head_dim=128), gpu="tpu-v5e")
    assert short.run.params["block"] == "256x512"
    causal = gs.run(gs.kernels.attention(heads=2, seq=1024, head_dim=128, block="256x256", causal=True), gpu="tpu-v5e")
    assert causal.run.counters["grid_steps"] == 2 * (1 + 2 + 3 + 4)
