"""Records of microbenchmarks: reading, errors, statistics; nothing is simulated."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.errors import GpusimError
from gpusim.probe.compare import Compared, by_name, compare, joined, reasons, statistics, to_dict
from gpusim.probe.records import Record, read
from gpusim.probe.registry import MODULES, group, simulation, unit
from gpusim.probe.table import compared_text


def _record(name: str = "r", value: float | None = 100.0, **options: Any) -> Record:
    return Record(f"alu/{name}#0", "alu", name, {"warps": 4}, "cycles", value, **options)


def _write(path: Path, results: Any) -> str:
    path.write_text(json.dumps({"results": results}))
    return str(path)


def test_a_record_is_read_with_value_list_and_error(tmp_path: Path) -> None:
    rows = [
        {"group": "alu", "name": "a", "params": {"warps": 1, "bytes": 4294967296.0}, "value": 2.5, "unit": "cycles"},
        {"group": "alu", "name": "b", "list": [1, 2.5], "value": None},
        {"group": "alu", "name": "c", "error": "out of memory"},
    ]
    a, b, c = read(_write(tmp_path / "m.json", rows))
    assert (a.id, a.value, a.unit, a.title) == ("alu/a#0", 2.5, "cycles", "a warps=1 bytes=4294967296")
    assert (b.value, b.values) == (None, (1.0, 2.5))
    assert (c.value, c.error) == (None, "out of memory")


def test_compressed_records_are_read(tmp_path: Path) -> None:
    (tmp_path / "m.json.gz").write_bytes(gzip.compress(b'{"results": [{"group": "g", "name": "n", "value": 1}]}'))
    assert read(str(tmp_path / "m.json.gz"))[0].value == 1


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "is not JSON"),
        ('{"cases": []}', "holds kernels, not records"),
        ('{"other": []}', "holds no records"),
        ('{"results": [1]}', r"results\[0\]: has no text 'group' and 'name'"),
        ('{"results": [{"group": "g", "name": "n", "params": 3}]}', "'params' that are no object"),
    ],
)
def test_what_is_no_file_of_records_says_why(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(GpusimError, match=words):
        read(str(tmp_path / "m.json"))


def test_a_missing_file_and_a_folder_say_so(tmp_path: Path) -> None:
    with pytest.raises(GpusimError, match="cannot be read"):
        read(str(tmp_path / "none.json"))
    with pytest.raises(GpusimError, match="is a folder"):
        read(str(tmp_path))


def test_the_error_of_a_number_is_its_ratio_less_one() -> None:
    assert compare(_record(), 103.0).error == pytest.approx(0.03)
    assert compare(_record(), 97.0).error == pytest.approx(-0.03)


def test_a_list_is_compared_point_by_point_and_its_mean_error_counts() -> None:
    row = compare(_record(values=(100.0, 100.0)), [110.0, 80.0])
    assert row.errors == pytest.approx((0.1, -0.2))
    assert row.error == pytest.approx(-0.15), "the mean of the sizes, with the sign of the mean"
    with pytest.raises(GpusimError, match="3 values are simulated, 2 were measured"):
        compare(_record(values=(1.0, 2.0)), [1.0, 2.0, 3.0])


def test_what_a_hidden_hash_decides_is_compared_as_a_distribution() -> None:
    measured = tuple(float(v) for v in range(100, 200))
    backwards = compare(_record("l2_hit_line_by_sm", values=measured), list(reversed(measured)))
    assert backwards.errors == (0, 0, 0) and "p10" in backwards.how
    assert compare(_record("other", values=measured), list(reversed(measured))).error != 0
    shorter = compare(_record("l2_hit_line_by_sm", values=measured), [110.0, 150.0, 189.0])
    assert abs(shorter.error or 1) < 0.08, "lists need not be equally long"


def test_a_curve_is_the_mean_of_its_points() -> None:
    points = [compare(_record(), 110.0), compare(_record(), 90.0)]
    whole = joined(_record(values=(100.0,) * 50), points)
    assert whole.error == pytest.approx(0.1) and whole.how == "2 of 50 points" and whole.points == tuple(points)


def test_a_value_of_zero_has_no_relative_error() -> None:
    with pytest.raises(GpusimError, match="no relative error"):
        compare(_record(value=0.0), 1.0)


def _rows() -> list[Compared]:
    missing = Compared(_record("b"), None, (), "unsupported", "no probe")
    clock = Compared(_record("sm_clock"), None, (), "excluded", "the clock")
    return [compare(_record(), 110.0), compare(_record(), 70.0), missing, clock]


def test_statistics_count_what_was_compared() -> None:
    s = statistics(_rows())
    assert (s.records, s.unsupported) == (2, 1)
    assert [s.mape, s.signed_mean, s.worst] == pytest.approx([0.2, -0.1, -0.3])
    assert s.worst_record == "alu/r warps=4"
    assert statistics(_rows()[2:]).to_dict() == dict.fromkeys(("mape", "signed_mean", "worst", "worst_record")) | {"records": 0, "unsupported": 1}


def test_json_has_the_agreed_keys_and_every_record() -> None:
    told = to_dict({"alu": _rows()})
    assert list(told["probes"]["alu"]) == ["records", "unsupported", "mape", "signed_mean", "worst", "worst_record"]
    assert told["excluded"] == {"alu": {"the clock": 1}} and told["unsupported"] == {"alu": {"no probe": 1}}
    assert [r["status"] for r in told["records"]] == ["ok", "ok", "unsupported", "excluded"]
    assert told["records"][1]["error"] == pytest.approx(-0.3) and told["records"][2]["reason"] == "no probe"
    json.dumps(told, allow_nan=False)
    assert list(by_name(_rows())) == ["alu/r", "alu/b", "alu/sm_clock"]
    assert reasons(_rows(), "excluded") == {"the clock": 1}


def test_the_table_names_groups_records_and_reasons() -> None:
    text = compared_text("gpu", {"alu": _rows()}, worst=1)
    assert "-30.0%" in text and "alu/r warps=4" in text
    assert "1 x no probe" in text and "1 x the clock" in text
    assert text.rstrip().splitlines()[-1].split()[-3:] == ["70", "100", "cycles"]


@pytest.mark.parametrize("name", MODULES)
def test_every_group_has_plans_points_of_them_and_curves_of_them(name: str) -> None:
    found = group(name)
    assert found.plans and found.points, name
    assert {point for point, _ in found.points} <= set(found.plans)
    assert {curve.name for curve in found.curves} <= set(found.plans)
    assert set(found.split) <= set(found.plans)


@pytest.mark.parametrize("name", MODULES)
def test_every_point_has_a_simulation(name: str) -> None:
    for point, params in group(name).points:
        assert callable(simulation(name, point, params)), point


@pytest.mark.parametrize("name", MODULES)
def test_points_have_units(name: str) -> None:
    assert all(unit(name, point, params) for point, params in group(name).points)


def test_unknown_groups_names_and_params_say_what_there_is() -> None:
    with pytest.raises(GpusimError, match="no group of probes 'mem'") as error:
        group("mem")
    assert "smem" in str(error.value)
    with pytest.raises(GpusimError, match="no probe for 'fdiv'"):
        simulation("alu", "fdiv", {})
    with pytest.raises(GpusimError, match="lack 'warps'"):
        simulation("alu", "ffma_issue", {"ilp": 1})
    with pytest.raises(GpusimError, match="'odd'"):
        simulation("alu", "fadd", {"kind": "odd", "warps": 1, "ilp": 1})
