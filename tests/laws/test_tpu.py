"""Laws of launches on TPUs: better machines are never slower, bytes and operations are at least what must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpusim as gs
from gpusim.report.report import Report
from gpusim.spec.load import names
from gpusim.spec.tpu import TpuSpec

Sizes = tuple[int, int, int]
sizes = st.tuples(st.integers(1, 1500), st.integers(1, 1500), st.integers(1, 1500))


def spec(name: str = "tpu-v5e") -> TpuSpec:
    found = gs.load_spec(name)
    assert isinstance(found, TpuSpec)
    return found


def changed(of: TpuSpec, part: str, **fields: Any) -> TpuSpec:
    return of.model_copy(update={part: getattr(of, part).model_copy(update=fields)})


def run(shape: Sizes, gpu: TpuSpec, tile: str | None = "128x256x256") -> Report:
    return gs.run(gs.kernels.gemm(*shape, tile=tile), gpu=gpu)


BETTER: dict[str, Callable[[TpuSpec], TpuSpec]] = {
    "memory": lambda s: changed(s, "dram", bandwidth=2 * s.dram.bandwidth),
    "latency": lambda s: changed(s, "dma", latency=0.0),
    "buffers": lambda s: changed(s, "dma", buffers=3),
    "arrays": lambda s: changed(s, "mxu", count=8),
    "rows": lambda s: changed(s, "mxu", rows_per_cycle={"bf16": 2.0}),
    "weights": lambda s: changed(s, "mxu", weight_rows_per_cycle=4.0),
    "steps": lambda s: changed(s, "grid", step_overhead=0.0),
    "vector unit": lambda s: changed(s, "vpu", alus=8),
    "vector memory": lambda s: changed(s, "vmem", bytes_per_cycle=1e6),
    "cores": lambda s: changed(s, "chip", cores=2),
    "clock": lambda s: s.model_copy(update={"clock": 2 * s.clock}),
}


@pytest.mark.parametrize("what", BETTER)
@pytest.mark.parametrize("shape", [(8, 2048, 2048), (1024, 1024, 1024), (700, 300, 900)])
def test_a_better_machine_is_not_slower(what: str, shape: Sizes) -> None:
    base = spec()
    # the order in which copies are served may change, so a little is forgiven
    assert run(shape, BETTER[what](base)).time_us <= 1.01 * run(shape, base).time_us


def test_without_double_buffered_weights_it_is_slower() -> None:
    shape, tile = (512, 1024, 1024), "128x1024x1024"
    assert run(shape, changed(spec(), "mxu", double_buffered=False), tile).time_us > 1.3 * run(shape, spec(), tile).time_us


@settings(max_examples=40, deadline=None)
@given(shape=sizes, name=st.sampled_from(names("tpu")))
def test_no_less_than_must_be(shape: Sizes, name: str) -> None:
    """Compulsory bytes, useful operations, the roofline, and a life that is accounted for."""
    m, n, k = shape
    gpu = spec(name)
    report = run(shape, gpu, None)
    c = report.run.counters
    assert c["dram_read_bytes"] >= 2 * (m * k + k * n) and c["dram_write_bytes"] >= 2 * m * n
    assert 2 * c["tensor_fma"] >= report.run.flops == 2 * m * n * k
    assert report.time_us * 1e-6 >= max(report.run.flops / (1.01 * gpu.peak["bf16"]), (c["dram_read_bytes"] + c["dram_write_bytes"]) / gpu.dram.bandwidth)
    assert sum(report.stalls.values()) == pytest.approx(1.0)
    assert c["grid_steps"] >= 1 and c["mxu_passes"] >= -(-k // gpu.mxu.dim) * -(-n // gpu.mxu.dim)


@settings(max_examples=20, deadline=None)
@given(shape=sizes)
def test_the_chosen_block_is_not_worse_than_a_common_one(shape: Sizes) -> None:
    assert run(shape, spec(), None).time_us <= 1.10 * run(shape, spec(), "256x512x512").time_us


@pytest.mark.parametrize("tile", ["128x128x256", "256x512x128", "64x1024x1024"])
def test_all_cores_ask_the_memory_in_order_of_time(tile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusim.engine.server import Server

    asked: list[float] = []
    book = Server.book

    def noted(self: Server, now: float, amount: float) -> float:
        asked.append(now)
        return book(self, now, amount)

    monkeypatch.setattr(Server, "book", noted)
    run((700, 1500, 900), changed(spec("tpu-v4"), "chip", cores=3), tile)
    assert len(asked) > 20 and asked == sorted(asked)


def test_the_order_of_memory_does_not_change_what_is_moved() -> None:
    reports = [run((1000, 1000, 1000), changed(spec(), "chip", cores=cores)) for cores in (1, 2, 4)]
    assert len({(r.run.counters["dram_write_bytes"], r.run.counters["mxu_passes"]) for r in reports}) == 1
    assert [r.time_us for r in reports] == sorted((r.time_us for r in reports), reverse=True)
