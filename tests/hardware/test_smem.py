"""Group smem of the probes against the measured chip: a sample of each name; `gpusim probe smem --compare` has them all."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpusim.probe.command import run_record
from gpusim.probe.records import Record
from gpusim.spec.load import load_spec
from gpusim.validate import cases
from gpusim.validate.mapping import DEFAULT_GPU


@cache
def _records() -> tuple[Record, ...]:
    found = cases._parse("micro.json", cases.shipped_bytes(DEFAULT_GPU, "micro.json"))
    return tuple(Record(c.id, c.group, c.family, c.params, str(c.record["unit"]), c.number("value")) for c in found if c.group == "smem")


def _errors(name: str, **params: Any) -> dict[str, float]:
    chosen = [r for r in _records() if r.name == name and all(r.params.get(k) in (v if isinstance(v, tuple) else (v,)) for k, v in params.items())]
    assert chosen
    rows = [run_record(r, load_spec(DEFAULT_GPU)) for r in chosen]
    return {row.record.title: row.error for row in rows if row.error is not None}


@pytest.mark.parametrize("width", [4, 8, 16])
def test_passes_of_conflicting_accesses_are_exact(width: int) -> None:
    for name in ("bank_conflict_load", "bank_conflict_store"):
        errors = _errors(name, access_bytes=width, stride_words=(1, 4, 6, 8, 12, 32, 33))
        assert max(map(abs, errors.values())) < 0.003, errors


def test_broadcasts_cost_nothing() -> None:
    assert max(map(abs, _errors("broadcast_load", lanes_sharing_word=(2, 16, 32)).values())) < 0.003


@pytest.mark.parametrize("warps", [1, 4])
def test_bandwidth_of_few_warps(warps: int) -> None:
    errors = _errors("load_bandwidth", warps=warps) | _errors("store_bandwidth", warps=warps)
    assert len(errors) == 6 and max(map(abs, errors.values())) < 0.03, errors


def test_matrix_loads() -> None:
    errors = _errors("ldmatrix_x4", row_pitch=(16, 64, 144), trans=(0, 1))
    assert len(errors) == 12 and max(map(abs, errors.values())) < 0.01, errors


@pytest.mark.parametrize("op", ["atom.add.u32 (dependent)", "red.add.u32"])
def test_integer_atomics(op: str) -> None:
    errors = _errors("shared_atomic", op=op, distinct_addresses=(1, 4, 32))
    assert max(map(abs, errors.values())) <= 0.051, errors


def test_float_atomics_of_one_warp() -> None:
    errors = _errors("shared_atomic", op="red.add.f32", warps=1)
    assert len(errors) == 12 and max(map(abs, errors.values())) < 0.03, errors


def test_float_atomics_of_many_warps_on_the_same_words() -> None:
    """Who is first varies: single records are off by up to 20 %."""
    errors = _errors("shared_atomic", op="red.add.f32", warps=16, step_words=32, distinct_addresses=(8, 16, 32))
    assert max(map(abs, errors.values())) < 0.25, errors
