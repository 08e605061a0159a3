"""Lines of the printed report that only kernels of threads have: instructions, divergence, coalescing, bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusim.report.simt_lines import LANES, most_divergent, profile_of, text_of, worst_access
from gpusim.report.units import count, percent

if TYPE_CHECKING:
    from gpusim.report.report import Report

Line = tuple[str, str]
#: pipes that are worth a word
PIPES = {"fma": "fma_instructions", "alu": "alu_instructions", "xu": "xu_instructions", "fp64": "fp64_instructions", "lsu": "lsu_instructions"}
#: a line is named where less than this share of lanes is active, or accesses move this many times what they need
DIVERGENT, SCATTERED = 0.95, 1.5


def simt(r: Report) -> Iterator[Line]:
    """Nothing for kernels of tiles."""
    if r.run.profile is None:
        return
    yield from _resident(r)
    yield from _instructions(r)
    yield from _coalescing(r)
    yield from _conflicts(r)


def _resident(r: Report) -> Iterator[Line]:
    if r.achieved_occupancy is not None and r.run.warps_active is not None:
        yield "", f"achieved: {r.run.warps_active:.1f} warps on a working SM, {percent(r.achieved_occupancy)} of what it holds"


def _instructions(r: Report) -> Iterator[Line]:
    c = r.run.counters
    shares = ", ".join(f"{name} {percent(c[key] / c['instructions'])}" for name, key in PIPES.items() if c.get(key))
    yield "instructions", f"{count(c['instructions'])} of warps" + (f" ({shares})" if shares else "")
    lanes = r.active_threads
    if lanes is None:
        return
    text = f"{lanes:.1f} active threads an instruction, {percent(1 - lanes / LANES)} of the lanes idle"
    worst = most_divergent(profile_of(r.run))
    if worst is not None and lanes < DIVERGENT * LANES:
        text += f", most of it at line {worst.line}: {text_of(profile_of(r.run), worst.line)}"
    yield "divergence", text


def _coalescing(r: Report) -> Iterator[Line]:
    c = r.run.counters
    parts = []
    for word, key in (("load", "l1_load"), ("store", "l1_store"), ("atomic", "global_atomic"), ("reduction", "global_red")):
        if c.get(f"{key}_requests"):
            parts.append(f"{c[f'{key}_sectors'] / c[f'{key}_requests']:.1f} sectors a {word}")
    if not parts:
        return
    worst = worst_access(profile_of(r.run), "global")
    text = ", ".join(parts)
    if worst is not None and worst.sectors > SCATTERED * worst.least_sectors:
        text += f", worst at line {worst.line}: {worst.sectors / worst.requests:.1f} where {worst.least_sectors / worst.requests:.1f} would do"
    yield "coalescing", text


def _conflicts(r: Report) -> Iterator[Line]:
    if r.bank_conflicts is None:
        return
    text = f"{count(r.bank_conflicts)} extra passes of shared memory"
    worst = worst_access(profile_of(r.run), "shared")
    if r.bank_conflicts and worst is not None:
        text += f", most at line {worst.line}: {worst.wavefronts / worst.requests:.1f} passes an access"
    yield "conflicts", text
