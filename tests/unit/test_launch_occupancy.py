"""CTAs per SM: each limiter, the rounding of the hardware, and what the driver answered for measured kernels."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpusim.errors import GpusimError
from gpusim.launch.occupancy import occupancy
from gpusim.lower.lowered import Footprint
from gpusim.spec.load import load_spec
from gpusim.validate.cases import Case, read, shipped_bytes
from gpusim.validate.mapping import DEFAULT_GPU, map_case
from gpusim.validate.protocol import MEASURES
from tests.laws.specs import changed, toy
from tests.unit.lowering import lowered


def _held(warps: int = 4, registers: int = 32, shared: int = 0) -> tuple[int, str]:
    found = occupancy(Footprint(warps, registers, 0, shared), toy())
    assert found.ctas_per_sm == min(found.limits.values()) == found.limits[found.limiter]
    return found.ctas_per_sm, found.limiter


@pytest.mark.parametrize(
    ("footprint", "expected"),
    [
        ({"warps": 32}, (2, "warps")),
        ({"warps": 8, "registers": 100}, (2, "registers")),
        ({"warps": 4, "shared": 40 * 1024}, (3, "shared memory")),
        ({"warps": 1, "shared": 128}, (16, "CTA slots")),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_each_limiter(footprint: dict[str, Any], expected: tuple[int, str]) -> None:
    assert _held(**footprint) == expected


@pytest.mark.parametrize(("registers", "ctas"), [(64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (128, 4), (129, 3), (255, 2)])
def test_registers_are_given_in_eights(registers: int, ctas: int) -> None:
    assert _held(warps=4, registers=registers)[0] == ctas


def test_shared_memory_counts_what_the_system_takes_and_its_granule() -> None:
    room = 160 * 1024
    assert _held(shared=room // 2 - 1024) == (2, "shared memory")
    assert _held(shared=room // 2 - 1023) == (1, "shared memory")
    assert _held(shared=room // 4 - 1024 - 127) == _held(shared=room // 4 - 1024)


def test_no_shared_memory_limits_nothing() -> None:
    assert _held(warps=1, shared=0)[1] == "CTA slots"


@pytest.mark.parametrize(
    ("footprint", "text"),
    [
        (Footprint(16, 255, 0, 0), "131072 registers of 65536"),
        (Footprint(4, 32, 0, 160 * 1024), "164864 bytes of shared memory of 163840"),
        (Footprint(65, 8, 0, 0), "65 warps of 64"),
    ],
)
def test_a_cta_that_does_not_fit(footprint: Footprint, text: str) -> None:
    with pytest.raises(GpusimError) as caught:
        occupancy(footprint, toy())
    assert f"one CTA needs {text}; it does not fit an SM." in str(caught.value)
    assert caught.value.where == "toy"


def test_more_of_a_resource_never_holds_fewer() -> None:
    more = changed(toy(), sm__registers=131072, sm__shared_max=320 * 1024, sm__max_warps=128, sm__max_ctas=32)
    for warps in (1, 2, 4, 8):
        for registers in (24, 90, 168, 255):
            for shared in (0, 5000, 50_000):
                foot = Footprint(warps, registers, 0, shared)
                assert occupancy(foot, more).ctas_per_sm >= 2 * occupancy(foot, toy()).ctas_per_sm


@pytest.mark.parametrize("bk", [16, 32, 64])
def test_a_256x128_tile_with_fp32_accumulators_fills_an_sm(bk: int) -> None:
    """8 warps with 128 accumulators a thread and their addresses are more than half of an A100's registers."""
    found = occupancy(lowered("a100", 2048, 2048, 2048, tile=(256, 128, bk), dtype="bf16").footprint, load_spec("a100"))
    assert found.ctas_per_sm == 1
    assert found.limits["registers"] == 1


def test_registers_belong_to_sub_cores() -> None:
    """80 registers x 32 lanes: 6 warps in each quarter of the register file, not 25 in the whole."""
    assert occupancy(Footprint(1, 80, 0, 128), changed(toy(), sm__max_ctas=32)).ctas_per_sm == 24


def test_every_measured_thread_kernel() -> None:
    """The driver's answer for given registers, block and shared memory."""
    records = json.loads(shipped_bytes(DEFAULT_GPU, "simt.json"))["cases"]
    measured = [r for r in records if r.get("ctas_per_sm")]
    assert len(measured) > 300
    for r in measured:
        foot = Footprint(-(-r["block"][0] * r["block"][1] * r["block"][2] // 32), r["regs"], 0, r["smem_bytes"])
        assert occupancy(foot, load_spec(DEFAULT_GPU)).ctas_per_sm == r["ctas_per_sm"], r["id"]


def _configurations() -> dict[tuple[Any, ...], Case]:
    """One measured case of every even configuration with a pipeline."""
    keys = ("BM", "BN", "BK", "warps", "stages", "dtype")
    cases = (c for c in read(DEFAULT_GPU) if c.kernel == "gemm_kernel" and c.params["even"] and c.params["stages"] >= 2 and c.record.get("regs"))
    return {tuple(c.params[key] for key in keys): c for c in cases}


def test_configurations_of_a_real_compiler() -> None:
    """The model's registers and shared memory hold as many CTAs as those that the compiler reported."""
    spec, found = load_spec(DEFAULT_GPU), _configurations()
    assert len(found) >= 70
    wrong = []
    for key, case in found.items():
        p = map_case(case, MEASURES["cycles"]).program.params
        sizes = {name: p[name] for name in ("tile", "warps", "stages", "dtype")}
        ours = occupancy(lowered(spec, p["m"], p["n"], p["k"], **sizes).footprint, spec).ctas_per_sm
        theirs = occupancy(Footprint(p["warps"], case.record["regs"], 0, case.record["smem_bytes"]), spec).ctas_per_sm
        wrong += [(key, ours, theirs)] if ours != theirs else []
    assert len(wrong) <= 0.05 * len(found), wrong
