"""What a launch would take on a machine without one of its costs: pure changes of the machine and of what was recorded.

`ABLATIONS` says in one row what each takes away. Taking them away one after the other, in the order of the table, gives a budget: each row is
the time that the next removal saves, and what nothing takes away, issue and math, remains. The rows add up to the whole time because each is
the difference of two neighbours.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpusim.errors import GpusimError
from gpusim.launch.simt.state import Foreign
from gpusim.launch.simt.walk import NEAR, Asked, Moved
from gpusim.lower.simt.code import Code
from gpusim.spec.resolve import Machine
from gpusim.trace.simt import Counts, CtaPath, Touch, WarpPath

#: a rate that nothing waits for, in any unit
UNLIMITED = 1e30
#: bytes of shared memory that one wavefront brings
WAVEFRONT = 128

if TYPE_CHECKING:
    from gpusim.launch.simt.passes import Passed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ablation:
    """sentence: what is different. fields, threads: of the Machine and of its `threads`, with the values they get; like: fields that get the value of
    another. conflicts: whether shared memory still takes more wavefronts than the
    bytes need. misses: whether a request still finds anything elsewhere than in the near half of L2. merges: whether requests of a GPC merge.
    saves: it makes launches faster, so that a budget of costs leaves it out."""

    sentence: str
    fields: tuple[tuple[str, Any], ...] = ()
    like: tuple[tuple[str, str], ...] = ()
    threads: tuple[tuple[str, Any], ...] = ()
    conflicts: bool = True
    misses: bool = True
    merges: bool = True
    saves: bool = False


def _all(value: float, *names: str) -> tuple[tuple[str, float], ...]:
    return tuple((name, value) for name in names)


#: name -> what it takes away; from the outside in, so that what is farther from the SM goes first
ABLATIONS: dict[str, Ablation] = {
    "launch": Ablation(
        "a launch begins and ends at once",
        fields=_all(0.0, "launch_overhead", "launch_start", "start_spread", "cold_fetch"),
        threads=_all(0.0, "cold_start"),
    ),
    "cta-dispatch": Ablation(
        "a CTA starts as soon as there is room for it",
        fields=_all(0.0, "per_cta", "cta_change"),
        threads=_all(0.0, "warp_launch", "warp_start", "warp_end", "cta_end"),
    ),
    "dram-latency": Ablation(
        "DRAM answers at once, at its own rate",
        fields=_all(0.0, "dram_latency", "dram_spread", "evict_latency"),
        threads=_all(0.0, "dram_spread", "dram_wait", "page"),
    ),
    "far-half": Ablation("both halves of L2 are as near as the own one", fields=_all(0.0, "far_latency")),
    "l2-misses": Ablation(
        "every request finds its data in the near half of L2",
        fields=(*_all(0.0, "dram_latency", "dram_spread", "far_latency"), ("dram_rate", UNLIMITED)),
        misses=False,
    ),
    "l2-bandwidth": Ablation(
        "L2 and the ways to it move any number of bytes at once",
        fields=_all(UNLIMITED, "l2_read_rate", "l2_write_rate", "gpc_rate_per_sm", "gpc_rate", "fill_rate", "store_rate"),
        threads=(("l2_request_rate", UNLIMITED), ("l2_wait", 0.0)),
    ),
    "atomics": Ablation(
        "an atomic takes as long as a load, and none waits for another",
        threads=(("atomic_latency", 0.0), *_all(UNLIMITED, "atomic_step", "atomic_rate")),
    ),
    "l2-latency": Ablation("L2 answers as fast as L1", like=(("l2_latency", "l1_latency"),)),
    "bank-conflicts": Ablation("shared memory serves any addresses of a warp in as few passes as their bytes need", conflicts=False),
    "barriers": Ablation(
        "a barrier costs its instruction",
        fields=_all(0.0, "barrier_base", "barrier_per_warp", "fence"),
        threads=_all(0.0, "barrier"),
    ),
    "branches": Ablation("a branch costs its instruction", threads=_all(0.0, "branch", "split", "side_switch", "code_fetch")),
    "merging": Ablation(
        "every request of an SM goes to L2, also for a line that its GPC already waits for",
        fields=(("merge_requests", 1),),
        merges=False,
        saves=True,
    ),
}


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """`names` in the order of the table, each once; "all" stands for every cost. Raises GpusimError for an unknown name."""
    wanted: set[str] = set()
    for name in names:
        if name != "all" and name not in ABLATIONS:
            near = difflib.get_close_matches(name, ABLATIONS, n=1, cutoff=0.5)
            hint = (f"Did you mean '{near[0]}'? " if near else "") + f"Known: all, {', '.join(ABLATIONS)}."
            raise GpusimError(f"without = '{name}' is unknown.", hint=hint)
        wanted |= {n for n, a in ABLATIONS.items() if not a.saves} if name == "all" else {name}
    return tuple(name for name in ABLATIONS if name in wanted)


def ablate(machine: Machine, names: Sequence[str]) -> Machine:
    """`machine` without the costs `names`."""
    fields: dict[str, Any] = {}
    threads: dict[str, Any] = {}
    for name in chosen(names):
        fields |= dict(ABLATIONS[name].fields) | {field: getattr(machine, other) for field, other in ABLATIONS[name].like}
        threads |= dict(ABLATIONS[name].threads)
    if threads and machine.threads is not None:
        fields["threads"] = replace(machine.threads, **threads)
    return replace(machine, **fields) if fields else machine


def ablate_traffic(moved: Moved, foreign: Foreign, asked: Asked, names: Sequence[str]) -> tuple[Moved, Foreign, Asked]:
    """What a launch moves beyond the near half of L2, the bytes of foreign lines that leave, and where its requests find their sectors: unchanged,
    or, without misses, nothing, none, and always near; without merging L2 receives every request."""
    if not all(ABLATIONS[name].merges for name in names):
        moved = replace(moved, received={})
    if all(ABLATIONS[name].misses for name in names):
        return moved, foreign, asked
    near = {cta: {sector: [NEAR] * len(levels) for sector, levels in sectors.items()} for cta, sectors in asked.items()}
    return Moved(atomics=moved.atomics, hottest=moved.hottest, received=moved.received), Foreign(), near


def ablate_counts(counts: Counts, names: Sequence[str]) -> Counts:
    """Exact sums of a launch, without what the ablations take from them: of an access without conflicts each request counts one wavefront,
    which is the least it can have."""
    if all(ABLATIONS[name].conflicts for name in names):
        return counts
    return replace(counts, wavefronts=np.minimum(counts.wavefronts, counts.requests))


def ablate_path(path: CtaPath, code: Code, names: Sequence[str]) -> CtaPath:
    """The path of a CTA whose accesses to shared memory take as many wavefronts as their bytes need, where conflicts are taken away."""
    if all(ABLATIONS[name].conflicts for name in names):
        return path
    nbytes = {i: access.bytes for i, access in enumerate(code.accesses) if access.space == "shared"}
    return CtaPath(path.cta, [_without_conflicts(warp, nbytes) for warp in path.warps])


def ablate_passed(passed: Passed, code: Code, names: Sequence[str]) -> Passed:
    """What the value pass of a launch recorded, with both."""
    paths = {cta: ablate_path(path, code, names) for cta, path in passed.paths.items()}
    return replace(passed, counts=ablate_counts(passed.counts, names), paths=paths)


def _without_conflicts(warp: WarpPath, nbytes: dict[int, int]) -> WarpPath:
    """nbytes: access to shared memory -> bytes of a lane."""

    def freed(touch: Touch) -> Touch:
        if touch.access not in nbytes or max(touch.wavefronts, touch.same) <= 1:
            return touch
        least = -(-touch.lanes * nbytes[touch.access] // WAVEFRONT)
        return replace(touch, wavefronts=min(touch.wavefronts, max(1, least)), same=1)

    return WarpPath(warp.blocks, warp.masks, [tuple(map(freed, touches)) for touches in warp.touches])


#: (name of an ablation, picoseconds that it saves after those before it)
Saved = tuple[tuple[str, int], ...]


def in_turn(make: Callable[[tuple[str, ...]], T], picoseconds: Callable[[T], int], names: Iterable[str]) -> tuple[T, Saved]:
    """(the launch without all of `names`, what each of them saves). make: the launch without the costs it is given; called once more than there
    are names. What they save and the time of the first result add up to the time of the launch with everything."""
    order = chosen(names)
    made = [make(order[:n]) for n in range(len(order) + 1)]
    times = [picoseconds(one) for one in made]
    return made[-1], tuple((name, before - after) for name, before, after in zip(order, times, times[1:], strict=False))
