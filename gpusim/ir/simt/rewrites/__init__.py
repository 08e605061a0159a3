"""Rewrites of SIMT programs: what an optimising compiler does before it selects instructions. Every one keeps all values."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import SimtProgram
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

Pass = Callable[[SimtProgram, LaunchFacts], SimtProgram]


def _alone(rewrite: Callable[[SimtProgram], SimtProgram]) -> Pass:
    return lambda program, facts: rewrite(program)


#: in the order they run
PASSES: tuple[tuple[str, Pass], ...] = (
    ("own counters", _alone(own_counters)),
    ("fold", _alone(fold)),
    ("dead", _alone(dead)),
    ("unroll", _alone(unroll)),
    ("promote", _alone(promote)),
    ("share", cse),
    ("dead", _alone(dead)),
    ("webs", _alone(webs)),
    ("narrow", narrow),
    ("share", cse),
    ("dead", _alone(dead)),
    ("hoist", invariant),
    ("share", cse),
    ("dead", _alone(dead)),
    ("coalesce", _alone(coalesce)),
    ("predicate", _alone(predicate)),
    ("share", cse),
    ("dead", _alone(dead)),
    ("coalesce", _alone(coalesce)),
)


def optimise(program: SimtProgram, facts: LaunchFacts) -> SimtProgram:
    """The program after all rewrites, in the order of the table above. `notes` says in words what was applied.

    The values of all stores stay the same. `facts` only prove ranges of integers.
    """
    for _, rewrite in PASSES:
        program = rewrite(program, facts)
    return program
