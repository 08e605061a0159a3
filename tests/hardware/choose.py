"""Choose the measured cases of the default tests, once: `python -m tests.hardware.choose` writes sample.json beside this file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from gpusim.validate.cases import Case, read
from gpusim.validate.mapping import DEFAULT_GPU, has_program
from tests.hardware.stairs import edges, staircases

SAMPLE = Path(__file__).with_name("sample.json")
SEED = 20261129

#: what a stratum is, and how many of its cases are drawn
Stratum = tuple[Callable[[Case], bool], int]


def _tile(case: Case) -> str:
    return "{BM}x{BN}x{BK}".format(**case.params)


def _even(group: str, *tiles: str) -> Callable[[Case], bool]:
    return lambda c: c.group == group and c.family == "gemm_even" and (not tiles or _tile(c) in tiles)


def _tuned(stages: int) -> Callable[[Case], bool]:
    return lambda c: c.group == "tune" and c.family == "gemm_even" and c.params["stages"] == stages


STRATA: list[Stratum] = [
    (_even("triton_gemm", "128x256x64"), 6),
    (_even("triton_gemm", "256x128x64"), 6),
    (_even("triton_gemm", "128x128x64"), 5),
    (lambda c: c.group == "triton_gemm" and _tile(c) not in ("128x256x64", "256x128x64", "128x128x64"), 2),
    (lambda c: c.group == "triton_wave" and c.family == "gemm_masked", 8),
    (lambda c: c.family == "gemm_unaligned_sizes", 3),
    (lambda c: c.family == "gemm_unaligned_pitch", 3),
    *((_tuned(stages), 2) for stages in (1, 2, 3, 4, 5)),
]


def choose() -> list[str]:
    """Ids: both sides of every jump of the staircases, the whole K sweep, and a draw from each stratum."""
    cases = [c for c in read(DEFAULT_GPU) if has_program(c)]
    ids = [c.id for stair in staircases(cases) for c in edges(stair)] + [c.id for c in k_sweep(cases)]
    draw = random.Random(SEED)
    for belongs, count in STRATA:
        ids += draw.sample(sorted(c.id for c in cases if belongs(c) and c.id not in ids), count)
    return ids


def k_sweep(cases: list[Case]) -> list[Case]:
    """The cases that differ in K alone: one wave of the same tiles, ever longer."""
    return sorted((c for c in cases if c.id.startswith("twk_")), key=lambda c: c.params["K"])


if __name__ == "__main__":
    SAMPLE.write_text(json.dumps({"seed": SEED, "ids": choose()}, indent=1) + "\n")
