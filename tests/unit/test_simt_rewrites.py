"""Rewrites keep every value: each alone and all together, on random programs."""

from __future__ import annotations

import pytest

from gpusim.ir.simt.rewrites.coalesce import coalesce
from gpusim.ir.simt.rewrites.cse import cse
from gpusim.ir.simt.rewrites.dead import dead
from gpusim.ir.simt.rewrites.fold import fold
from gpusim.ir.simt.rewrites.invariant import invariant
from gpusim.ir.simt.rewrites.names import own_counters
from gpusim.ir.simt.rewrites.narrow import narrow
from gpusim.ir.simt.rewrites.promote import promote
from gpusim.ir.simt.rewrites.unroll import unroll
from tests.unit.simt_programs import FACTS, PARAMS, random_program, run_program

REWRITES = {
    "fold": fold,
    "dead": dead,
    "own_counters": own_counters,
    "unroll": lambda program: unroll(fold(own_counters(program))),
    "promote": promote,
    "cse": lambda program: cse(program, FACTS),
    "coalesce": lambda program: coalesce(dead(cse(program, FACTS))),
    "narrow": lambda program: narrow(program, FACTS),
    "invariant": lambda program: invariant(program, FACTS),
}


@pytest.mark.parametrize("name", REWRITES)
def test_a_rewrite_keeps_the_values_of_random_programs(name: str) -> None:
    for seed in range(80):
        program = random_program(seed)
        assert run_program(REWRITES[name](program), PARAMS, seed)[0] == run_program(program, PARAMS, seed)[0], f"seed {seed}"
