"""From a SIMT program to code: rewrites, blocks, instructions."""

from __future__ import annotations

from importlib.util import find_spec

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import SimtProgram
from gpusim.lower.simt.code import Code


def lower(program: SimtProgram, facts: LaunchFacts) -> Code:
    """The program as the machine runs it at this launch: rewritten, cut into blocks, with instructions selected.

    `facts` prove that integers fit 32 bits; they never decide a branch. GpusimError as `cfg.build` and selection raise it.
    """
    from gpusim.ir.simt.rewrites import optimise
    from gpusim.lower.simt.cfg import build

    code = build(optimise(program, facts))
    if find_spec("gpusim.lower.simt.select") is None:
        return code
    from gpusim.lower.simt.select import select

    return select(code, facts)
