"""Distances between SMs and slices: their mean is the latency of a hit, TPCs see the same, and the other side of the chip is farther."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, pstdev

import pytest

from gpusim.errors import GpusimError
from gpusim.parts.noc import hit_offset, offsets
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, resolve

LINES = range(3000)


def chip(name: str = "h200-sxm") -> Machine:
    return resolve(load_spec(name), 1980.0)


def test_the_mean_over_the_chip_is_the_hit_latency() -> None:
    m = chip()
    means = [fmean(map(offsets(m, sm), LINES)) for sm in range(m.sms)]
    assert fmean(means) == pytest.approx(0.0, abs=1.0)
    assert 4 < pstdev(means) < 7 and max(means) < 16


def test_two_sms_of_a_tpc_are_equal_and_those_of_other_places_are_not() -> None:
    m = chip()
    assert [hit_offset(m, 8, line) for line in LINES] == [hit_offset(m, 9, line) for line in LINES]
    assert fmean(map(offsets(m, 12), LINES)) > fmean(map(offsets(m, 8), LINES)) + 5


def test_lines_fall_into_two_sides_that_gpcs_see_the_other_way_round() -> None:
    m = chip()
    here, there = offsets(m, 16), offsets(m, 16 + 3 * 16)
    near = [line for line in LINES if here(line) < there(line)]
    assert 0.4 < len(near) / len(LINES) < 0.6
    assert fmean(map(here, near)) < 0 < fmean(map(there, near))


def test_a_chip_that_does_not_say_has_no_distances() -> None:
    assert not any(map(offsets(chip("h100-pcie"), 5), LINES))


def test_another_number_of_sms_works() -> None:
    m = replace(chip(), gpc_sms=(2, 6, 20, 2, 2, 2, 2, 2, 2))
    assert len({hit_offset(m, sm, 77) for sm in range(m.sms)}) >= 3


def test_a_list_of_the_wrong_length_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\nbase: h200-sxm\nchip: {gpc_side: [0, 1]}\n")
    with pytest.raises(GpusimError, match="gpc_side"):
        load_spec(str(path))
