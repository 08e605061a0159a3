"""Launches of one program, again and again: what is the same each time is done once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpusim.ir.simt.nodes import Geometry, SimtProgram
from gpusim.launch.clock import Clock
from gpusim.launch.simt.args import facts
from gpusim.launch.simt.prepare import Ready, check_geometry, ready
from gpusim.lower.simt.code import Code
from gpusim.lower.simt.sharing import Codes
from gpusim.spec.device import GpuSpec

MOST = 64  # launches that are remembered


class Repeats:
    """`prepare` for one program. Launches of which the same is proved share their code."""

    def __init__(self, program: SimtProgram) -> None:
        self.program = program
        self._codes = Codes(program)
        self._made: dict[Any, tuple[Code, GpuSpec, Ready]] = {}  # code and spec, so that their ids stay theirs

    def prepare(self, geometry: Geometry, args: Sequence[Any], spec: GpuSpec, registers: int | None, clock_mhz: Clock) -> Ready:
        """As `prepare.prepare`, with its errors."""
        known = facts(self.program, geometry, args)
        code = self._codes(known)
        key = (id(code), geometry, id(spec), registers, clock_mhz)
        if key not in self._made:
            check_geometry(geometry, spec)
            if len(self._made) >= MOST:
                self._made.clear()
            self._made[key] = code, spec, ready(code, known, geometry, spec, registers, clock_mhz)
        return replace(self._made[key][2], facts=known)
