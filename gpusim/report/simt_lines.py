"""What each source line of a SIMT kernel costs, derived from the facts of its profile. None means that the line has no such thing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpusim.errors import GpusimError
from gpusim.trace.profile import AccessCost, LineCost, Profile
from gpusim.trace.run import Run

LANES = 32
ISSUING = "selected"
#: kinds of access whose place is the data's to choose
ATOMICS = ("atomic", "red")


@dataclass(frozen=True, slots=True)
class LineView:
    """One line. issues: warp instructions; issue_share of all; lanes: mean active ones; stall_share: of the warps' life, spent on this line
    without issuing; reason: the largest part of it; per request: sectors of global and local accesses; conflicts: extra wavefronts
    of shared memory over its requests."""

    line: int
    text: str
    issues: int = 0
    issue_share: float = 0.0
    lanes: float | None = None
    stall_share: float | None = None
    reason: str = ""
    sectors_per_request: float | None = None
    least_sectors_per_request: float | None = None
    conflicts_per_request: float | None = None


def lines(run: Run) -> tuple[LineView, ...]:
    """Every line of the kernel's source, in order; lines of device functions in other files stand behind."""
    profile = profile_of(run)
    costs = {cost.line: cost for cost in profile.lines}
    shown = range(profile.first_line, profile.first_line + len(profile.source))
    others = [line for line in sorted(costs) if line not in shown]
    total = sum(cost.instructions for cost in profile.lines)
    texts = dict(zip(shown, profile.source, strict=True))
    return tuple(_view(line, texts.get(line, ""), costs.get(line), profile, total, run.warp_cycles) for line in (*shown, *others))


def _view(line: int, text: str, cost: LineCost | None, profile: Profile, total: int, life: float) -> LineView:
    if cost is None:
        return LineView(line, text)
    waits = {reason: cycles for reason, cycles in cost.stalls.items() if reason != ISSUING and cycles > 0}
    top = max(waits, key=lambda reason: waits[reason], default="")
    memory = [a for a in profile.accesses if a.line == line and a.space in ("global", "local")]
    shared = [a for a in profile.accesses if a.line == line and a.space == "shared"]
    return LineView(
        line,
        text,
        cost.instructions,
        cost.instructions / total if total else 0.0,
        cost.thread_instructions / cost.instructions if cost.instructions else None,
        sum(waits.values()) / life if life and cost.stalls else None,
        top,
        _per_request(memory, "sectors"),
        _per_request(memory, "least_sectors"),
        conflicts_per_request(shared),
    )


def _per_request(accesses: Iterable[AccessCost], what: str) -> float | None:
    """Sum of `what` over the sum of requests."""
    accesses = list(accesses)
    requests = sum(a.requests for a in accesses)
    return sum(getattr(a, what) for a in accesses) / requests if requests else None


def conflicts_per_request(accesses: Iterable[AccessCost]) -> float | None:
    """Extra wavefronts over requests."""
    accesses = list(accesses)
    requests = sum(a.requests for a in accesses)
    return sum(a.wavefronts - a.least_wavefronts for a in accesses) / requests if requests else None


def worst_access(profile: Profile, space: str) -> AccessCost | None:
    """The access of `space` ("global", "shared") that moves most beyond what lanes side by side would need; None if none does.
    Atomics go where data tells them, so they are left out."""
    pairs = {"global": ("sectors", "least_sectors"), "shared": ("wavefronts", "least_wavefronts")}
    moved, least = pairs[space]
    found = [a for a in profile.accesses if a.space == space and a.requests and a.kind not in ATOMICS]
    worst = max(found, key=lambda a: getattr(a, moved) - getattr(a, least), default=None)
    return worst if worst is not None and getattr(worst, moved) > getattr(worst, least) else None


def most_divergent(profile: Profile) -> LineCost | None:
    """The line at which most lanes were idle while it issued; None if no lane ever was."""
    worst = max(profile.lines, key=_idle, default=None)
    return worst if worst is not None and _idle(worst) > 0 else None


def _idle(cost: LineCost) -> int:
    return LANES * cost.instructions - cost.thread_instructions


def text_of(profile: Profile, line: int) -> str:
    """The source text of `line`, without indentation; "" if it is not in the kernel's source."""
    at = line - profile.first_line
    return profile.source[at].strip() if 0 <= at < len(profile.source) else ""


def profile_of(run: Run) -> Profile:
    """The profile of a kernel of threads. GpusimError for kernels of tiles."""
    if run.profile is None:
        raise GpusimError(f"{run.kernel} is not a kernel of threads: it has no source lines.", hint="Only kernels written with cuda.jit have them.")
    return run.profile
