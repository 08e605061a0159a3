"""The printed report of one small product on a made-up GPU, letter by letter, and the keys of its JSON.

Round numbers in report/toy.yaml keep it from changing when a shipped GPU is calibrated; rules of the lowering may change it. After
a change that is meant, write both again: `python -m tests.golden.test_report_text` (from the root of the repository).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gpusim.api import run
from gpusim.kernels.gemm import gemm
from gpusim.report.report import Report

HERE = Path(__file__).parent / "report"
TEXT, DATA = HERE / "gemm.txt", HERE / "gemm.json"


def _report() -> Report:
    return run(gemm(700, 520, 512, tile=(128, 64, 32)), HERE / "toy.yaml")


def _shape(value: Any) -> Any:
    """A value with its leaves replaced by what they are."""
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in value.items()}
    return type(value).__name__


def test_the_printed_report() -> None:
    assert str(_report()) + "\n" == TEXT.read_text()


def test_lines_fit_a_screen() -> None:
    assert max(map(len, str(_report()).splitlines())) <= 110


def test_the_keys_of_the_json_and_what_they_hold() -> None:
    assert _shape(_report().to_dict()) == json.loads(DATA.read_text())


def test_the_json_holds_what_the_issue_asks_for() -> None:
    asked = (
        "gpu, kernel, params, ctas, waves, tail_ctas, ctas_per_sm, limiter, cycles, time_us, clock_mhz, tflops, fraction_of_peak, dram_read_bytes, "
        "dram_write_bytes, l2_sectors, l1_sectors, shared_wavefronts, l2_hit_rate, stalls, bottleneck, digest"
    )
    data = json.loads(json.dumps(_report().to_dict()))
    assert set(asked.split(", ")) <= set(data)
    assert data["tail_ctas"] == data["ctas"] - (data["waves"] - 1) * data["slots"]


def test_text_and_json_tell_the_same() -> None:
    text, data = str(_report()), _report().to_dict()
    assert f"{data['ctas']} CTAs" in text
    assert f"{data['cycles']:,.0f} cycles" in text
    assert data["digest"] in text
    assert data["bottleneck"] in text


if __name__ == "__main__":
    TEXT.write_text(str(_report()) + "\n")
    DATA.write_text(json.dumps(_shape(_report().to_dict()), indent=1) + "\n")
