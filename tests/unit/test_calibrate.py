"""From microbenchmark records to a specification: formulas, made files, and mistakes in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.calibrate.command import calibrate, write
from gpusim.calibrate.derive import FALLBACKS, ROWS, Calibration, Field
from gpusim.calibrate.formulas import ascending, asymptote, knee, line
from gpusim.calibrate.records import Missing, parse
from gpusim.calibrate.text import table, yaml_text
from gpusim.cli.app import main
from gpusim.errors import GpusimError
from gpusim.spec.load import load_spec
from gpusim.spec.show import spec_rows

BASE = "h200-sxm"


def record(name: str, value: Any, unit: str, entries: list[float] | None = None, **params: Any) -> dict[str, Any]:
    group, name = name.split("/")
    made = {"group": group, "name": name, "params": params, "value": value, "unit": unit, "reps": 1, "min": value, "max": value}
    return made if entries is None else made | {"list": entries}


def file_of(folder: Path, *records: dict[str, Any], **top: Any) -> str:
    path = folder / "micro.json"
    path.write_text(json.dumps({"results": list(records), **top}))
    return str(path)


def field(calibration: Calibration, path: str) -> Field:
    return next(f for f in calibration.fields if f.path == path)


def stairs(level: float, at: float, beyond: float, steps: int = 40) -> list[tuple[float, float]]:
    """Latency of random accesses under LRU that holds `at` bytes."""
    sizes = [at * 4 * (i + 1) / steps for i in range(steps)]
    return [(f, level if f <= at else (level * at + beyond * (f - at)) / f) for f in sizes]


def test_a_line_through_two_points() -> None:
    assert line([(1, 14.6), (2, 16.6)]) == pytest.approx((2, 12.6))


def test_one_point_is_no_line() -> None:
    with pytest.raises(Missing):
        line([(1, 2.0), (1, 3.0)])


@pytest.mark.parametrize("level, at, beyond", [(280, 30e6, 532), (200, 6e6, 800), (33, 1.2e5, 200)])
def test_the_knee_of_an_ideal_staircase(level: float, at: float, beyond: float) -> None:
    found = knee(stairs(level, at, beyond))
    assert (found.level, found.at, found.beyond) == pytest.approx((level, at, beyond))


def test_a_staircase_without_a_step_has_no_knee() -> None:
    with pytest.raises(Missing):
        knee([(float(f), 280.0) for f in range(1, 10)])


def test_falling_numbers_begin_the_next_run() -> None:
    assert ascending([6, 7, 0, 1, 4, 2, 3, 5]) == [(6, 7), (0, 1, 4), (2, 3, 5)]


def test_long_runs_tell_the_rate_without_the_launch() -> None:
    points = [(3.7 + size / 4.7, size) for size in (1.0, 1024.0, 2048.0, 4096.0, 8192.0)]
    assert asymptote(points) == pytest.approx(4.7)


def test_rows_name_fields_once() -> None:
    paths = [row.path for row in ROWS]
    assert len(paths) == len(set(paths))
    assert {*paths, *(row.path for row in FALLBACKS)} <= {row.path for row in spec_rows(load_spec(BASE))}


def test_a_field_is_changed_only_beyond_what_measurements_repeat(tmp_path: Path) -> None:
    near = record("bandwidth/l2_write", 4740, "GB/s", footprint=2**24)
    assert not field(calibrate(file_of(tmp_path, near), BASE), "l2.write_bandwidth").changed
    far = record("bandwidth/l2_write", 5200, "GB/s", footprint=2**24)
    assert field(calibrate(file_of(tmp_path, far), BASE), "l2.write_bandwidth").changed


def test_one_record_gives_one_field_with_its_source(tmp_path: Path) -> None:
    found = calibrate(file_of(tmp_path, record("latency/l1_hit", 38.1, "cycles", ld="ca.u64")), BASE)
    assert [(f.path, f.old, f.new) for f in found.fields if f.changed] == [("sm.l1_latency", 32, 38)]
    assert field(found, "sm.l1_latency").source == "measured: micro.json latency/l1_hit, 8 bytes"
    assert field(found, "l2.hit_latency").why == "no record latency/l2_hit_mean_by_sm"
    assert field(found, "chip.merge_requests").why.startswith("shows only in counters")


def test_fields_build_on_fields_found_before(tmp_path: Path) -> None:
    """At half the clock, the same GB/s of one SM are twice the bytes per cycle."""
    records = record("latency/sm_clock", 990.2, "MHz", when="start"), record("bandwidth/stream_vs_ctas", 63.0, "GB/s", op="write", ctas=1)
    found = calibrate(file_of(tmp_path, *records), BASE)
    assert field(found, "clocks.boost").new == 990e6
    assert field(found, "sm.store_bytes_per_cycle").new == pytest.approx(63.64, abs=0.01)


def test_near_and_far_and_dram_are_told_apart(tmp_path: Path) -> None:
    """Two halves of 20 MiB in use: beyond the knee near + (far + dram) / 2; a chase that never hits near + far / 2 + dram."""
    near, far, dram = 250.0, 200.0, 400.0
    steps = [record("latency/staircase", y, "cycles", footprint=x, ld="cg", warm="all_sms") for x, y in stairs(near, 20 * 2**20, near + (far + dram) / 2, 80)]
    chase = record("latency/dram", near + far / 2 + dram, "cycles", footprint=2**30, stride=128, order="random")
    found = calibrate(file_of(tmp_path, *steps, chase, device={"l2CacheSize": 41 * 2**20}), BASE)
    values = {path: field(found, path).new for path in ("l2.halves", "l2.usable", "l2.far_latency", "dram.latency")}
    assert values == pytest.approx({"l2.halves": 2, "l2.usable": 40 / 41, "l2.far_latency": far, "dram.latency": dram / 1.98}, rel=1e-3)


def test_an_l2_of_one_piece(tmp_path: Path) -> None:
    steps = [record("latency/staircase", y, "cycles", footprint=x, ld="cg", warm="all_sms") for x, y in stairs(200, 39 * 2**20, 600, 80)]
    chase = record("latency/dram", 600, "cycles", footprint=2**30, stride=128, order="random")
    found = calibrate(file_of(tmp_path, *steps, chase, device={"l2CacheSize": 40 * 2**20}), BASE)
    assert field(found, "l2.halves").new == 1
    assert field(found, "l2.far_latency").why == "L2 is one piece, so nothing is far"
    assert field(found, "dram.latency").new == pytest.approx(400 / 1.98, rel=1e-3)
    assert field(found, "chip.gpc_half").new == (0,) * 9


def _dealt(*gpcs: int) -> list[float]:
    """SM of each CTA: GPC after GPC, TPCs of two SMs dealt over the GPCs round by round."""
    members: list[list[int]] = [[] for _ in gpcs]
    sm = 0
    while sm < sum(gpcs):
        for gpc, size in enumerate(gpcs):
            if len(members[gpc]) < size:
                members[gpc] += [sm, sm + 1]
                sm += 2
    return [float(sm) for gpc in members for sm in gpc]


def test_gpcs_from_the_order_of_ctas(tmp_path: Path) -> None:
    wave = _dealt(8, 6, 10)
    placed = record("scheduling/cta_to_sm", 48, "CTAs", [*wave, *wave], ctas_per_sm=1)
    found = calibrate(file_of(tmp_path, placed, device={"multiProcessorCount": 24}), BASE)
    assert field(found, "chip.gpc_sms").new == (8, 6, 10)
    assert not field(found, "chip.sms_per_tpc").changed and field(found, "chip.sms_per_tpc").new == 2
    assert field(found, "chip.gpc_half").new == (0, 1, 1) and field(found, "chip.gpc_half").source.startswith("assumed")
    assert field(found, "chip.gpc_side").new == () and field(found, "chip.gpc_side").source.startswith("assumed")


def test_sides_and_cpcs_from_latencies_of_each_sm(tmp_path: Path) -> None:
    """Three GPCs on two sides, of two CPCs each; the second GPC begins with the other CPC; lines in turn on the sides."""
    sizes, sides, first, near, far = (8, 8, 12), (0, 1, 1), (0, 1, 0), (-20.0, -10.0), (10.0, 20.0)
    order = _dealt(*sizes)
    latencies: dict[int, list[float]] = {}
    place = iter(order)
    for size, side, begin in zip(sizes, sides, first, strict=True):
        for i in range(size):
            cpc = (begin + i // 2) % 2
            latencies[int(next(place))] = [200 + (near if line % 2 == side else far)[cpc] for line in range(8)]
    entries = [x for sm in range(28) for x in latencies[sm]]
    placed = record("scheduling/cta_to_sm", 56, "CTAs", order + order, ctas_per_sm=1)
    seen = record("latency/l2_hit_line_by_sm", 200, "cycles", entries, sms=28, lines=8)
    found = calibrate(file_of(tmp_path, placed, seen, device={"multiProcessorCount": 28}), BASE)
    assert (field(found, "chip.gpc_side").new, field(found, "chip.gpc_cpc").new) == (sides, first)
    assert field(found, "l2.near").new == pytest.approx(near) and field(found, "l2.far").new == pytest.approx(far)
    assert field(found, "l2.slice_spread").new == pytest.approx(0)


def test_sets_of_an_l1(tmp_path: Path) -> None:
    """A chase over F bytes in a row misses 4 (F - 100 KiB) times its share in sets of four lines."""
    sizes = [k * 1024 for k in (10, 20, 40, 60, 80, 100, 104, 108, 112, 116, 120, 140, 200)]
    made: list[tuple[float, float]] = [(f, 30 + 200 * min(1.0, max(0.0, 4 * (f - 102400) / f))) for f in sizes]
    made += [(2**20 * (i + 1), 230.0) for i in range(30)]
    made += [(2**20 * 30 * k, (230 * 30 + 500 * 30 * (k - 1)) / (30 * k)) for k in (1.2, 1.5, 1.8)]
    steps = [record("latency/staircase", y, "cycles", footprint=x, ld="ca", warm="one_sm", l1_carveout="max_l1") for x, y in made]
    found = calibrate(file_of(tmp_path, *steps), BASE)
    assert field(found, "sm.l1_ways").new == 4
    assert field(found, "sm.l1_reserved").new is None


def test_an_order_without_gpcs_determines_none(tmp_path: Path) -> None:
    order = [float(i * 7 % 24) for i in range(24)]
    placed = record("scheduling/cta_to_sm", 24, "CTAs", order, ctas_per_sm=1)
    found = calibrate(file_of(tmp_path, placed, device={"multiProcessorCount": 24}), BASE)
    assert field(found, "chip.gpc_sms").new is None and "do not show GPCs" in field(found, "chip.gpc_sms").why


def test_the_file_is_a_gpu_that_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of(tmp_path, record("latency/l1_hit", 40.2, "cycles", ld="ca.u64"), device={"name": "A chip", "l2CacheSize": 80 * 2**20})
    out = tmp_path / "my-gpu.yaml"
    assert main(["calibrate", file, "--base", "h100-sxm", "-o", str(out)]) == 0
    told = capsys.readouterr().out
    assert "sm.l1_latency" in told and "32 cycles  ->  40 cycles" in told and "Not determined" in told
    spec = load_spec(out)
    assert (spec.name, spec.sm.l1_latency, spec.l2.capacity, spec.dram.standard) == ("my-gpu", 40, 80 * 2**20, "HBM3")
    assert spec.provenance["sm.l1_latency"] == "measured: micro.json latency/l1_hit, 8 bytes"
    assert main(["run", "gemm", "--m", "256", "--n", "256", "--k", "256", "--gpu", str(out)]) == 0
    assert "my-gpu" in capsys.readouterr().out


def test_a_base_that_is_a_file_is_found_from_the_folder_of_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    base = tmp_path / "base.yaml"
    base.write_text("base: h100-sxm\nsm:\n  fence: 99\n")
    found = calibrate(file_of(tmp_path, record("latency/l1_hit", 40, "cycles", ld="ca.u64")), str(base))
    write(found, str(base), str(tmp_path / "deep" / "mine.yaml"))
    spec = load_spec(tmp_path / "deep" / "mine.yaml")
    assert (spec.sm.fence, spec.sm.l1_latency) == (99, 40)


def test_values_read_back_as_they_were_found(tmp_path: Path) -> None:
    made = (
        record("bandwidth/l2_write", 5123.456, "GB/s", footprint=1),
        record("smem/global_atomic", 2.71828, "lane ops/ns", op="red.add.u32", pattern="one word", words=0),
    )
    found = calibrate(file_of(tmp_path, *made), BASE)
    (tmp_path / "a.yaml").write_text(yaml_text(found, "a", BASE))
    spec = load_spec(tmp_path / "a.yaml")
    assert spec.simt is not None
    assert (spec.l2.write_bandwidth, spec.simt.atomic_step) == (5.123e12, 2.718e9)


GOOD = record("latency/l1_hit", 32, "cycles", ld="ca.u64")


@pytest.mark.parametrize(
    "content, told",
    [
        ({"cases": []}, "measured kernels ('cases')"),
        ({"records": []}, "holds no microbenchmark records"),
        ([1], "holds no microbenchmark records"),
        ({"results": []}, "'results' is empty"),
        ({"results": [3]}, "record 0 is int, not an object"),
        ({"results": [{"group": "latency"}]}, "record 0 has no text 'name'"),
        ({"results": [GOOD | {"value": "fast"}]}, "record 0 (latency/l1_hit): value = 'fast' is not a number"),
        ({"results": [GOOD | {"params": []}]}, "'params' is list, not an object"),
        ({"results": [GOOD | {"list": ["a"]}]}, "'list' is not a list of numbers"),
        ({"results": [GOOD], "device": []}, "'device' is list, not an object"),
    ],
)
def test_malformed_files_are_told(content: Any, told: str) -> None:
    with pytest.raises(GpusimError) as error:
        parse(content, "micro.json")
    assert told in str(error.value) and str(error.value).startswith("micro.json: ") and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "records, told",
    [
        ([GOOD | {"value": -3}], "has the value -3 cycles, which cannot be measured"),
        ([GOOD | {"value": float("nan")}], "has the value nan cycles, which cannot be measured"),
        ([GOOD | {"unit": "ns"}], "is in 'ns', not in 'cycles'"),
        ([GOOD, GOOD | {"value": 40}], "2 records latency/l1_hit with ld = ca.u64 with different values (32, 40)"),
        ([record("mine/own", 1, "cycles")], "none of its records determines a field"),
    ],
)
def test_records_that_cannot_be_are_told(tmp_path: Path, records: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(GpusimError) as error:
        calibrate(file_of(tmp_path, *records), BASE)
    assert told in str(error.value)


def test_another_kind_of_chip_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(GpusimError, match="compute capability 8.0, but the base h200-sxm has 9.0"):
        calibrate(file_of(tmp_path, GOOD, device={"cc_major": 8, "cc_minor": 0}), BASE)


def test_a_step_that_failed_is_named_and_nothing_is_made_of_it(tmp_path: Path) -> None:
    failed = {"group": "bandwidth", "name": "l2_write", "error": "an illegal memory access"}
    found = calibrate(file_of(tmp_path, GOOD, failed, {"group": "power", "error": "killed"}), BASE)
    assert found.failed == ("bandwidth/l2_write", "power/*")
    assert field(found, "l2.write_bandwidth").new is None
    assert "Steps that ended in an error: bandwidth/l2_write, power/*" in table(found)


def test_a_value_that_was_not_measured_determines_nothing(tmp_path: Path) -> None:
    found = calibrate(file_of(tmp_path, GOOD, record("bandwidth/l2_write", None, "GB/s", footprint=1)), BASE)
    assert field(found, "l2.write_bandwidth").new is None


def test_a_result_that_is_no_gpu_leaves_no_file(tmp_path: Path) -> None:
    """The clock falls below the base's clock under tensor load, of which the file says nothing."""
    found = calibrate(file_of(tmp_path, record("latency/sm_clock", 900, "MHz", when="start")), BASE)
    with pytest.raises(GpusimError, match=r"clocks.tensor must not exceed clocks.boost"):
        write(found, BASE, str(tmp_path / "mine.yaml"))
    assert [path.name for path in tmp_path.iterdir()] == ["micro.json"]


@pytest.mark.parametrize("out, told", [("mine.json", "does not end in .yaml"), ("nowhere/mine.yaml", "the folder nowhere does not exist")])
def test_places_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str, told: str) -> None:
    assert main(["calibrate", file_of(tmp_path, GOOD | {"value": 40}), "--base", BASE, "-o", out]) == 2
    assert told in capsys.readouterr().err


def test_the_base_is_not_overwritten(tmp_path: Path) -> None:
    base = tmp_path / "base.yaml"
    base.write_text("base: h100-sxm\nsm:\n  fence: 99\n")
    with pytest.raises(GpusimError, match="is the base itself"):
        write(calibrate(file_of(tmp_path, GOOD), str(base)), str(base), str(base))


def test_a_missing_file_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "nowhere.json", "--base", BASE]) == 2
    assert capsys.readouterr().err == "gpusim: nowhere.json: cannot be read (No such file or directory). Give a file of microbenchmark records.\n"
