"""The result of lowering: one stream of effects for every CTA, and what a CTA occupies."""

from __future__ import annotations

from dataclasses import dataclass

from gpusim.effects import Effect
from gpusim.ir.program import Program


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one CTA takes of an SM: warps, 32-bit registers per thread (after the limit), spilled registers, shared bytes."""

    warps: int
    registers: int
    spills: int
    shared_bytes: int


@dataclass(frozen=True, slots=True)
class Lowered:
    """`program` as `body` of effects; `stages` is the pipeline depth that was really emitted; `notes`: what the compiler
    could not do, and what the user may change."""

    program: Program
    body: tuple[Effect, ...]
    footprint: Footprint
    stages: int
    matrix: str
    notes: tuple[str, ...] = ()
