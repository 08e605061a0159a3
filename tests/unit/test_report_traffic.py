"""The table of traffic: what it holds, what it leaves out, and that text and JSON tell the same."""

from __future__ import annotations

from typing import Any

import pytest

from gpusim.report.report import Report
from gpusim.report.traffic import Row, data, rows, table
from gpusim.spec.load import load_spec
from gpusim.trace.counters import MEANINGS
from gpusim.trace.nsight import METRICS
from tests.unit.made_runs import made_run

FULL = {
    "l1_load_requests": 100,
    "l1_load_sectors": 400,
    "l1_hit_sectors": 100,
    "l1_store_requests": 50,
    "l1_store_sectors": 200,
    "shared_wavefronts": 10,
    "merged_sectors": 60,
    "l2_read_sectors": 240,
    "l2_write_sectors": 200,
    "l2_atomic_sectors": 8,
    "l2_hit_sectors": 328,
    "l2_read_hit_sectors": 120,
    "l2_read_miss_sectors": 240,
    "partial_write_sectors": 20,
    "fabric_sectors": 224,
    "fabric_read_sectors": 120,
    "fabric_write_sectors": 104,
    "dram_read_bytes": 7680,
    "dram_write_bytes": 3200,
    "dram_bursts": 170,
    "dram_row_hits": 85,
    "dram_turnarounds": 3,
    "l2_dirty_bytes": 3200,
}


def _report(counters: dict[str, int]) -> Report:
    return Report(made_run(counters=counters), load_spec("a100-sxm-80gb"))


def _found(**changes: Any) -> dict[str, Row]:
    return {f"{r.level} {r.flow}": r for r in rows(_report(FULL | changes))}


def test_every_level_from_the_sms_to_dram() -> None:
    names = [
        *("L1 loads", "L1 stores", "shared passes", "GPC merged", "L2 reads", "L2 writes", "L2 atomics", "L2 total", "fabric reads", "fabric writes"),
        *("fabric total", "DRAM reads", "DRAM writes", "DRAM total", "DRAM bursts", "DRAM turnarounds", "L2 left dirty"),
    ]
    assert list(_found()) == names


def test_sectors_are_32_bytes_and_passes_128() -> None:
    found = _found()
    assert (found["L1 loads"].requests, found["L1 loads"].sectors, found["L1 loads"].bytes) == (100, 400, 12_800)
    assert found["shared passes"].bytes == 1280
    assert (found["DRAM reads"].sectors, found["DRAM total"].bytes) == (240, 10_880)


def test_shares_say_of_what() -> None:
    found = _found()
    shares = {name: (row.of, row.share) for name, row in found.items() if row.share is not None}
    assert shares.pop("DRAM total")[0] == "pins"
    assert shares == {
        "L1 loads": ("hit", 0.25),
        "GPC merged": ("merged", 0.2),
        "L2 reads": ("hit", pytest.approx(1 / 3)),
        "L2 writes": ("partial", 0.1),
        "L2 total": ("hit", pytest.approx(328 / 568)),
        "DRAM bursts": ("open", 0.5),
    }


def test_a_metric_beside_every_row_is_one_that_the_table_of_metrics_has() -> None:
    assert {row.metric for row in _found().values() if row.metric} <= set(METRICS)
    assert _found()["L2 total"].metric == "lts__t_sectors_srcunit_tex.sum"


def test_nothing_is_shown_for_what_a_device_has_not() -> None:
    few = {"l1_load_sectors": 4, "l1_store_sectors": 0, "dram_read_bytes": 64}
    assert [f"{r.level} {r.flow}" for r in rows(_report(few))] == ["L1 loads", "L1 stores", "DRAM reads", "DRAM total"]
    assert rows(_report({})) == () and table(_report({})) == []
    assert "requests" not in table(_report(few))[0], "a column that no row fills is left out"


def test_json_and_text_tell_the_same() -> None:
    r = _report(FULL)
    told = r.to_dict()
    assert told["traffic"] == data(r) and len(data(r)) == len(table(r)) - 1
    assert told["nsight"]["dram__bytes_read.sum"] == 7680
    assert told["counters"] == FULL == r.traffic
    for line, row in zip(table(r)[1:], data(r), strict=True):
        assert line.startswith(f"{row['level']} {row['flow']}")
        assert row.get("metric", "") in line and f"{row.get('sectors', row.get('requests')):,}" in line


def test_the_table_fits_a_screen_for_a_large_launch() -> None:
    large = {name: value * 10_000_000 for name, value in FULL.items()}
    assert max(map(len, table(_report(large)))) <= 120


def test_every_counter_of_the_table_has_a_meaning() -> None:
    assert set(FULL) <= set(MEANINGS)
