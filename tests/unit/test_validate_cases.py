"""Reading measured cases: what is accepted, what is refused with which words, and that the shipped copy is the measured text."""

from __future__ import annotations

import gzip
import hashlib
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from gpusim.errors import GpusimError
from gpusim.validate.cases import manifest, read, shipped, shipped_bytes

CASE = {"id": "x", "group": "g", "family": "f", "kernel": "k", "params": {"M": 1}, "sm_cycles": 100}
SQUEEZE: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}
MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data"


def _write(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


@pytest.mark.parametrize("end", SQUEEZE)
def test_plain_and_compressed_files_read_alike(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"cases.json{end}"
    path.write_bytes(SQUEEZE[end](json.dumps({"meta": {}, "cases": [CASE]}).encode()))
    (case,) = read(str(path))
    assert (case.id, case.group, case.family, case.kernel, case.params) == ("x", "g", "f", "k", {"M": 1})
    assert case.number("gpu_ns", "sm_cycles") == 100


def test_points_of_a_microbenchmark_are_cases_without_a_kernel(tmp_path: Path) -> None:
    points = [{"group": "latency", "name": "l1", "params": {"stride": 8}, "value": 32.0}] * 2
    cases = read(_write(tmp_path / "micro.json", {"results": points}))
    assert [c.id for c in cases] == ["latency/l1#0", "latency/l1#1"]
    assert {(c.group, c.family, c.kernel) for c in cases} == {("latency", "l1", "")}


BAD = {
    "text": ("{", "line 1, column 2"),
    "list": ([CASE], "holds no measured cases"),
    "other": ({"rows": [CASE]}, "holds no measured cases"),
    "not a list": ({"cases": {"x": CASE}}, "holds no measured cases"),
    "number": ({"cases": [CASE, 3]}, "cases[1]: is not an object"),
    "no id": ({"cases": [{**CASE, "id": 7}]}, "cases[0]: has no text 'id'"),
    "no family": ({"cases": [{k: v for k, v in CASE.items() if k != "family"}]}, "has no text 'family'"),
    "params": ({"cases": [{**CASE, "params": [1]}]}, "has no object 'params'"),
    "point": ({"results": [{"group": "g"}]}, "results[0]: has no text 'group' and 'name'"),
}


@pytest.mark.parametrize("content, words", BAD.values(), ids=BAD)
def test_malformed_files_say_where(tmp_path: Path, content: object, words: str) -> None:
    name = _write(tmp_path / "bad.json", content)
    with pytest.raises(GpusimError) as caught:
        read(name)
    assert name in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("end", [".gz", ".xz"])
def test_a_cut_archive_is_one_sentence(tmp_path: Path, end: str) -> None:
    path = tmp_path / f"cut.json{end}"
    path.write_bytes(SQUEEZE[end](json.dumps({"cases": [CASE] * 200}).encode())[:-20])
    with pytest.raises(GpusimError, match="is not a whole"):
        read(str(path))


def test_binary_missing_and_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "raw.json").write_bytes(b"\xff\xfe\x00")
    for name, words in (("raw.json", "UTF-8"), ("absent.json", "cannot be read"), (".", "is a folder")):
        with pytest.raises(GpusimError, match=words):
            read(str(tmp_path / name))


@pytest.mark.parametrize("value", [None, "12", True, 0, -1, float("nan"), float("inf")])
def test_only_positive_finite_numbers_are_numbers(tmp_path: Path, value: object) -> None:
    (case,) = read(_write(tmp_path / "c.json", {"cases": [{**CASE, "sm_cycles": value}]}))
    assert case.number("sm_cycles") is None


def test_shipped_sets_are_read_by_name_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in shipped():
        cases = read(name)
        assert len(cases) == sum(len(json.loads(shipped_bytes(name, f))["cases"]) for f in manifest(name)["cases"])
        assert len({c.id for c in cases}) == len(cases)
    assert shipped()


def test_shipped_copy_is_the_measured_text() -> None:
    """Against the measurements themselves where they lie beside the repository, else against the sums written down when they were packed."""
    for name in shipped():
        for file, noted in manifest(name)["files"].items():
            ours, measured = shipped_bytes(name, file), MEASURED / name / file
            assert (len(ours), hashlib.sha256(ours).hexdigest()) == (noted["bytes"], noted["sha256"])
            assert not measured.exists() or ours == measured.read_bytes(), f"{file} changed: python -m tests.hardware.pack {measured.parent} {name}"
        if (MEASURED / name).is_dir():
            assert {p.name for p in (MEASURED / name).glob("*.json")} == set(manifest(name)["files"])
