"""The report: derived numbers against values worked out by hand, and its three faces (text, JSON, HTML)."""

import json

import numpy as np
import pytest

from gpusim.report.advice import ROWS, advise, main_wait
from gpusim.report.compare import why_slower
from gpusim.report.data import flat, json_text
from gpusim.report.report import Report
from gpusim.report.units import microseconds, size
from gpusim.spec.load import load_spec
from gpusim.trace.counters import MEANINGS
from gpusim.trace.run import Occupancy
from tests.unit.made_runs import COUNTERS, made_run

ISSUE_KEYS = (
    "gpu, kernel, params, ctas, waves, tail_ctas, ctas_per_sm, limiter, cycles, time_us, clock_mhz, tflops, fraction_of_peak, dram_read_bytes, "
    "dram_write_bytes, l2_sectors, l1_sectors, shared_wavefronts, l2_hit_rate, stalls, bottleneck, digest"
).split(", ")

TAIL: dict = {"ctas": 120, "waves": 2, "bounds": {"tensor": 44_000.0}}
SMALL: dict = {"ctas": 20, "bounds": {"tensor": 15_000.0}}


def report(**changes: object) -> Report:
    return Report(made_run(**changes), load_spec("a100"))


def test_derived_numbers() -> None:
    r = report()
    assert r.time_us == 100.0
    assert r.tflops == pytest.approx(2**34 / 100e-6 / 1e12)
    assert r.fraction_of_peak == pytest.approx(r.tflops / 312)
    assert (r.l1_sectors, r.l2_sectors) == (4_200_000, 2_200_000)
    assert r.l2_hit_rate == pytest.approx(0.75)
    assert r.stalls == {"long_scoreboard": 0.5, "barrier": 0.3, "selected": 0.2}


@pytest.mark.parametrize(("ctas", "waves", "tail"), [(98, 1, 98), (108, 1, 108), (120, 2, 12), (217, 3, 1)])
def test_tail_is_what_the_full_waves_leave(ctas: int, waves: int, tail: int) -> None:
    assert report(ctas=ctas, waves=waves).tail_ctas == tail


def test_json_has_the_keys_of_the_issue_in_plain_numbers() -> None:
    data = json.loads(json_text(report()))
    assert set(ISSUE_KEYS) <= set(data)
    assert data["tail_ctas"] == 108 and data["stalls"]["barrier"] == 0.3 and data["params"]["tile"] == "256x128x32"
    assert data["counters"] == COUNTERS


def test_numpy_scalars_become_plain() -> None:
    assert json.loads(json_text(report(cycles=np.float64(5.0), ctas=np.int64(108))))["ctas"] == 108


def test_what_is_not_counted_is_absent_and_not_zero() -> None:
    r = report(counters={"dram_read_bytes": 7}, params={})
    assert r.l1_sectors is None and r.l2_hit_rate is None and r.fraction_of_peak is None and r.dram_write_bytes is None
    data = r.to_dict()
    assert not {"l1_sectors", "l2_hit_rate", "l1_hit_rate", "fraction_of_peak", "dram_write_bytes", "shared_wavefronts"} & set(data)
    assert data["dram_read_bytes"] == 7
    assert "L2  " not in str(r) and "shared  " not in str(r) and "dram__bytes_read.sum" in str(r) and "dram__bytes_write.sum" not in str(r)
    assert "DRAM" not in r._repr_html_()


def test_l1_hit_rate_where_it_is_counted() -> None:
    assert report(counters={"l1_load_sectors": 8, "l1_hit_sectors": 2}).l1_hit_rate == 0.25


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "tensor"),
        ({"bounds": {"tensor": 20_000.0, "DRAM": 61_000.0}}, "DRAM"),
        ({"ctas": 120, "waves": 2, "bounds": {"tensor": 44_000.0}}, "wave tail"),
        ({"ctas": 120, "waves": 2, "bounds": {"tensor": 25_000.0}}, "latency"),
        ({"ctas": 120, "waves": 2, "bounds": {"L2 read": 90_000.0}}, "L2 read"),
        ({"ctas": 20, "bounds": {"tensor": 15_000.0}}, "small grid"),
        ({"bounds": {"tensor": 50_000.0}}, "latency"),
        ({"bounds": {}}, "latency"),
    ],
)
def test_bottleneck(changes: dict, expected: str) -> None:
    assert report(**changes).bottleneck == expected


def test_every_row_of_advice_can_be_the_answer() -> None:
    spilled = Occupancy(1, "registers", {}, 8, 255, 0, spilled_registers=40)
    cases: list[dict] = [
        {"notes": ("copies are narrow: pad the rows.",)},
        TAIL,
        SMALL,
        {"occupancy": spilled},
        {"counters": {"tensor_fma": 2**34}},
        {},
        *({"bounds": {name: 90_000.0}} for name in ("DRAM", "L2 read", "shared memory", "issue")),
        {"bounds": {}},
        {"bounds": {}, "stalls": {"barrier": 900.0, "long_scoreboard": 100.0}},
        {"bounds": {}, "stalls": {"wait": 1000.0}},
        {"bounds": {"sorcery": 90_000.0}},
    ]
    reached = [next(i for i, row in enumerate(ROWS) if row.holds(report(**case))) for case in cases]
    assert reached == list(range(len(ROWS)))
    for case in cases:
        sentence = advise(report(**case))
        assert sentence.endswith(".") and "{" not in sentence


def test_advice_carries_the_numbers() -> None:
    assert "The last of 2 waves has 12 CTAs for 108 slots, and 44.4 %" in report(**TAIL).advice
    assert "88 of 108 slots are empty, for there are only 20 CTAs:" in report(**SMALL).advice
    assert main_wait(report(stalls={"selected": 1000.0})) == "none"


#: what the text of a run with a tail must hold
NAMED = [
    "120 CTAs, 2 waves of 108 slots, 12 in the last wave",
    "100 us, 100,000 cycles at 1000 MHz",
    "55.1 % of the published dense bf16 peak",
    "limited by registers",
    "L1 loads 4,000,000 128 MB",
    "hit 75.0 %",
    "DRAM reads 375,000 12 MB",
    "DRAM writes 187,500 6 MB",
    "long_scoreboard 50.0 %",
    "tensor 44.0 %",
    "wave tail",
    "L2 empty and clean; without launch overhead",
    "residual 0.1 %",
    "0123456789abcdef",
    "m=2048",
]


def test_text_names_everything() -> None:
    text = str(report(**TAIL))
    words = " ".join(text.split())
    for part in NAMED:
        assert part in words, part
    assert all(len(line) <= 110 for line in text.splitlines())


def test_text_says_what_stands_behind_it() -> None:
    assert "every block and step was simulated" in str(report(extrapolated=""))
    assert "copies are narrow" in str(report(notes=("copies are narrow: pad the rows.",)))
    assert "no measured kernels" in str(report())
    assert "measured cases" in str(Report(made_run(gpu="h200-sxm"), load_spec("h200")))


def test_details_have_nsight_names_beside_the_counters() -> None:
    lines = {line.split()[0]: line for line in report().detailed().splitlines() if line.strip()}
    for name, value in COUNTERS.items():
        assert f"{value:,}" in lines[name] and (MEANINGS[name].metric or " - ") in lines[name]
    assert "smsp__inst_executed.sum" not in str(report())


def test_html_is_one_table_with_text_escaped() -> None:
    html = report(params={"dtype": "bf16", "note": "<script>"})._repr_html_()
    assert html.startswith("<table>") and html.endswith("</table>") and "<script>" not in html and "&lt;script&gt;" in html


def test_flat_row_has_scalars_only() -> None:
    row = flat(report())
    assert row["gpu"] == "a100-sxm-80gb" and row["m"] == 2048 and row["stall_barrier"] == 0.3
    assert all(isinstance(value, str | int | float | None) for value in row.values())


def test_why_the_next_size_is_slower() -> None:
    sizes = [{"m": n, "n": n, "k": n} for n in (1792, 1793)]
    a = report(params=sizes[0], ctas=98, flops=2 * 1792**3)
    b = report(params=sizes[1], ctas=120, waves=2, flops=2 * 1793**3, time_ps=196_000_000)
    sentence = why_slower(a, b)
    for part in ("size 1793 needs 120 tiles", "108 run at once", "12 tiles wait for wave 2", "96 slots stay empty", "1.96 times the time for 0.2 % more work"):
        assert part in sentence
    assert "in as many waves (1)" in why_slower(a, report(params=sizes[1]))


def test_units() -> None:
    assert [size(v) for v in (999, 1000, 999_700, 12_345_678)] == ["999 B", "1 kB", "1000 kB", "12.3 MB"]
    assert [microseconds(v) for v in (1.23456, 999.94, 12345.6)] == ["1.235 us", "999.9 us", "12.35 ms"]
