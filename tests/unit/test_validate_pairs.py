"""Pairs of cases of one family and size: which count, what is right and what is wrong, and what table and JSON say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.validate.command import validate
from gpusim.validate.outcome import Outcome
from gpusim.validate.pairs import pair_statistics, pairs, rows_of, size_of
from gpusim.validate.protocol import MEASURES
from gpusim.validate.table import pair_table

SMALL = {"n": 1024}


def outcome(name: str, measured: float, simulated: float, params: dict[str, Any] = SMALL, family: str = "f", **more: Any) -> Outcome:
    fields = {"unit": "ns", "status": "ok"} | more
    return Outcome(name, "g", family, measured, simulated, error=simulated / measured - 1, reason=None, params=params, **fields)


def test_size_is_what_the_problem_is_and_not_how_it_is_solved() -> None:
    a = outcome("a", 1, 1, {"n": 4096, "stride": 8, "pattern": 2})
    b = outcome("b", 1, 1, {"n": 4096.0, "offset": 1})
    assert size_of(a) == size_of(b) == "n=4096"
    assert size_of(outcome("c", 1, 1, {"M": 8, "N": 16, "K": 32, "BM": 128})) == "M=8 N=16 K=32"
    assert size_of(outcome("d", 1, 1, {"grid": 132, "block": 32})) == ""


def test_only_pairs_of_one_family_unit_and_size_that_differ() -> None:
    base = outcome("a", 100, 100)
    others = [
        outcome("near", 105, 90),
        outcome("size", 200, 200, {"n": 2048}),
        outcome("family", 200, 200, family="other"),
        outcome("unit", 200, 200, unit="cycles"),
        outcome("short", 200, 200, status="short"),
        outcome("no size", 200, 200, {"grid": 1}),
    ]
    assert pairs([base, *others]) == []
    (pair,) = pairs([base, *others, outcome("far", 105.1, 90)])
    assert (pair.slower, pair.faster) == ("far", "a")


def test_order_and_ratio() -> None:
    found = {(p.slower, p.faster): p for p in pairs([outcome("a", 100, 100), outcome("b", 200, 180), outcome("c", 400, 90)])}
    assert found["b", "a"].error == pytest.approx(-0.1) and found["b", "a"].in_order and found["b", "a"].within
    assert found["c", "a"].error == pytest.approx(0.9 / 4 - 1) and not found["c", "a"].in_order and not found["c", "a"].within
    assert found["c", "b"].simulated == pytest.approx(0.5)


def test_statistics_name_the_worst_and_list_what_is_wrong() -> None:
    found = pair_statistics([outcome("a", 100, 100), outcome("b", 200, 180), outcome("c", 400, 300), outcome("x", 1, 1, family="alone")])
    assert list(found) == ["f"]
    s = found["f"]
    assert (s.pairs, s.in_order, s.within, s.both) == (3, 3, 1, 1)
    assert s.worst == pytest.approx(-0.25) and s.worst_pair == ("c", "a")
    assert [(p.slower, p.faster) for p in s.wrong] == [("c", "a"), ("c", "b")]
    assert json.loads(json.dumps(s.to_dict()))["wrong"][0]["size"] == "n=1024"
    assert rows_of(found)[-1][:5] == ["all", "3", "3", "1", "1"]
    assert "c / a" in pair_table(found) and "wrong pair" in pair_table(found)


def test_without_pairs_the_table_says_so() -> None:
    assert "no two cases" in pair_table(pair_statistics([outcome("a", 1, 1)]))


def test_warm_and_clean_are_protocols_of_their_own() -> None:
    assert {m: (MEASURES[m].l2, MEASURES[m].launch, MEASURES[m].truth) for m in ("clean", "time", "warm")} == {
        "clean": ("foreign-clean", "in", ("clean_ns_median",)),
        "time": ("foreign-dirty", "in", ("ns", "ns_median")),
        "warm": ("warm", "in", ("warm_ns_median",)),
    }


def test_a_file_of_two_cases_under_each_protocol(tmp_path: Path) -> None:
    """The whole way: a vector addition and a strided copy of the same size; warm is not slower than clean, clean not slower than dirty."""
    times = {"ns_median": 12_000, "clean_ns_median": 11_000, "warm_ns_median": 9_000}
    case = {"group": "simt", "family": "vector", "grid": [4096, 1, 1], "block": [256, 1, 1]}
    cases = [
        {"id": "add", "kernel": "vector_add_1", "params": {"n": 1 << 20}, **case, **times},
        {"id": "copy", "kernel": "copy_stride", "params": {"n": 1 << 20, "stride": 8}, **case, **{k: 2 * v for k, v in times.items()}},
    ]
    path, out = tmp_path / "cases.json", tmp_path / "out.json"
    path.write_text(json.dumps({"cases": cases}))
    add = {}
    for measure in ("warm", "clean", "time"):
        found = validate([str(path)], measure=measure, min_us=0, jobs=1, pairs=True, json_out=str(out))
        add[measure] = found.outcomes[0].simulated or 0.0
        written = json.loads(out.read_text())
        assert written["measure"] == measure and written["families"]["vector"]["cases"] == 2
        assert written["pairs"]["vector"]["pairs"] == 1 and written["pairs"]["vector"]["worst_pair"] == ["copy", "add"]
    assert 0 < add["warm"] <= add["clean"] <= add["time"]
