"""`gpusim validate` from file to JSON, with a simulator that returns what the test wants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpusim.errors import GpusimError
from gpusim.ir.program import Program
from gpusim.spec.load import load_spec
from gpusim.trace.run import Occupancy, Protocol, Run
from gpusim.validate import command, evaluate
from gpusim.validate.cases import read
from gpusim.validate.command import Validation, validate
from gpusim.validate.mapping import DEFAULT_GPU, KERNELS
from gpusim.validate.protocol import MEASURES
from gpusim.validate.selection import select

PARAMS = {"M": 1024, "N": 1024, "K": 1024, "BM": 128, "BN": 128, "BK": 64, "warps": 4, "stages": 4, "group_m": 8, "dtype": "bf16"}
PARAMS |= {"lda": 1024, "ldb": 1024, "ldc": 1024}
GEMM = {"group": "g1", "family": "f1", "kernel": "gemm_kernel", "params": PARAMS, "clock_mhz": 1500, "noise": None}
#: the fake simulator's answer
CYCLES, PICOSECONDS = 20_000.0, 30_000_000


def gemm(name: str, cycles: float, gpu_ns: float = 50_000, ns: float = 40_000, **more: Any) -> dict[str, Any]:
    params = {**PARAMS, **more.pop("params", {})}
    return {"id": name, **GEMM, "sm_cycles": cycles, "gpu_ns": gpu_ns, "ns": ns, **more, "params": params}


CASES = [
    gemm("a", 25_000),
    gemm("b", 16_000, noise=0.3, family="f2"),
    gemm("tiny", 10_000, gpu_ns=9_999, ns=12_000),
    gemm("wide", 20_000, params={"BN": 256}),
    gemm("lib", 20_000, kernel="unheard_of", group="g2"),
    gemm("uncounted", 20_000, sm_cycles=None, group="g2"),
]


@pytest.fixture()
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The options of every simulation. The fake refuses tiles 256 wide, as a device with too little shared memory would."""
    seen: list[dict[str, Any]] = []

    def simulate(program: Program, spec: Any, **options: Any) -> Run:
        seen.append(options)
        if "256" in program.params["tile"]:
            raise GpusimError("the tile does not fit.", where="sm")
        occupancy = Occupancy(1, "shared", {}, 4, 128, 0)
        protocol = Protocol(options["l2"], options["launch"], float(options["clock_mhz"]) if options["clock_mhz"] != "load" else 1234.0)
        return Run(str(spec), "gemm", {}, protocol, occupancy, program.ctas, 1, 132, CYCLES, PICOSECONDS, 0, {}, {}, 0.0, {})

    monkeypatch.setattr(evaluate, "simulate", simulate)
    monkeypatch.setattr(command, "load_gpu", FakeSpec)
    return seen


class FakeSpec:
    def __init__(self, name: str) -> None:
        self.name = name


@pytest.fixture()
def run(calls: list[dict[str, Any]], tmp_path: Path) -> Callable[..., Validation]:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"meta": {}, "cases": CASES}))
    return lambda **options: validate([str(path)], jobs=1, **options)


def test_every_case_comes_back_with_its_status(run: Callable[..., Validation]) -> None:
    found = {o.id: o for o in run().outcomes}
    assert [*found] == [c["id"] for c in CASES]
    assert {name: o.status for name, o in found.items()} == {
        **{"a": "ok", "b": "ok", "tiny": "short", "wide": "unsupported", "lib": "unsupported", "uncounted": "unsupported"},
    }
    assert found["a"].error == pytest.approx(-0.2) and found["tiny"].error == pytest.approx(1.0)
    assert found["wide"].reason == "sm: the tile does not fit."
    assert found["lib"].reason == "no program for kernel 'unheard_of'" and found["uncounted"].reason == "the case has no sm_cycles"


def test_json_is_as_promised(run: Callable[..., Validation], tmp_path: Path) -> None:
    run(json_out=str(tmp_path / "out.json"), rank=True)
    found = json.loads((tmp_path / "out.json").read_text())
    assert list(found) == ["measure", "groups", "families", "rank", "cases"] and found["measure"] == "cycles"
    assert list(found["groups"]) == ["g1", "g2"] and list(found["families"]) == ["f1", "f2"]
    g1 = found["groups"]["g1"]
    assert {k: g1[k] for k in ("cases", "unsupported", "short", "noisy")} == {"cases": 2, "unsupported": 1, "short": 1, "noisy": 1}
    assert g1["mape"] == pytest.approx(0.225) and g1["signed_mean"] == pytest.approx(0.025) and g1["worst"] == pytest.approx(0.25) and g1["worst_id"] == "b"
    nothing = dict.fromkeys(("mape", "signed_mean", "median", "p90", "worst", "worst_id"))
    assert found["groups"]["g2"] == {"cases": 0, "unsupported": 2, "short": 0, "noisy": 0, **nothing}
    assert found["rank"]["g1"] == {"shapes": {}, "median_spearman": None, "min_spearman": None, "median_regret": None, "max_regret": None}
    keys = ["id", "group", "family", "measured", "simulated", "unit", "error", "status", "reason"]
    assert all(list(case) == keys for case in found["cases"]) and len(found["cases"]) == len(CASES)
    assert list(found["cases"][5].values()) == ["uncounted", "g2", "f1", None, None, "cycles", None, "unsupported", "the case has no sm_cycles"]


def test_protocols_are_not_mixed(run: Callable[..., Validation], calls: list[dict[str, Any]]) -> None:
    run()
    assert {tuple(c.values()) for c in calls} == {("cold", "out", 1500, 2.4e6)}
    calls.clear()
    timed = run(measure="time")
    assert {tuple(c.values()) for c in calls} == {("foreign-dirty", "in", "load", 0.0)}
    first = timed.outcomes[0]
    assert (first.simulated, first.unit, first.measured, first.error) == (30_000, "ns", 40_000, pytest.approx(-0.25))
    assert timed.outcomes[2].status == "ok", "12 us by events, though under 10 us by the profiler"
    assert timed.outcomes[5].status == "ok", "no cycles are needed to compare times"


def test_min_us_moves_cases_out_of_the_statistics_only(run: Callable[..., Validation]) -> None:
    assert [o.status for o in run(min_us=0).outcomes].count("short") == 0
    assert run(min_us=1000).groups["g1"].cases == 0 and len(run(min_us=1000).outcomes) == len(CASES)


def test_rank_counts_short_cases(calls: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rank.json"
    path.write_text(json.dumps({"cases": [gemm(f"c{i}", 20_000 + 1000 * i, gpu_ns=5) for i in range(6)]}))
    found = validate([str(path)], jobs=1, rank=True)
    assert found.groups["g1"].cases == 0
    assert found.rank["g1"]["shapes"]["1024x1024x1024"] == {"spearman": None, "regret": pytest.approx(0.25), "configurations": 6}
    assert ["g1", "1024x1024x1024", "6", "-", "25.0%"] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_text_says_protocol_reasons_and_worst(run: Callable[..., Validation], capsys: pytest.CaptureFixture[str]) -> None:
    run(worst=1, rank=True)
    out = capsys.readouterr().out
    wanted = ["L2 cold and clean", "launch overhead out", "+25.0%", "no program for kernel 'unheard_of'", "the tile does not fit", "BM=128"]
    for words in [*wanted, "no shape has enough"]:
        assert words in out
    assert max(map(len, out.splitlines())) < 260


def test_json_to_stdout_is_nothing_but_json(run: Callable[..., Validation], capsys: pytest.CaptureFixture[str]) -> None:
    run(json_out="-")
    captured = capsys.readouterr()
    assert json.loads(captured.out)["measure"] == "cycles" and "MAPE" in captured.err


def test_selection(run: Callable[..., Validation]) -> None:
    def ids(**options: Any) -> list[str]:
        return [o.id for o in run(**options).outcomes]

    assert ids(groups=["g2"]) == ["lib", "uncounted"]
    assert ids(families=["f2"]) == ["b"]
    assert ids(ids=["*i*"]) == ["tiny", "wide", "lib"]
    assert ids(ids=["*i*", "!w*"]) == ids(ids=["*i*,!w*"]) == ["tiny", "lib"]
    assert ids(ids=["!*i*"]) == ["a", "b", "uncounted"]
    assert ids(groups=["g1", "g2"], families=["f1"], ids=["[lt]*"]) == ["tiny", "lib"]


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "group": ({"groups": ["g3"]}, "--group: no case has 'g3'"),
    "family": ({"families": ["zzz"]}, "There are f1, f2"),
    "id": ({"ids": ["nothing*"]}, "none of 6 cases is left"),
    "measure": ({"measure": "joules"}, "cycles, time"),
    "min-us": ({"min_us": -1.0}, "--min-us"),
    "worst": ({"worst": -1}, "--worst"),
    "json": ({"json_out": "/nowhere/at/all.json"}, "folder does not exist"),
}


@pytest.mark.parametrize("options, words", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_told_before_anything_runs(run: Callable[..., Validation], calls: list[dict[str, Any]], options: dict[str, Any], words: str) -> None:
    with pytest.raises(GpusimError, match=words):
        run(**options)
    assert not calls


def test_no_file_the_same_file_twice_and_no_processes(calls: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": CASES}))
    for files, jobs, words in (([], 1, "no file"), ([str(path), str(path)], 1, "twice"), ([str(path)], 0, "--jobs")):
        with pytest.raises(GpusimError, match=words):
            validate(files, jobs=jobs)


def test_a_bug_in_the_simulator_is_not_an_unsupported_case(run: Callable[..., Validation], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Run:
        raise ZeroDivisionError

    monkeypatch.setattr(evaluate, "simulate", broken)
    with pytest.raises(ZeroDivisionError) as caught:
        run()
    assert caught.value.__notes__ == ["while simulating the measured case a"]


def test_select_leaves_the_order_alone() -> None:
    with pytest.raises(GpusimError, match="none of 0"):
        select([])


def test_processes_give_the_same_list_in_the_same_order(capfd: pytest.CaptureFixture[str]) -> None:
    """Cases without a program: what is tested is the way there and back."""
    cases = [case for case in read(DEFAULT_GPU) if case.kernel not in KERNELS][:40]
    spec, measure = load_spec(DEFAULT_GPU), MEASURES["cycles"]
    one, two = (evaluate.evaluate_all(cases, spec, measure, 10.0, jobs) for jobs in (1, 2))
    assert one == two and [o.id for o in two] == [case.id for case in cases]
    assert capfd.readouterr().out == "", "standard output belongs to the tables"
