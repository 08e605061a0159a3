"""One code for many launches of a program: what a launch's numbers prove decides the code, not the numbers themselves.

Facts enter at two places. "narrow" proves ranges of integers; so programs are compared behind it, and all that follows is done once for
each that differs. And a loop whose step is a register is cut to the direction that it goes; there, the numbers themselves count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpusim.ir.simt.facts import LaunchFacts
from gpusim.ir.simt.nodes import For, Imm, SimtProgram, Stmt
from gpusim.ir.simt.walk import bodies
from gpusim.lower.simt.code import Code

MOST = 64  # of a kind that are remembered


class Codes:
    """The codes of one program, by what was proved."""

    def __init__(self, program: SimtProgram) -> None:
        self.program = program
        self._early: dict[frozenset[int], SimtProgram] = {}
        self._by_facts: dict[Any, Code] = {}
        self._by_program: dict[Any, Code] = {}

    def __call__(self, facts: LaunchFacts) -> Code:
        """The same as `lower(program, facts)`. Errors as there."""
        key = (facts.geometry, facts.overlapping, tuple((k, v) for k, v in facts.params.items() if not isinstance(v, float)))
        if key not in self._by_facts:
            _keep(self._by_facts, key, self._proved(facts, key))
        return self._by_facts[key]

    def _proved(self, facts: LaunchFacts, exact: Any) -> Code:
        from gpusim.ir.simt.rewrites import PASSES

        at = [name for name, _ in PASSES].index("narrow")
        without = replace(facts, params={})
        if facts.overlapping not in self._early:
            self._early[facts.overlapping] = _run(self.program, PASSES[:at], without)
        program = PASSES[at][1](self._early[facts.overlapping], facts)
        turned = _steps(program.body)
        key = (program, exact if turned else (facts.geometry, facts.overlapping))
        if key not in self._by_program:
            _keep(self._by_program, key, _finished(_run(program, PASSES[at + 1 :], without), facts if turned else without))
        return self._by_program[key]


def _finished(program: SimtProgram, facts: LaunchFacts) -> Code:
    from gpusim.lower.simt.cfg import build
    from gpusim.lower.simt.select import select

    return select(build(program), facts)


def _run(program: SimtProgram, passes: Sequence[tuple[str, Any]], facts: LaunchFacts) -> SimtProgram:
    for _, rewrite in passes:
        program = rewrite(program, facts)
    return program


def _steps(body: Iterable[Stmt]) -> bool:
    """Whether a loop has a step that is no constant."""
    return any(isinstance(stmt, For) and not isinstance(stmt.step, Imm) or any(_steps(part) for part in bodies(stmt)) for stmt in body)


def _keep(table: dict[Any, Code], key: Any, code: Code) -> None:
    if len(table) >= MOST:
        table.clear()
    table[key] = code
