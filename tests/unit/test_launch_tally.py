"""Counts that need no clock, against a loop over every block, step and effect."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim import effects as fx
from gpusim.devices.gpu import Gpu
from gpusim.devices.stream import Stream
from gpusim.ir.expr import evaluate
from gpusim.launch.streaming import stream
from gpusim.launch.tally import tally
from gpusim.parts.coalesce import Touched, touch
from tests.laws.specs import toy, toy_machine
from tests.unit.lowering import lowered

MACHINE = toy_machine()
SIZES = st.integers(1, 150)


def _stream(*sizes: int, **options: Any) -> Stream:
    return stream(lowered(toy(), *sizes, **options))


def _touched(made: Stream, site: int, cta: int, step: int) -> Touched:
    """What one block touches at one step, from the box itself."""
    at, t = made.sites[site], made.sites[site].tensor
    row, column = (int(evaluate(o, made.env(cta) | {made.var: step})) for o in at.box.origin)
    rows, columns = min(at.box.shape[0], t.shape[0] - row), min(at.box.shape[1], t.row_bound - column)
    size = t.dtype.bytes
    whole = (at.box.shape[0], at.box.shape[1] * size)
    return touch((row * t.pitch + column) * size % 128, max(rows, 0), max(columns, 0) * size, t.pitch * size, at.piece, 32, 128, whole)


def _counted(made: Stream) -> dict[str, float]:
    """Sectors, bytes and multiply-adds, one access after the other."""
    found = dict.fromkeys(("l1_load_sectors", "l1_store_sectors", "load_bytes", "store_bytes", "tensor_fma"), 0.0)
    for cta in range(made.ctas):
        life = [(e, s, 0) for e, s in made.prologue] + [(e, s, k) for k in range(made.trips) for e, s in made.body] + [(e, s, 0) for e, s in made.epilogue]
        for effect, site, step in life:
            if isinstance(effect, fx.Matrix):
                found["tensor_fma"] += effect.count * effect.m * effect.n * effect.k
            ahead = effect.ahead if isinstance(effect, fx.Copy) else 0
            if site >= 0 and step + ahead < made.trips:
                share = 1 / effect.parts if isinstance(effect, fx.Load) else 1
                touched, kind = _touched(made, site, cta, step + ahead), "store" if isinstance(effect, fx.Store) else "load"
                found[f"l1_{kind}_sectors"] += touched.sectors * share
                found[f"{kind}_bytes"] += touched.unique * share
    return found


@settings(max_examples=12, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(["padded", "packed"]), st.sampled_from([1, 2, 3]), st.sampled_from(["fp16", "tf32"]))
def test_sectors_bytes_and_arithmetic(m: int, n: int, k: int, ld: str, stages: int, dtype: str) -> None:
    made = _stream(m, n, k, tile=(32, 64, 32), ld=ld, stages=stages, dtype=dtype, group_m=2)
    counts = tally(made, MACHINE)
    for name, value in _counted(made).items():
        assert counts[name] == pytest.approx(value), name


@settings(max_examples=12, deadline=None)
@given(SIZES, SIZES, SIZES, st.sampled_from(["padded", "packed"]), st.sampled_from([1, 2, 4]), st.sampled_from(["fp16", "tf32", "fp32"]))
def test_the_device_executes_what_is_tallied(m: int, n: int, k: int, ld: str, stages: int, dtype: str) -> None:
    made = _stream(m, n, k, tile=(32, 64, 32), ld=ld, stages=stages, dtype=dtype)
    executed = Gpu(MACHINE, made, 1, "cold").run(range(made.ctas), range(min(made.ctas, 12))).counts
    counts = tally(made, MACHINE)
    for name in ("instructions", "tensor_fma", "l1_load_sectors", "l1_store_sectors", "shared_wavefronts", "spill_bytes"):
        assert executed[name] == pytest.approx(counts[name]), name


def test_counts_are_in_proportion_to_the_blocks() -> None:
    one, many = (tally(_stream(m, 64, 256, tile=(32, 64, 32)), MACHINE) for m in (32, 320))
    assert many == pytest.approx({name: 10 * value for name, value in one.items()})
