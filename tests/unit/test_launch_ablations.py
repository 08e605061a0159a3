"""Costs taken away from the machine and from what was recorded, without any launch."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from gpusim.errors import GpusimError
from gpusim.launch.ablations import ABLATIONS, ablate, ablate_counts, ablate_path, ablate_traffic, chosen, in_turn
from gpusim.launch.simt.state import Foreign
from gpusim.launch.simt.walk import DRAM, FAR, NEAR, Moved
from gpusim.lower.simt.code import Access
from gpusim.spec.load import load_spec
from gpusim.spec.resolve import Machine, SimtCosts, resolve
from gpusim.trace.simt import Counts, CtaPath, Touch, WarpPath
from tests.unit.simt_code import code


def machine() -> Machine:
    return resolve(load_spec("h200"), 1980)


def test_rows_name_fields_of_the_machine() -> None:
    ours, threads = {f.name for f in fields(Machine)}, {f.name for f in fields(SimtCosts)}
    for name, ablation in ABLATIONS.items():
        assert {field for field, _ in ablation.fields} | {f for pair in ablation.like for f in pair} <= ours, name
        assert {field for field, _ in ablation.threads} <= threads, name
        assert ablation.fields or ablation.threads or ablation.like or not ablation.conflicts or not ablation.misses, name


def test_each_row_changes_only_its_fields() -> None:
    whole = machine()
    for name, ablation in ABLATIONS.items():
        changed = ablate(whole, [name])
        own = {field for field, _ in ablation.fields + ablation.like} | ({"threads"} if ablation.threads else set())
        assert {f.name for f in fields(Machine) if getattr(changed, f.name) != getattr(whole, f.name)} <= own, name


def test_nothing_taken_away_is_the_machine_itself() -> None:
    whole = machine()
    assert ablate(whole, []) is whole


def test_two_rows_are_both_taken_away() -> None:
    changed = ablate(machine(), ["l2-latency", "dram-latency"])
    assert (changed.l2_latency, changed.dram_latency, changed.simt.dram_spread) == (32, 0, 0)


def test_a_machine_without_threads_stays_one() -> None:
    assert ablate(replace(machine(), threads=None), ["launch", "branches"]).threads is None


def test_names_come_in_the_order_of_the_table() -> None:
    assert chosen(["bank-conflicts", "launch", "bank-conflicts"]) == ("launch", "bank-conflicts")
    assert chosen([]) == ()
    assert set(ABLATIONS) - set(chosen(["all"])) == {"merging"}
    assert chosen(["merging", "all"])[-1] == "merging"


def test_an_unknown_name_is_told_with_the_nearest() -> None:
    with pytest.raises(GpusimError, match=r"without = 'bank-conflict' is unknown. Did you mean 'bank-conflicts'\?"):
        chosen(["bank-conflict"])


def _path(*touches: Touch) -> CtaPath:
    return CtaPath(3, [WarpPath([0], [0xFFFFFFFF], [touches])])


def test_passes_without_conflicts_are_what_the_bytes_need() -> None:
    accesses = (Access("load", "shared", "tile", 4, 0, 1), Access("load", "shared", "tile", 16, 0, 1), Access("load", "global", "x", 4, 0, 1))
    program = replace(code([]), accesses=accesses)
    given = _path(Touch(0, 32, wavefronts=32), Touch(1, 32, wavefronts=8), Touch(1, 8, wavefronts=1), Touch(0, 32, same=32), Touch(2, 32, (1, 2), wavefronts=5))
    freed = ablate_path(given, program, ["bank-conflicts"])
    assert [t.wavefronts for t in freed.warps[0].touches[0]] == [1, 4, 1, 1, 5]
    assert freed.warps[0].touches[0][3].same == 1
    assert given.warps[0].touches[0][0].wavefronts == 32
    assert ablate_path(given, program, ["launch"]) is given


def test_counts_without_conflicts() -> None:
    counts = replace(Counts.zero(1, 2), requests=np.array([4, 2]), wavefronts=np.array([128, 2]))
    assert ablate_counts(counts, ["bank-conflicts"]).wavefronts.tolist() == [4, 2]
    assert ablate_counts(counts, ["l2-misses"]) is counts


def test_without_misses_all_is_near_and_nothing_moves() -> None:
    asked = {0: {7: [DRAM, NEAR], 8: [FAR]}}
    moved = Moved(missed=2, atoms=1, atomics=5, hottest=3)
    foreign = Foreign(64.0, 0.5)
    assert ablate_traffic(moved, foreign, asked, ["l2-misses"]) == (Moved(atomics=5, hottest=3), Foreign(), {0: {7: [NEAR, NEAR], 8: [NEAR]}})
    assert ablate_traffic(moved, foreign, asked, ["launch"]) == (moved, foreign, asked)


def test_savings_and_rest_are_the_whole_time() -> None:
    times = {(): 100, ("launch",): 70, ("launch", "dram-latency"): 75, ("launch", "dram-latency", "barriers"): 20}
    left, saved = in_turn(lambda names: times[names], lambda time: time, ["barriers", "launch", "dram-latency"])
    assert (left, saved) == (20, (("launch", 30), ("dram-latency", -5), ("barriers", 55)))
    assert left + sum(part for _, part in saved) == 100


def test_the_documentation_lists_the_table() -> None:
    text = (Path(__file__).parents[2] / "docs" / "launches.md").read_text().partition("## What each cost takes")[2]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [f"| `{name}` | {ablation.sentence} |" for name, ablation in ABLATIONS.items()]
