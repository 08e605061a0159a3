"""Probes of the tensor cores against the records of the microbenchmarks, some of each kind: plateaus within 3 %, latencies within 5 %."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpusim.errors import GpusimError
from gpusim.probe import tensor
from gpusim.probe.plan import Excluded
from gpusim.probe.registry import simulation
from gpusim.spec.load import load_spec
from gpusim.validate import cases
from gpusim.validate.mapping import DEFAULT_GPU

PLATEAU, LATENCY = 0.03, 0.05


@cache
def records() -> tuple[cases.Case, ...]:
    return tuple(c for c in cases._parse("micro.json", cases.shipped_bytes(DEFAULT_GPU, "micro.json")) if c.group == "tensor")


def error(name: str, kind: str, **params: Any) -> float:
    """Of the one record with these params: simulated over measured, less one."""
    found = [c for c in records() if c.family == name and c.params["kind"].startswith(kind) and all(c.params.get(k) == v for k, v in params.items())]
    assert len(found) == 1, [c.id for c in found]
    measured = found[0].number("value")
    assert measured
    value = simulation("tensor", name, found[0].params)(load_spec("h200"))
    assert isinstance(value, float)
    return value / measured - 1


@pytest.mark.parametrize("shape", ["m16n8k16.f32.bf16", "m16n8k16.f16.f16", "m16n8k8.f32.tf32", "m16n8k32.s32.s8", "m8n8k4.f64"])
def test_a_warp(shape: str) -> None:
    assert abs(error("mma_sync", "latency", shape=shape)) < LATENCY
    assert abs(error("mma_sync", "throughput", shape=shape, warps=16, ilp=4)) < PLATEAU


@pytest.mark.parametrize(("warps", "ilp"), [(1, 2), (1, 4), (4, 1), (12, 1)])
def test_below_the_plateau(warps: int, ilp: int) -> None:
    assert abs(error("mma_sync", "throughput", shape="m16n8k16.f32.bf16", warps=warps, ilp=ilp)) < PLATEAU


@pytest.mark.parametrize(("columns", "a", "groups"), [(8, "smem", 1), (32, "reg", 2), (64, "smem", 4), (128, "reg", 1)])
def test_a_warpgroup(columns: int, a: str, groups: int) -> None:
    params = {"shape": f"m64n{columns}k16", "type": "bf16", "a": a, "warpgroups": groups}
    assert abs(error("wgmma", "latency", **params)) < LATENCY
    assert abs(error("wgmma", "throughput", accumulators=1, **params)) < PLATEAU


def test_every_record_has_a_plan_or_says_why_not() -> None:
    for case in records():
        try:
            assert callable(simulation("tensor", case.family, case.params))
        except Excluded as reason:
            assert case.family in str(reason)


def test_params_that_no_probe_knows() -> None:
    with pytest.raises(GpusimError, match="hold a value that no probe knows"):
        simulation("tensor", "mma_sync", {"kind": "latency", "shape": "m16n8k4.f32.bf16", "warps": 1, "ilp": 1})


def test_points_are_those_of_plans() -> None:
    for name, params in tensor.POINTS:
        assert callable(simulation("tensor", name, params))
