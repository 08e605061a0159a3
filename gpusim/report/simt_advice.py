"""Advice for kernels of threads: rows as in `advice.py`; the first that holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusim.report.simt_lines import LANES, most_divergent, profile_of, text_of, worst_access
from gpusim.spec.device import GpuSpec

if TYPE_CHECKING:
    from gpusim.report.report import Report

#: accesses that move more than this many times what they need are worth a sentence, if they are this share of all sectors
SCATTERED, LARGE = 2.0, 0.2
#: so are conflicts that are this share of all passes
CONFLICTS = 0.3
#: lanes on one address of one atomic instruction
CROWD = 8
#: divergence below so many active lanes, occupancy below this share
FEW_LANES, FEW_WARPS = 24.0, 0.5
#: a wait is worth a sentence if it is this share of the warps' life
WAITING = 0.2

MEMORY_WAITS = ("long_scoreboard", "lg_throttle", "drain")
SHARED_WAITS = ("short_scoreboard", "mio_throttle")
#: what warps do while instructions set the time, and its share of their life from which on it does
ISSUE_WAITS, ISSUING = ("selected", "not_selected", "wait", "math_pipe_throttle", "branch_resolving", "dispatch_stall"), 0.5


def waits(r: Report, reasons: tuple[str, ...]) -> float:
    """Share of the warps' life."""
    return sum(r.stalls.get(reason, 0.0) for reason in reasons)


def limited_by(r: Report, *names: str) -> bool:
    return r.bottleneck.lower().startswith(names)


def scattered(r: Report) -> bool:
    """One access moves far more sectors than its lanes need, and memory matters."""
    worst = worst_access(profile_of(r.run), "global")
    if worst is None or worst.sectors <= SCATTERED * worst.least_sectors:
        return False
    total = sum(a.sectors for a in profile_of(r.run).accesses if a.space == "global")
    return worst.sectors >= LARGE * total and (limited_by(r, "dram", "l2", "sm ") or waits(r, MEMORY_WAITS) >= WAITING)


def conflicting(r: Report) -> bool:
    passes = r.run.counters.get("shared_wavefronts", 0)
    return bool(r.bank_conflicts and r.bank_conflicts >= CONFLICTS * passes and (limited_by(r, "shared") or waits(r, SHARED_WAITS) >= WAITING))


def crowded(r: Report) -> bool:
    return max(profile_of(r.run).same_address.values(), default=0) >= CROWD and waits(r, (*MEMORY_WAITS, *SHARED_WAITS)) >= WAITING


def divergent(r: Report) -> bool:
    lanes = r.active_threads
    busy = limited_by(r, "issue", "alu", "fma", "xu", "lsu") or waits(r, ISSUE_WAITS) >= ISSUING
    return lanes is not None and lanes < FEW_LANES and busy and not limited_by(r, "dram", "l2")


def most_warps(r: Report) -> int:
    """Resident warps that an SM holds."""
    assert isinstance(r.spec, GpuSpec), "threads run on GPUs"
    return r.spec.sm.max_warps


def few_warps(r: Report) -> bool:
    warps = r.ctas_per_sm * r.run.occupancy.warps_per_cta
    return r.bottleneck == "latency" and warps < FEW_WARPS * most_warps(r) and r.limiter in ("registers", "shared memory", "CTA slots")


def numbers(r: Report) -> dict[str, str]:
    """What the sentences of this file need, beyond those of `advice`."""
    p = profile_of(r.run)
    out = {"lanes": f"{r.active_threads or 0.0:.1f}"}
    access, bank, branch = worst_access(p, "global"), worst_access(p, "shared"), most_divergent(p)
    if access is not None:
        out |= {"line": str(access.line), "text": text_of(p, access.line), "buffer": access.buffer, "kind": access.kind}
        out |= {"sectors": f"{access.sectors / access.requests:.1f}", "least": f"{access.least_sectors / access.requests:.1f}"}
    if bank is not None:
        out |= {"bank_line": str(bank.line), "bank_text": text_of(p, bank.line), "bank_buffer": bank.buffer, "passes": f"{bank.wavefronts / bank.requests:.1f}"}
    if branch is not None:
        out |= {
            "branch_line": str(branch.line),
            "branch_text": text_of(p, branch.line),
            "branch_lanes": f"{branch.thread_instructions / branch.instructions:.1f}",
        }
    if p.same_address:
        line = max(p.same_address, key=lambda at: p.same_address[at])
        out |= {"crowd_line": str(line), "crowd_text": text_of(p, line), "crowd": str(p.same_address[line])}
    return out | {"all_lanes": str(LANES), "warps": str(r.ctas_per_sm * r.run.occupancy.warps_per_cta), "most_warps": str(most_warps(r))}
