"""Attention on a GPU: what a compiler emits (against listings), how CTAs of an SM share it, and how CTAs follow each other."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest

from gpusim import effects as fx
from gpusim.devices.mixed.phases import phases
from gpusim.devices.mixed.sm import Steady, steady
from gpusim.errors import GpusimError
from gpusim.kernels.attention import attention
from gpusim.launch.mixed.chip import Pace, schedule
from gpusim.launch.occupancy import register_limit
from gpusim.launch.run import simulate
from gpusim.lower.lowered import Lowered
from gpusim.lower.mixed.lower import lower_mixed
from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve

#: head_dim, rows, columns, warps, stages, causal -> registers of the compiled kernel and bytes of shared memory (`compiled/flash_*.json`)
LISTED = {
    (64, 64, 64, 4, 3, False): (108, 57344),
    (64, 64, 64, 4, 3, True): (119, 57344),
    (64, 128, 64, 4, 3, False): (202, 65536),
    (64, 128, 64, 4, 3, True): (210, 65536),
    (64, 128, 128, 8, 2, False): (158, 81920),
    (64, 128, 128, 8, 2, True): (174, 81920),
    (128, 64, 64, 4, 3, False): (140, 114688),
    (128, 64, 64, 4, 3, True): (150, 114688),
    (128, 128, 64, 4, 3, False): (255, 131072),
    (128, 128, 128, 8, 2, False): (195, 163840),
    (128, 128, 128, 8, 2, True): (210, 163840),
}


@cache
def _spec() -> GpuSpec:
    return load_spec("h200")


@cache
def _machine() -> Machine:
    return resolve(_spec(), 1800)


def _lowered(d: int, rows: int, cols: int, warps: int, stages: int, causal: bool = False) -> Lowered:
    program = attention(4, 32, 4096, d, block=(rows, cols), warps=warps, stages=stages, causal=causal)
    spec = _spec()
    made = lower_mixed(program, _machine(), spec.sm.shared_max_per_cta, lambda w: register_limit(w, spec))
    assert made is not None
    return made


def _step(lowered: Lowered) -> tuple[Any, ...]:
    return next(e for e in lowered.body if isinstance(e, fx.Repeat)).body


def _steady(lowered: Lowered, ctas: int) -> Steady:
    element = dict.fromkeys("qkvo", 2)
    warps = lowered.program.warps
    return steady(phases(_step(lowered), _machine(), warps, element), _machine(), ctas, max(1, warps // 4), 16, 0.0)


@pytest.mark.parametrize("listed", LISTED)
def test_registers_and_shared_memory_of_listings(listed: tuple[int, int, int, int, int, bool]) -> None:
    registers, shared = LISTED[listed]
    foot = _lowered(*listed).footprint
    assert foot.shared_bytes == shared
    assert foot.registers == pytest.approx(registers, rel=0.05)


def test_counts_of_a_listing() -> None:
    """`flash_d64_64x64_w4_s3_full.sassops`: 34 MUFU.EX2, 36 FMNMX, 134 on the FMA pipe, 8 HGMMA of which 4 read P from registers, 302 in all."""
    step = _step(_lowered(64, 64, 64, 4, 3))
    work = [e for e in step if isinstance(e, fx.Vector)]
    assert sum(e.xu for e in work) == 34
    assert sum(e.fma for e in work) == pytest.approx(134, abs=3)
    assert sum(e.count for e in work) == pytest.approx(302, rel=0.1)
    products = [e for e in step if isinstance(e, fx.Matrix)]
    assert [(e.count, e.n, e.registers) for e in products] == [(4, 64, False), (4, 64, True)]


def test_eight_warps_on_64_rows_do_the_work_twice() -> None:
    four, eight = (sum(e.xu for e in _step(_lowered(64, 64, 64, w, 3)) if isinstance(e, fx.Vector)) * w for w in (4, 8))
    assert eight == 2 * four
    tensor = [sum(e.count * e.n for e in _step(_lowered(64, 64, 64, w, 3)) if isinstance(e, fx.Matrix) and not e.registers) for w in (4, 8)]
    assert tensor[1] == 2 * tensor[0]


def test_a_mask_costs_in_every_block() -> None:
    plain, masked = (sum(e.alu + e.tests for e in _step(_lowered(64, 64, 64, 4, 3, c)) if isinstance(e, fx.Vector)) for c in (False, True))
    assert masked - plain == pytest.approx(114, rel=0.1)


def test_more_ctas_overlap_but_never_beat_the_tensor_core() -> None:
    lowered = _lowered(64, 64, 64, 4, 3)
    times = [_steady(lowered, n).cycles for n in (1, 2, 4)]
    assert times[0] > times[1] > times[2] > 256
    assert times[0] > 256 + 272


def test_spans_are_shares_of_a_life() -> None:
    assert math.fsum(_steady(_lowered(64, 128, 64, 8, 2), 2).spans) == pytest.approx(1.0)


def test_stages_hide_latency() -> None:
    one, two, three = (_steady(_lowered(64, 128, 128, 8, s), 1).cycles for s in (1, 2, 3))
    assert one > two > three


def test_schedule_of_equal_ctas_is_waves() -> None:
    pace = Pace(100.0, 50.0, (0.0, 10.0), 0.0)
    done = schedule([20] * 6, [0, 1], 2, pace)
    assert done.end == pytest.approx(3 * (100 + 200 + 50))
    assert sum(done.loops) == pytest.approx(6 * 200)


def test_schedule_shares_an_sm() -> None:
    pace = Pace(0.0, 0.0, (0.0, 10.0, 6.0), 0.0)
    done = schedule([10, 20], [0, 0], 1, pace)
    assert done.end == pytest.approx(20 * 6 + 10 * 10)


def test_causal_visits_half_of_the_blocks() -> None:
    runs = [simulate(attention(8, 16, 2048, 64, block=(64, 64), stages=3, causal=c), _spec()) for c in (False, True)]
    full, causal = (r.counters["tensor_fma"] for r in runs)
    assert causal / full == pytest.approx((32 * 33 / 2) / 32**2)
    assert runs[1].cycles < runs[0].cycles


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(GpusimError, match="bytes of shared memory"):
        simulate(attention(1, 1, 1024, 256, block=(128, 128), warps=8, stages=4), _spec())


def test_long_sequences_are_quick() -> None:
    run = simulate(attention(1, 32, 16384, 64, block=(128, 64), stages=3, causal=True), _spec())
    assert run.counters["dram_read_bytes"] >= 3 * 32 * 16384 * 64 * 2
    assert sum(run.stalls.values()) == pytest.approx(run.warp_cycles)


def test_warps_that_only_copy_make_it_faster() -> None:
    plain, specialised = (simulate(attention(4, 16, 4096, 128, block=(128, 128), warps=8, variant=v), _spec()) for v in ("fa2", "fa3"))
    assert specialised.cycles < 0.85 * plain.cycles
    assert specialised.occupancy.warps_per_cta == plain.occupancy.warps_per_cta + 4


def test_splitting_the_keys_fills_the_chip() -> None:
    whole = simulate(attention(1, 8, 16384, 128, queries=1, block=(16, 128), warps=1), _spec())
    parts = attention(1, 8, 16384, 128, queries=1, block=(16, 128), warps=1, variant="split-kv")
    assert isinstance(parts, tuple)
    assert sum(simulate(p, _spec()).cycles for p in parts) < 0.5 * whole.cycles


def test_backward_is_timed() -> None:
    for program in attention(1, 8, 1024, 64, block=(64, 64), stages=2, direction="backward"):
        run = simulate(program, _spec())
        assert run.cycles >= max(run.bounds.values())


@pytest.mark.parametrize("cols", [32, 64, 128])
def test_bytes_asked_for_by_the_outer_loop_over_keys(cols: int) -> None:
    """(2 + 3 N / Bc) |Q|: K and V once, and for each block of keys Q and O in and O out; the statistics are two numbers a row besides."""
    seq, d, heads = 2048, 64, 16
    run = simulate(attention(1, heads, seq, d, block=(64, cols), variant="fa1", stages=2), _spec())
    rows = heads * seq
    statistics = 4 * rows * 4 * (seq // cols)
    moved = 32 * (run.counters["l1_load_sectors"] + run.counters["l1_store_sectors"]) - statistics
    assert moved == pytest.approx((2 + 3 * seq / cols) * rows * d * 2, rel=0.01)


def test_formats() -> None:
    half, quarter = (simulate(attention(1, 16, 2048, 128, warps=8, stages=2, dtype=d), _spec()) for d in ("bf16", "fp8e4m3"))
    assert quarter.bounds["tensor"] == pytest.approx(half.bounds["tensor"] / 2, rel=0.1)
    assert quarter.cycles < half.cycles
    with pytest.raises(GpusimError, match="no timing for products of fp32"):
        simulate(attention(1, 1, 1024, 64, warps=8, dtype="fp32"), _spec())
