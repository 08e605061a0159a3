"""Rewrites keep every value: each alone and all together, on random programs."""

from __future__ import annotations

import pytest

from gpusim.ir.simt.rewrites import optimise
from gpusim.ir.simt.rewrites.coalesce import coalesce
from gpusim.ir.simt.rewrites.cse import cse
from gpusim.ir.simt.rewrites.dead import dead
from gpusim.ir.simt.rewrites.fold import fold
from gpusim.ir.simt.rewrites.invariant import invariant
from gpusim.ir.simt.rewrites.names import own_counters
from gpusim.ir.simt.rewrites.narrow import narrow
from gpusim.ir.simt.rewrites.predicate import predicate
from gpusim.ir.simt.rewrites.promote import promote
from gpusim.ir.simt.rewrites.unroll import unroll
from gpusim.ir.simt.rewrites.webs import webs
from gpusim.lower.simt.cfg import build
from tests.unit.simt_programs import FACTS, PARAMS, random_program, run_code, run_program

REWRITES = {
    "fold": fold,
    "dead": dead,
    "own_counters": own_counters,
    "unroll": lambda program: unroll(fold(own_counters(program))),
    "promote": promote,
    "webs": lambda program: webs(unroll(own_counters(program))),
    "cse": lambda program: cse(program, FACTS),
    "coalesce": lambda program: coalesce(dead(cse(program, FACTS))),
    "narrow": lambda program: narrow(program, FACTS),
    "predicate": lambda program: predicate(coalesce(dead(cse(program, FACTS)))),
    "invariant": lambda program: invariant(program, FACTS),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_keeps_the_values_of_random_programs(name: str) -> None:
    for seed in range(80):
        program = random_program(seed)
        assert run_program(REWRITES[name](program), PARAMS, seed)[0] == run_program(program, PARAMS, seed)[0], f"seed {seed}"


def test_all_together_keep_values_also_as_blocks() -> None:
    notes = ""
    for seed in range(100, 250):
        program = random_program(seed)
        better = optimise(program, FACTS)
        expected, before = run_program(program, PARAMS, seed)
        assert run_program(better, PARAMS, seed)[0] == expected, f"seed {seed}"
        found, after = run_code(build(better), PARAMS, seed)
        assert found == expected, f"seed {seed}"
        notes += " ".join(better.notes)
    for word in ("unrolled wholly", "unrolled 2 times", "predicated", "selection", "32 bits", "in registers"):
        assert word in notes, f"no random program shows: {word}"
