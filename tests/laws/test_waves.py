"""Wave quantisation: one row more of a matrix, twice the time."""

from __future__ import annotations

from functools import cache

import pytest

from gpusim.trace.run import Run
from tests.laws.cases import Case, spec_of
from tests.laws.closed import Gemm
from tests.laws.specs import changed


@cache
def _run(size: int, gpu: str = "a100") -> Run:
    return Case(gpu, Gemm(size, size, size, (256, 128, 32), "bf16", "padded")).run()


def test_one_more_row_makes_a_second_wave() -> None:
    below, above = _run(1792), _run(1793)
    assert (below.ctas, below.waves, below.slots) == (98, 1, 108)
    assert (above.ctas, above.waves, above.slots) == (120, 2, 108)
    assert above.ctas - (above.waves - 1) * above.slots == 12
    assert below.occupancy.ctas_per_sm == above.occupancy.ctas_per_sm == 1
    assert 1.8 <= above.cycles / below.cycles <= 2.2


def test_a_wave_costs_the_same_however_full_it_is() -> None:
    half, full = (Case("a100", Gemm(256 * rows, 1152, 1024, (256, 128, 32), "bf16", "padded")).run() for rows in (6, 12))
    assert (half.ctas, full.ctas) == (54, 108)
    assert full.waves == 1
    assert 1.0 <= full.cycles / half.cycles < 1.25


def test_an_sm_more_takes_the_tail_away() -> None:
    case = Case("a100", Gemm(1793, 1793, 1793, (256, 128, 32), "bf16", "padded"))
    spec = spec_of("a100")
    wider = changed(spec, chip__gpc_sms=tuple(18 for _ in spec.chip.gpc_sms))
    assert case.run(wider).waves == 1
    assert case.run(wider).cycles < 0.6 * case.run().cycles


@pytest.mark.parametrize("gpu", ["h200", "a100"])
def test_time_grows_by_steps_with_the_number_of_waves(gpu: str) -> None:
    sms = sum(spec_of(gpu).chip.gpc_sms)
    runs = [Case(gpu, Gemm(256 * ctas, 128, 1024, (256, 128, 32), "bf16", "padded"), stages=3).run() for ctas in (sms - 6, sms, sms + 1, 2 * sms, 2 * sms + 1)]
    times = [run.cycles for run in runs]
    slots = runs[0].slots
    assert [run.waves for run in runs] == [-(-run.ctas // slots) for run in runs]
    if slots == sms:
        assert times[1] / times[0] < 1.05
        assert times[2] / times[1] > 1.4
        assert times[4] / times[3] > 1.2
    assert times == sorted(times)
