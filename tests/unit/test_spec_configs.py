"""The shipped numbers: every one has a source, agrees with the published figures, and is shown by `gpusim show`."""

from __future__ import annotations

import re

import pytest

from gpusim.spec.device import GpuSpec
from gpusim.spec.load import load_spec, names
from gpusim.spec.show import devices_text, spec_rows, spec_text

ALL = names()
#: what every source must be: measured, published, worked out from one of these, a guess that says so, or a programming guide
ORIGIN = re.compile(r"(as on [a-z0-9-]+: )?(measured|published|derived|fitted|assumed|CUDA)\b")
#: published figures: SMs, max warps, registers, shared KiB per SM and per CTA, L2 MiB, DRAM GB, compute capability
PUBLISHED = {
    "v100": (80, 64, 65536, 96, 96, 6, 32, "7.0"),
    "a100-sxm-40gb": (108, 64, 65536, 164, 163, 40, 40, "8.0"),
    "a100-sxm-80gb": (108, 64, 65536, 164, 163, 40, 80, "8.0"),
    "h100-pcie": (114, 64, 65536, 228, 227, 50, 80, "9.0"),
    "h100-sxm": (132, 64, 65536, 228, 227, 50, 80, "9.0"),
    "h200-sxm": (132, 64, 65536, 228, 227, 60, 141, "9.0"),
    "b200-sxm": (148, 64, 65536, 228, 227, 126, 180, "10.0"),
}


def best_rate(spec: GpuSpec, dtype: str) -> float:
    """Dense FMA per cycle of an SM with the better kind of matrix instruction."""
    tables = [spec.tensor.mma_sync.fma_per_cycle, spec.tensor.wgmma.fma_per_cycle if spec.tensor.wgmma else {}]
    return max(table.get(dtype, 0.0) for table in tables)


@pytest.mark.parametrize("name", ALL)
def test_every_number_has_a_source(name: str) -> None:
    spec = load_spec(name)
    rows = [row for row in spec_rows(spec) if not isinstance(row.value, str)]
    assert len(rows) > 60
    assert [row.path for row in rows if not ORIGIN.match(row.source)] == []
    assert set(spec.provenance) == {row.path for row in rows}


def test_published_figures_cover_all_gpus() -> None:
    assert set(PUBLISHED) == set(ALL)


@pytest.mark.parametrize("name", ALL)
def test_published_figures(name: str) -> None:
    s = load_spec(name)
    shown = (s.sms, s.sm.max_warps, s.sm.registers, s.sm.shared_max / 1024, s.sm.shared_max_per_cta / 1024, s.l2.capacity / 2**20, s.dram.capacity / 1e9)
    assert (*shown, s.compute_capability) == PUBLISHED[name]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", ["bf16", "fp16", "tf32"])
def test_tensor_peak_is_sms_times_rate_times_clock(name: str, dtype: str) -> None:
    spec = load_spec(name)
    if dtype not in spec.peak:
        assert best_rate(spec, dtype) == 0
        return
    assert 2 * spec.sms * best_rate(spec, dtype) * spec.clocks.tensor == pytest.approx(spec.peak[dtype], rel=0.1)


@pytest.mark.parametrize("name", ALL)
def test_fp32_peak_is_lanes_times_clock(name: str) -> None:
    spec = load_spec(name)
    assert 2 * spec.sms * spec.sm.fma_lanes * spec.clocks.boost == pytest.approx(spec.peak["fp32"], rel=0.03)


def test_formats_of_the_generations() -> None:
    assert set(load_spec("v100").tensor.mma_sync.fma_per_cycle) == {"fp16"}
    assert load_spec("a100").tensor.wgmma is None
    assert not load_spec("v100").copy_engines.cp_async and not load_spec("a100").copy_engines.tma
    assert load_spec("v100").l2.halves == 1


def test_bandwidths_are_in_order() -> None:
    """L2 is faster than DRAM, and the GPCs together can take what L2 reads."""
    for name in ALL:
        spec = load_spec(name)
        assert spec.l2.read_bandwidth > spec.l2.write_bandwidth >= 0.95 * spec.dram.bandwidth * spec.dram.efficiency
        assert spec.chip.gpc_bytes_per_cycle_per_sm * spec.sms * spec.clocks.boost > spec.l2.read_bandwidth


def test_only_the_measured_chip_is_validated_and_the_others_say_why_not() -> None:
    specs = [load_spec(name) for name in ALL]
    assert [s.name for s in specs if s.validated] == ["h200-sxm"]
    assert all(re.search("No measured kernels|Unvalidated", s.note) for s in specs if not s.validated)
    assert not [p for s in specs if not s.validated for p, source in s.provenance.items() if source.startswith("measured")]


def test_measured_constants_of_the_h200() -> None:
    s = load_spec("h200")
    assert sum(n for n, half in zip(s.chip.gpc_sms, s.chip.gpc_half, strict=True) if half) == 66
    assert s.tensor.wgmma is not None
    assert 64 * 256 * 16 / s.tensor.wgmma.fma_per_cycle["bf16"] == 128
    assert [s.tensor.wgmma.operand_base + s.tensor.wgmma.operand_per_n * n for n in (8, 16, 32)] == [18, 20, 24]
    dram = s.dram.latency * s.clocks.boost / 1e9
    assert s.l2.hit_latency + s.l2.far_latency / 2 + dram == pytest.approx(691, rel=0.01), "a chase through DRAM, half of it homes in the far half"
    assert s.l2.usable * s.l2.capacity / 2 == pytest.approx(29.3 * 2**20, rel=0.001)


def test_show_prints_value_unit_and_source() -> None:
    spec = load_spec("h100")
    rows = {row.path: row for row in spec_rows(spec)}
    assert rows["l2.capacity"].text == "50MiB" and rows["l2.capacity"].unit == "B" and rows["l2.capacity"].value == 50 * 2**20
    assert rows["tensor.wgmma.fma_per_cycle.bf16"].text == "2048 FMA/cycle/SM"
    assert rows["peak.bf16"].text == "989.4TFLOP/s" and rows["copy_engines.tma"].text == "yes"
    assert rows["dram.standard"].text == "HBM3" and rows["chip.gpc_half"].text == "0 0 1 1 1 0 0 0 1"
    text = spec_text(spec, provenance=True)
    assert text.startswith("h100-sxm (default, h100, h100-sxm5): not validated")
    assert all(row.path in text and row.text in text and row.source in text for row in rows.values())
    assert rows["l2.capacity"].meaning in spec_text(spec) and rows["l2.capacity"].source not in spec_text(spec)


def test_devices_lists_names_and_aliases() -> None:
    lines = devices_text().splitlines()
    assert [line.split()[0] for line in lines] == [*ALL, *names("tpu")]
    assert "h100-sxm5" in devices_text()
