"""A GEMM as effects: the pipelined loop and the serial one, how many stages, what a CTA occupies, and what does not fit."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpusim import effects as fx
from gpusim.errors import GpusimError
from gpusim.ir.build import Builder
from gpusim.ir.expr import evaluate
from gpusim.lower.gpu_tile import lower
from gpusim.spec.load import load_spec
from tests.laws.specs import toy, toy_machine
from tests.unit.lowering import lowered, of, parts

ALIGNED = (256, 256, 256)
#: GPU, dtype, how it multiplies
UNITS = [("h200", "bf16", "wgmma"), ("h200", "tf32", "wgmma"), ("a100", "fp16", "mma.sync"), ("a100", "fp32", "simt"), ("v100", "fp16", "mma.sync")]


@pytest.mark.parametrize(("gpu", "dtype", "kind"), UNITS)
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_matrix_work_of_a_cta_is_that_of_its_tile(gpu: str, dtype: str, kind: str, stages: int) -> None:
    made = lowered(gpu, *ALIGNED, tile=(64, 128, 32), dtype=dtype, stages=stages)
    _, loop, _ = parts(made)
    assert made.matrix == kind
    done = sum(e.count * e.m * e.n * e.k for e in of(fx.Matrix, loop.body))
    fma = sum(e.count * 32 * made.footprint.warps for e in of(fx.Issue, loop.body)) if kind == "simt" else 0
    assert done == (0 if kind == "simt" else 64 * 128 * 32)
    assert fma >= (64 * 128 * 32 if kind == "simt" else 0)
    assert evaluate(loop.count, {}) == 256 // 32


@pytest.mark.parametrize("gpu", ["h200", "a100"])
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_copies_run_ahead_of_the_arithmetic(gpu: str, stages: int) -> None:
    made = lowered(gpu, *ALIGNED, tile=(64, 64, 32), stages=stages)
    before, loop, _ = parts(made)
    assert made.stages == stages
    assert [e.ahead for e in of(fx.Copy, before)] == [step for step in range(stages - 1) for _ in "ab"]
    assert len(of(fx.Commit, before)) == stages - 1
    assert [e.ahead for e in of(fx.Copy, loop.body)] == [stages - 1] * 2
    assert len(of(fx.Commit, loop.body)) == 1
    assert [e.pending for e in of(fx.WaitCopies, loop.body)] == [stages - 2], "as many groups as may stay under way"
    assert not of(fx.Load, loop.body) and not of(fx.Local, loop.body)


def test_waiting_comes_before_the_barrier_and_that_before_the_arithmetic() -> None:
    _, loop, _ = parts(lowered("h200", *ALIGNED, tile=(64, 64, 32)))
    kinds = [type(e) for e in loop.body]
    assert kinds.index(fx.WaitCopies) < kinds.index(fx.Barrier) < kinds.index(fx.Matrix) < kinds.index(fx.WaitMatrix)


def test_asynchronous_matrix_instructions_are_waited_for_before_their_stage_is_overwritten() -> None:
    _, loop, _ = parts(lowered("h200", *ALIGNED, tile=(64, 64, 32)))
    kinds = [type(e) for e in loop.body]
    assert kinds.index(fx.WaitMatrix) < kinds.index(fx.Copy)
    assert [e.pending for e in of(fx.WaitMatrix, loop.body)] == [1]


@pytest.mark.parametrize(("gpu", "dtype", "kind"), UNITS)
def test_without_a_pipeline_tiles_go_through_registers(gpu: str, dtype: str, kind: str) -> None:
    before, loop, _ = parts(lowered(gpu, *ALIGNED, tile=(64, 64, 32), dtype=dtype, stages=1))
    assert not of(fx.Copy, (*before, *loop.body)) and not of(fx.Commit, (*before, *loop.body)) and not of(fx.WaitCopies, loop.body)
    boxes = {e.box.tensor for e in of(fx.Load, loop.body)}
    assert boxes == {"a", "b"}
    staged = of(fx.Shared, loop.body)
    assert sum(e.wavefronts for e in staged) * 128 >= 2 * 64 * 32 * (4 if dtype == "fp32" else 2), "both tiles are stored to shared memory"
    assert len(of(fx.Fence, loop.body)) == 1


@pytest.mark.parametrize(("gpu", "dtype", "kind"), UNITS)
@pytest.mark.parametrize("stages", [1, 2])
def test_the_result_is_stored_once_after_the_last_wait(gpu: str, dtype: str, kind: str, stages: int) -> None:
    made = lowered(gpu, *ALIGNED, tile=(64, 64, 32), dtype=dtype, stages=stages)
    _, _, after = parts(made)
    assert isinstance(after[0], fx.WaitMatrix) and after[0].pending == 0
    (store,) = of(fx.Store, made.body)
    assert after[-1] is store
    assert (store.box.tensor, store.box.shape, store.piece) == ("c", (64, 64), 16)


@pytest.mark.parametrize(
    ("gpu", "tile", "expected"),
    [("h200", (128, 128, 32), 4), ("h200", (256, 128, 64), 4), ("h200", (256, 128, 128), 2), ("a100", (256, 128, 64), 3), ("v100", (128, 128, 32), 1)],
)
def test_left_open_the_pipeline_is_as_deep_as_fits_up_to_four(gpu: str, tile: tuple[int, int, int], expected: int) -> None:
    made = lowered(gpu, 512, 512, 512, tile=tile, dtype="fp16")
    size = (tile[0] + tile[1]) * tile[2] * 2
    assert made.stages == expected
    assert made.footprint.shared_bytes == expected * size <= load_spec(gpu).sm.shared_max_per_cta
    fits = load_spec(gpu).copy_engines.cp_async and expected < 4
    assert not fits or (expected + 1) * size > load_spec(gpu).sm.shared_max_per_cta


def test_copies_of_two_bytes_give_no_pipeline() -> None:
    made = lowered("h200", 257, 257, 257, tile=(64, 64, 32), ld="packed", stages=3)
    _, loop, _ = parts(made)
    assert made.stages == 1
    assert {e.piece for e in of(fx.Load, loop.body)} == {2}
    assert not of(fx.Copy, loop.body)


def test_one_narrow_operand_is_enough() -> None:
    made = lowered("h200", 256, 256, 256, tile=(64, 64, 32), lda=257)
    _, loop, _ = parts(made)
    assert made.stages == 1
    assert {(e.box.tensor, e.piece) for e in of(fx.Load, loop.body)} == {("a", 2), ("b", 16)}


def test_copies_of_four_bytes_may_be_asynchronous() -> None:
    made = lowered("a100", 257, 257, 257, tile=(64, 64, 32), ld="packed", dtype="fp32", stages=2)
    _, loop, _ = parts(made)
    assert made.stages == 2
    assert {e.piece for e in of(fx.Copy, loop.body)} == {4}


def test_narrow_pieces_issue_more() -> None:
    def issued(**options: Any) -> float:
        _, loop, _ = parts(lowered("h200", 256, 256, 256, tile=(64, 64, 32), stages=1, **options))
        return sum(e.count for e in of(fx.Issue, loop.body))

    assert issued(lda=257, ldb=257) > issued(ldb=257) > issued()


def test_a_masked_loop_issues_more() -> None:
    def issued(*sizes: int) -> float:
        _, loop, _ = parts(lowered("h200", *sizes, tile=(64, 64, 32)))
        return sum(e.among.count for e in of(fx.Copy, loop.body))

    assert issued(250, 256, 256) > issued(256, 256, 256)


# ---- what does not fit ----
def _message(**options: Any) -> GpusimError:
    with pytest.raises(GpusimError) as caught:
        lowered("a100", 512, 512, 512, **options)
    return caught.value


def test_a_tile_that_no_shared_memory_holds() -> None:
    error = _message(tile=(256, 256, 256))
    assert "256x256x256 needs 262144 bytes" in error.what
    assert "may have 166912" in error.what
    assert error.hint == "256x256x128 is the largest that fits."


@pytest.mark.parametrize("asked", [4, 7])
def test_more_stages_than_fit(asked: int) -> None:
    error = _message(tile=(256, 128, 64), stages=asked)
    assert f"{asked} stages of 49152 bytes need {asked * 49152} bytes" in error.what
    assert error.hint == "At most 3 stages of this tile fit."
    assert lowered("a100", 512, 512, 512, tile=(256, 128, 64), stages=3).stages == 3


@pytest.mark.parametrize(
    ("tile", "warps"),
    [
        ((256, 256, 32), 8),
        ((256, 128, 32), 4),
        ((128, 128, 32), 1),
    ],
)
def test_more_accumulators_than_registers(tile: tuple[int, int, int], warps: int) -> None:
    error = _message(tile=tile, warps=warps)
    assert f"tile {tile[0]}x{tile[1]} with {warps} warps needs {tile[0] * tile[1] // 32 // warps} accumulators per thread" in error.what
    advised = re.findall(r"at least (\d+) warps", error.hint)
    assert bool(advised) == (tile != (256, 256, 32)), "no number of warps holds 65536 accumulators"
    largest = int(re.findall(r"at most (\d+) elements", error.hint)[0])
    for enough in map(int, advised):
        assert lowered("a100", 512, 512, 512, tile=tile, warps=enough).footprint.registers <= 255, "the first remedy works"
    small = (tile[0], 1 << (largest // tile[0]).bit_length() - 1, tile[2])
    assert lowered("a100", 512, 512, 512, tile=small, warps=warps).footprint.registers <= 255, "the second remedy works"


def test_a_program_without_a_matrix_loop_is_refused() -> None:
    k = Builder("double", grid=(4,), warps=4)
    x = k.tensor("x", "fp32", (4, 32), role="inout")
    t = k.load(x, (k.program_id(0), 0), (1, 32))
    k.store(x, (k.program_id(0), 0), k.map("add", t, t), (1, 32))
    with pytest.raises(GpusimError, match="no timing for this program yet"):
        lower(k.finish(), toy_machine(), toy().sm.shared_max_per_cta, lambda warps: 255)


def test_many_warps_keep_to_the_registers_of_an_sm() -> None:
    """32 warps may have 64 registers a thread, and 32 accumulators leave as many for the rest."""
    made = lowered("h200", 1024, 1024, 1024, tile=(256, 128, 128), warps=32)
    assert made.footprint.registers * made.footprint.warps * 32 <= load_spec("h200").sm.registers


def test_stages_that_a_gpu_cannot_use_need_no_shared_memory() -> None:
    """Without asynchronous copies there is one stage, whatever was asked for."""
    assert lowered("v100", 512, 512, 512, tile=(256, 128, 64), stages=3, dtype="fp16").stages == 1


def test_bursts_of_loads_follow_from_registers() -> None:
    """Bursts seen in listings, by tile, warps and the registers that the compiler used."""
    seen = {((128, 128, 64), 4, 238): 1, ((128, 256, 64), 8, 218): 1, ((64, 256, 64), 4, 251): 2, ((128, 128, 64), 8, 124): 2, ((128, 64, 64), 4, 158): 1}
    for (tile, warps, registers), bursts in seen.items():
        _, loop, _ = parts(lowered("h200", 512, 512, 512, tile=tile, warps=warps, stages=1, registers=registers))
        assert {e.parts for e in of(fx.Load, loop.body)} == {bursts}, (tile, warps)
        assert len([e for e in of(fx.Shared, loop.body) if e.arriving]) == bursts


def test_registers_that_are_given_decide_what_a_cta_occupies() -> None:
    assert lowered("h200", *ALIGNED, tile=(64, 64, 32), registers=77).footprint.registers == 77


def test_all_registers_given_hide_no_spills() -> None:
    """A compiler reports 255 registers whether it spilled or not: addresses of narrow copies that do not fit are spilled all the same."""
    made, told = (lowered("h200", 1793, 1793, 1793, tile=(256, 128, 64), warps=8, lda=1800, ldb=1800, registers=r) for r in (None, 255))
    assert told.footprint.registers == 255 and told.footprint == made.footprint
    assert of(fx.Local, parts(told)[1].body) and told.body == made.body
