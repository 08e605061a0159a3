"""Bulk copies, mbarriers and clusters against the records of the microbenchmarks, some of each kind."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpusim.probe.registry import simulation
from gpusim.spec.load import load_spec
from gpusim.validate import cases
from gpusim.validate.mapping import DEFAULT_GPU

BULK = "cp.async.bulk + mbarrier wait"
#: group, record, params, error that is allowed
CHOSEN: list[tuple[str, str, dict[str, Any], float]] = [
    *(("latency", "dsmem", {"cluster": size, "target_rank": rank}, 0.05) for size, rank in ((2, 0), (2, 1), (8, 5), (16, 15))),
    *(("scheduling", "cluster_barrier", {"arrive": "relaxed", "cluster": size, "warps_per_cta": 4}, 0.05) for size in (1, 2, 4, 8, 16)),
    *(("scheduling", "cluster_barrier", {"arrive": "release (default)", "cluster": 4, "warps_per_cta": w}, 0.05) for w in (1, 4, 16)),
    *(("scheduling", "barrier", {"kind": "mbarrier arrive + try_wait", "warps": w}, 0.06) for w in (1, 4, 16, 32)),
    *(("bandwidth", "async_latency", {"kind": BULK, "from": "L2", "bytes": b}, 0.06) for b in (16, 2048, 16384, 65536)),
    ("bandwidth", "tma_bulk", {"from": "L2", "sms": 1, "chunk_bytes": 1024, "stages": 16}, 0.03),
    ("bandwidth", "tma_bulk", {"from": "L2", "sms": 1, "chunk_bytes": 65536, "stages": 3}, 0.03),
    ("bandwidth", "tma_bulk", {"from": "L2", "sms": 132, "chunk_bytes": 4096, "stages": 4}, 0.03),
]


@cache
def records() -> tuple[cases.Case, ...]:
    return tuple(cases._parse("micro.json", cases.shipped_bytes(DEFAULT_GPU, "micro.json")))


@pytest.mark.parametrize(("group", "name", "params", "most"), CHOSEN)
def test_a_record(group: str, name: str, params: dict[str, Any], most: float) -> None:
    found = [c for c in records() if c.group == group and c.family == name and all(c.params.get(k) == v for k, v in params.items())]
    assert len(found) == 1, [c.id for c in found]
    measured = found[0].number("value")
    value = simulation(group, name, found[0].params)(load_spec(DEFAULT_GPU))
    assert measured and isinstance(value, float)
    assert abs(value / measured - 1) < most
