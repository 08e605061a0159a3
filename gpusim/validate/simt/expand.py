"""Records that hold a curve in one list, taken apart into points that can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusim.probe.registry import MODULES, group
from gpusim.validate.cases import Case


def expand(cases: Iterable[Case]) -> list[Case]:
    """`cases`, with curves as points."""
    return [point for case in cases for point in _points(case)]


def _points(case: Case) -> Iterable[Case]:
    values = case.record.get("list")
    split = group(case.group).split.get(case.family) if case.group in MODULES and isinstance(values, list) else None
    if split is None or values is None:
        return (case,)
    return [
        replace(
            case, id=f"{case.id}[{_added(case, params)}]", params=dict(params), record={**case.record, "params": dict(params), "value": value, "list": None}
        )
        for params, value in split(case.params, values)
    ]


def _added(case: Case, params: object) -> str:
    assert isinstance(params, dict)
    return " ".join(f"{key}={value}" for key, value in params.items() if key not in case.params)
