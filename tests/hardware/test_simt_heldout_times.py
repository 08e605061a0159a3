"""Times of kernels, sizes and data that nothing was fitted on (tests/hardware/data/simt-heldout.json), each protocol against its own measurement.

Every fourth launch under one protocol in the tests of every day; all launches under all protocols with `-m full`.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from gpusim.spec.load import load_spec
from gpusim.validate.cases import Case, read
from gpusim.validate.evaluate import evaluate_all
from gpusim.validate.mapping import DEFAULT_GPU
from gpusim.validate.outcome import Outcome
from gpusim.validate.protocol import MEASURES
from gpusim.validate.stats import by, statistics
from gpusim.validate.table import statistics_table

HELD_OUT = Path(__file__).parent / "data" / "simt-heldout.json"
MIN_US = 10.0
#: products of tensor cores are in no bar of time yet
LEFT_OUT = ("hgemm", "flash")
CHOSEN = slice(1, None, 4)


def _cases() -> list[Case]:
    """Those that take 10 us under every protocol, so that all protocols have the same cases."""
    long = [c for c in read(str(HELD_OUT)) if all((c.number(*MEASURES[m].truth) or 0) >= 1000 * MIN_US for m in ("clean", "time"))]
    return [c for c in long if c.family not in LEFT_OUT]


def _bounded(cases: list[Case], measure: str) -> None:
    outcomes: list[Outcome] = evaluate_all(cases, load_spec(DEFAULT_GPU), MEASURES[measure], MIN_US, jobs=1)
    print(statistics_table(f"held out, {measure}", {f: statistics(members) for f, members in by(lambda o: o.family, outcomes).items()}))
    assert {o.id: o.reason for o in outcomes if o.status == "unsupported"} == {}
    errors = {o.id: o.error for o in outcomes if o.status == "ok" and o.error is not None}
    assert median(map(abs, errors.values())) <= 0.10, errors
    assert {name: e for name, e in errors.items() if not 0.5 <= 1 + e <= 2} == {}, "a factor of two is no longer an error but a mistake"


def test_times_with_a_clean_l2() -> None:
    cases = _cases()
    assert len(cases) == 42
    _bounded(cases[CHOSEN], "clean")


@pytest.mark.full
@pytest.mark.parametrize("measure", ["clean", "time", "warm"])
def test_times_of_all(measure: str) -> None:
    _bounded(_cases(), measure)
