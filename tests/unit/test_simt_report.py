"""The report of a kernel of threads: printed text, advice with lines, source view, timeline and picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.errors import GpusimError
from gpusim.report.report import Report
from gpusim.report.simt import simt_report
from gpusim.report.simt_lines import lines, most_divergent, text_of, worst_access
from gpusim.report.simt_plot import meets, palette, runs, span, stretches
from gpusim.spec.load import load_spec
from gpusim.trace.profile import AccessCost, BlockPlace, LineCost, Pass, Profile, Track
from tests.unit.made_runs import made_run
from tests.unit.made_simt import FULL, SPEC, ways_code, ways_path
from tests.unit.test_simt_launch_run import launched

SPEC_ = load_spec(SPEC)


@pytest.fixture(scope="module")
def report() -> Report:
    return simt_report(launched(ways_code(), [ways_path(c, 4) for c in range(500)], 128, timeline=True), SPEC_)


def profile(**changes) -> Profile:
    base = Profile(
        file="k.py",
        first_line=10,
        source=("def k(x):", "    x[i * 32] = 1", "    s[i * 32] = 2", "    if i % 2:"),
        grid=(4, 1, 1),
        block=(32, 1, 1),
        lines=(LineCost(11, 100, 3200, {"long_scoreboard": 60.0, "selected": 10.0}), LineCost(12, 100, 3200), LineCost(13, 200, 3200)),
        accesses=(AccessCost(11, "store", "global", "x", 4, 100, 3200, 400, 0, 0), AccessCost(12, "store", "shared", "s", 4, 100, 0, 400, 3200, 100)),
        blocks=(BlockPlace(0, 11, (11, 12), False, 4), BlockPlace(1, 13, (13,), True, 2)),
    )
    return replace(base, **changes)


def advised(p: Profile, **changes) -> str:
    counters = {"instructions": 400, "thread_instructions": 12_800, "l1_load_sectors": 0, "l1_store_sectors": 3200, "shared_wavefronts": 3200}
    run = made_run(
        kernel="k",
        params={},
        profile=p,
        counters=counters | changes.pop("counters", {}),
        warps_active=8.0,
        bounds=changes.pop("bounds", {"issue": 10_000.0}),
        **changes,
    )
    return Report(run, SPEC_).advice


def test_the_printed_report_has_what_threads_have(report: Report) -> None:
    text = str(report)
    for words in ("instructions", "active threads an instruction", "of the lanes idle", "sectors a load", "achieved:", "line 14"):
        assert words in text
    assert "None" not in text and "tile" not in text


def test_all_of_it_is_plain_data(report: Report) -> None:
    data = json.loads(json.dumps(report.to_dict()))
    assert data["active_threads"] == pytest.approx(report.active_threads) and 0 < data["active_threads"] < 32
    assert data["sectors_per_request"] == 4.0 and 0 < data["achieved_occupancy"] <= 1
    assert "bank_conflicts" not in data and "peak_tflops" not in data


def test_kernels_of_tiles_have_none_of_it() -> None:
    report = Report(made_run(), SPEC_)
    assert report.active_threads is None and report.sectors_per_request is None and report.bank_conflicts is None
    assert "active threads" not in str(report)
    for ask in (report.source_view, lambda: report.trace("x.json"), report.plot_divergence):
        with pytest.raises(GpusimError, match="kernel of threads"):
            ask()


def test_a_run_without_timeline_says_how_to_get_one() -> None:
    with pytest.raises(GpusimError, match="timeline=True"):
        Report(made_run(profile=profile()), SPEC_).plot_divergence()


def test_lines_add_up_and_name_their_reason() -> None:
    views = {v.line: v for v in lines(made_run(profile=profile(), warp_cycles=1000.0))}
    assert list(views) == [10, 11, 12, 13]
    assert sum(v.issue_share for v in views.values()) == pytest.approx(1.0)
    assert (views[11].reason, views[11].stall_share) == ("long_scoreboard", 0.06)
    assert (views[11].sectors_per_request, views[11].least_sectors_per_request) == (32.0, 4.0)
    assert views[12].conflicts_per_request == 31.0 and views[12].sectors_per_request is None
    assert views[13].lanes == 16.0 and views[10].lanes is None


def test_the_source_view_shows_every_line_once(report: Report) -> None:
    rows = report.source_view().splitlines()
    assert [r.split()[0] for r in rows[2:10]] == [str(n) for n in range(10, 18)]
    assert "sectors/req" in rows[1] and "16.0" in rows[6]


def test_lines_of_other_files_stand_behind() -> None:
    far = profile(lines=(LineCost(11, 1, 32), LineCost(99, 5, 160)))
    assert [v.line for v in lines(made_run(profile=far))][-1] == 99


def test_worst_places() -> None:
    p = profile()
    assert worst_access(p, "global").line == 11 and worst_access(p, "shared").line == 12
    assert most_divergent(p).line == 13 and text_of(p, 13) == "if i % 2:" and text_of(p, 5) == ""
    tidy = profile(accesses=(AccessCost(11, "load", "global", "x", 4, 100, 400, 400, 0, 0),), lines=(LineCost(11, 1, 32),))
    assert worst_access(tidy, "global") is None and most_divergent(tidy) is None


@pytest.mark.parametrize(
    "told, changes",
    [
        ("moves 32.0 sectors an access where 4.0 would do", {"stalls": {"long_scoreboard": 900.0, "selected": 100.0}}),
        ("takes 32.0 passes of shared memory", {"stalls": {"mio_throttle": 900.0, "selected": 100.0}, "counters": {"shared_store_conflicts": 3100}}),
        ("Only 12.0 of 32 lanes are active", {"bounds": {"issue": 90_000.0}, "counters": {"thread_instructions": 4800}}),
        ("Instructions are the limit (alu)", {"bounds": {"alu": 90_000.0}}),
        ("Moving data is the limit (DRAM)", {"bounds": {"DRAM": 90_000.0}}),
        ("slots are empty", {"ctas": 10}),
    ],
)
def test_advice_names_the_cause_and_the_line(told: str, changes: dict) -> None:
    tidy = profile(accesses=(AccessCost(11, "store", "global", "x", 4, 100, 400, 400, 0, 0),))
    assert told in advised(profile() if told.startswith("moves") else profile(accesses=profile().accesses[1:]) if "passes" in told else tidy, **changes)


def test_advice_on_a_crowd_at_one_address() -> None:
    text = advised(profile(accesses=(), same_address={13: 32}), stalls={"long_scoreboard": 900.0, "selected": 100.0})
    assert "Up to 32 lanes" in text and "line 13 (if i % 2:)" in text


def test_the_trace_loads_as_events(report: Report, tmp_path: Path) -> None:
    report.trace(tmp_path / "t.json")
    data = json.loads((tmp_path / "t.json").read_text())
    passes = [e for e in data["traceEvents"] if e["ph"] == "X"]
    names = [e for e in data["traceEvents"] if e["ph"] == "M"]
    tracks = report.run.profile.tracks
    assert len(passes) == sum(len(t.passes) for t in tracks)
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in passes)
    assert {(e["pid"], e["tid"]) for e in passes} == {(e["pid"], e["tid"]) for e in names if e["name"] == "thread_name"}
    assert {e["args"]["active lanes"] for e in passes} == {16, 32}
    for t in {e["tid"] for e in passes}:
        own = sorted((e["ts"], e["dur"]) for e in passes if e["tid"] == t)
        assert all(a + d <= b + 1e-9 for (a, d), (b, _) in zip(own, own[1:], strict=False))


def test_neighbouring_lanes_are_one_box() -> None:
    assert runs(0) == [] and runs(FULL) == [(0, 32)] and runs(0b1011) == [(0, 2), (3, 4)] and runs(1 << 31) == [(31, 32)]


def test_stretches_merge_and_mark_where_lanes_meet() -> None:
    p = profile()
    track = Track(0, 0, 0, 0, (Pass(0, 5, 0, FULL), Pass(5, 9, 0, FULL), Pass(9, 12, 0, 0xFF), Pass(12, 20, 1, FULL), Pass(20, 21, 1, FULL)))
    found = stretches(track, p)
    assert [(s.start, s.end, s.meets) for s in found] == [(0, 9, False), (9, 12, False), (12, 21, True)]
    assert not meets(FULL, Pass(0, 1, 1, 0xFF), p) and meets(0xFF, Pass(0, 1, 1, 0xF00), p)
    assert set(palette(found)) == {0, 1} and span(p, 0) == "11-12" and span(p, 1) == "13"


def test_the_picture_draws_the_lanes_that_ran(report: Report, tmp_path: Path) -> None:
    figure = report.plot_divergence(tmp_path / "d.png", warps=[(t.cta, t.warp) for t in report.run.profile.tracks[:2]])
    assert (tmp_path / "d.png").stat().st_size > 5000
    first = figure.axes[0]
    boxes = first.collections[0].get_paths()
    area = sum(abs((b.vertices[1][0] - b.vertices[0][0]) * (b.vertices[2][1] - b.vertices[1][1])) for b in boxes)
    assert area == pytest.approx(sum((p.end - p.start) * p.mask.bit_count() for p in report.run.profile.tracks[0].passes))
    assert len(figure.axes) == 2 and first.get_title(loc="left").startswith("CTA")


def test_warps_that_were_not_timed_are_refused(report: Report) -> None:
    with pytest.raises(GpusimError, match="not among the timed ones"):
        report.plot_divergence(warps=[(10**6, 0)])
