"""The traffic pass of thread kernels: both ways to the L2 agree, and what stays between launches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusim import cuda
from gpusim.ir.simt.nodes import Geometry
from gpusim.launch.simt import passes, timing_only
from gpusim.launch.simt.args import ArraySpec
from gpusim.launch.simt.memory import Footprint
from gpusim.launch.simt.run import simulate_simt
from gpusim.launch.simt.state import MemoryState
from gpusim.launch.simt.traffic import supposed
from gpusim.parts.sectored_l2 import SectoredL2
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import resolve

SPEC = load_spec("h200")
BOOKED = ("l2_read_miss_sectors", "fabric_read_sectors", "fabric_write_sectors", "dram_read_bytes", "dram_write_bytes", "l2_dirty_bytes")


@cuda.jit
def scale(x, y):
    i = cuda.grid(1)
    y[i] = x[i] + x[i]


@cuda.jit
def turn(x, y, n):
    col, row = cuda.grid(2)
    y[col * n + row] = x[row * n + col]


@cuda.jit
def scatter(y, stride):
    y[cuda.grid(1) * stride] = np.float32(1)


@cuda.jit
def total(x, s):
    cuda.atomic.add(s, 0, x[cuda.grid(1)])


def _f32(n: int) -> ArraySpec:
    return ArraySpec((n,), "float32")


def _run(kernel: Any, grid: tuple[int, int, int], block: tuple[int, int, int], args: tuple[Any, ...], **options: Any) -> dict[str, float]:
    return dict(simulate_simt(kernel, Geometry(grid, block), args, SPEC, values=False, **options).run.counters)


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "args"),
    [
        (scale, (1024, 1, 1), (256, 1, 1), (_f32(1 << 18), _f32(1 << 18))),
        (turn, (16, 64, 1), (32, 8, 1), (_f32(1 << 18), _f32(1 << 18), np.int32(512))),
        (scatter, (512, 1, 1), (256, 1, 1), (_f32(1 << 20), np.int32(8))),
    ],
)
def test_classes_of_ctas_touch_what_all_ctas_touch(kernel: Any, grid: Any, block: Any, args: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_class = _run(kernel, grid, block, args)
    for module in (passes, timing_only):
        monkeypatch.setattr(module, "classed", lambda *_: None)
    one_by_one = _run(kernel, grid, block, args)
    assert {name: by_class.get(name) for name in BOOKED} == {name: one_by_one.get(name) for name in BOOKED}


def test_every_sector_is_read_once_and_half_of_them_come_from_the_other_half() -> None:
    counters = _run(scale, (4096, 1, 1), (256, 1, 1), (_f32(1 << 20), _f32(1 << 20)))
    assert counters["dram_read_bytes"] == 4 << 20
    assert counters["l2_dirty_bytes"] == 4 << 20 and counters["dram_write_bytes"] == 0
    assert abs(counters["fabric_read_sectors"] / counters["l2_read_miss_sectors"] - 0.5) < 0.01


def test_an_array_that_the_launch_before_has_written_is_read_from_l2() -> None:
    state, x, y, z = MemoryState(SPEC), _f32(1 << 20), _f32(1 << 20), _f32(1 << 20)
    _run(scale, (4096, 1, 1), (256, 1, 1), (x, y), state=state)
    assert _run(scale, (4096, 1, 1), (256, 1, 1), (y, z), state=state)["dram_read_bytes"] == 0


@pytest.mark.parametrize(("elements", "leaves"), [(1 << 20, 0), (1 << 24, 1)])
def test_reads_push_dirty_lines_out_only_behind_all_clean_ones(elements: int, leaves: float) -> None:
    args = (_f32(elements), _f32(1))
    extra = [_run(total, (elements // 256, 1, 1), (256, 1, 1), args, l2=l2)["dram_write_bytes"] for l2 in ("foreign-dirty", "cold")]
    dirty = SPEC.l2.capacity * SPEC.l2.dirty_share
    assert extra[0] - extra[1] == pytest.approx(leaves * dirty, rel=0.01, abs=64)


@pytest.mark.parametrize(("elements", "leaves"), [(1 << 20, 0), (1 << 24, 1)])
def test_what_a_profiler_left_dirty_leaves_when_no_place_is_empty(elements: int, leaves: int) -> None:
    args, grid = (_f32(elements), _f32(1)), (elements // 256, 1, 1)
    extra = [_run(total, grid, (256, 1, 1), args, state=MemoryState(SPEC, leftover=left))["dram_write_bytes"] for left in (2e6, 0.0)]
    assert extra[0] - extra[1] == leaves * 2e6


def test_of_a_sampled_stream_as_much_stays_dirty_as_of_one_that_is_walked() -> None:
    """Copies: what was touched last stays, half of it written, with a copy of every other line."""
    machine = resolve(SPEC, 1755.0)
    n = 1 << 22
    prints = {"x": Footprint(n, 0, n), "y": Footprint(0, n, n)}
    dirty = supposed(prints, {}, machine).dirty.sectors * 32
    assert dirty == pytest.approx(machine.half_bytes * 2 / 1.5 / 2, rel=1e-3)
    in_place = supposed({"x": Footprint(n, n, n)}, {}, machine).dirty.sectors * 32
    assert in_place == pytest.approx(min(2 * machine.dirty_bytes, machine.half_bytes * 2 / 1.5), rel=1e-3)


def test_what_is_stored_pushes_as_many_dirty_bytes_out() -> None:
    counters = _run(scale, (4096, 1, 1), (256, 1, 1), (_f32(1 << 20), _f32(1 << 20)), l2="foreign-dirty")
    assert counters["dram_write_bytes"] == 4 << 20


def test_a_sector_written_in_part_takes_two_slots_and_few_are_filled() -> None:
    """One word of each sector: few such lines stay; beyond them, each sector is read and written back."""
    grid, n = 4096, 4096 * 256
    counters = _run(scatter, (grid, 1, 1), (256, 1, 1), (_f32(8 * n), np.int32(8)))
    lines, kept = n // 4, SPEC.l2.capacity * SPEC.l2.usable * SPEC.l2.part_share / SPEC.l2.line
    filled = 4 * (lines - kept) * 32
    assert counters["dram_read_bytes"] == pytest.approx(filled, rel=0.05)
    assert counters["dram_write_bytes"] == pytest.approx(filled, rel=0.05)


def test_lines_written_in_part_and_completed_later_are_whole() -> None:
    cache = SectoredL2(64, 1, 64, 64, 2, part=8)
    lines, all_of = np.arange(32), np.full(32, 15, np.uint8)
    sectors = np.arange(128)
    cache.write(0, lines[:8], all_of[:8], (sectors[:32], np.full(32, 16)))
    cache.write(0, lines[:8], all_of[:8], (sectors[:32], np.full(32, 16)))
    assert cache.written()[0].fills == 0
    for at in (8, 16, 24):
        cache.write(0, lines[at : at + 8], all_of[at : at + 8], (sectors[4 * at : 4 * at + 32], np.full(32, 16)))
    back, left = cache.written()
    assert back.fills == 4 * 16 and left.sectors == 128 - 4 * 16, "eight of these twenty-four lines stay as they are"
