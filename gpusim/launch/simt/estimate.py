"""The time of a whole SM from runs that fit the budget: loops shortened, CTAs sampled, the rest in proportion to instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from gpusim.devices.simt.result import SmRun
from gpusim.launch.simt.counting import path_instructions
from gpusim.launch.simt.loads import Load
from gpusim.launch.simt.loops import parse, shape, shortened
from gpusim.launch.simt.sample import BUDGET, beyond, copies
from gpusim.launch.simt.timing import Bench
from gpusim.trace.simt import CtaPath

#: iterations kept of a run of equal ones in outer (and inner) loops, the first that fits; the shorter runs have half and a quarter of the outer ones
CAPS: tuple[tuple[int, ...], ...] = ((64,), (32,), (16,), (8,), (4,), (4, 16), (4, 8), (4, 4, 4))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one SM does with all CTAs of its load. said: what was left out ("" if nothing). error: relative standard error of the
    instructions of the sampled CTAs. whole: nothing was left out."""

    run: SmRun
    said: tuple[str, ...] = ()
    error: float = 0.0

    @property
    def whole(self) -> bool:
        return not self.said


def estimate(on: Bench, load: Load, paths: Sequence[CtaPath], mean: float, *, exact: bool, timeline: bool) -> Estimate:
    """paths: those of the load's CTAs that were recorded, in order. mean: warp instructions of a CTA, over the whole launch."""
    number, slots = len(load.ctas), on.ready.held.ctas_per_sm
    if exact or (len(paths) == number and sum(path_instructions(on.ready.code, paths)) <= BUDGET):
        return Estimate(on.time(paths, timeline=timeline))
    if len(paths) == number and number <= 2 * slots:
        run, said = _loops(on, paths, BUDGET, timeline)
        return Estimate(run, said)
    return _sampled(on, number, paths, mean, timeline)


def _sampled(on: Bench, number: int, paths: Sequence[CtaPath], mean: float, timeline: bool) -> Estimate:
    """Half of the sample, then all of it; the other CTAs cost what the second half did per instruction."""
    slots = on.ready.held.ctas_per_sm
    sample = list(paths) if len(paths) >= 2 * slots else copies(paths, min(number, 2 * slots))
    costs = path_instructions(on.ready.code, sample)
    least = 2 * slots
    while len(sample) >= 2 * least and sum(costs) > BUDGET:
        sample = sample[::2]
        costs = costs[::2]
    small = sample[::2] if len(sample) >= 4 * slots else sample[: len(sample) // 2]
    a, _ = _loops(on, small, BUDGET // 3, False)
    b, said = _loops(on, sample, 2 * BUDGET // 3, timeline)
    full = number * mean
    steps = (full - b.instructions) / (b.instructions - a.instructions) if b.instructions > a.instructions else 0.0
    own = path_instructions(on.ready.code, paths)
    error = stdev(own) / fmean(own) / len(own) ** 0.5 if len(own) > 1 else 0.0
    if len(sample) == number:
        return Estimate(b, said, error)
    told = f"{len(sample)} of {number} CTAs of an SM timed, the others in proportion to their instructions"
    if error > 0.005:
        told += f" (standard error of the sampled CTAs {error:.1%})"
    return Estimate(beyond(a, b, max(0.0, steps)), (*said, told), error)


def _loops(on: Bench, paths: Sequence[CtaPath], budget: int, timeline: bool) -> tuple[SmRun, tuple[str, ...]]:
    """The time of `paths`, loops shortened where they hold more than `budget` instructions."""
    code = on.ready.code
    total = sum(path_instructions(code, paths))
    if total <= budget:
        return on.time(paths, timeline=timeline), ()
    loops = shape(code)
    parsed = [[parse(warp, loops) for warp in path.warps] for path in paths]

    def cut(caps: tuple[int, ...], part: int = 1) -> list[CtaPath]:
        return [shortened(path, nodes, loops, (caps[0] // part, *caps[1:])) for path, nodes in zip(paths, parsed, strict=True)]

    for caps in CAPS:
        long = cut(caps)
        if sum(path_instructions(code, long)) <= budget:
            break
    kept = sum(path_instructions(code, long))
    if kept == total:
        return on.time(paths, timeline=timeline), ()
    b, a = on.time(long, timeline=timeline), on.time(cut(caps, 2))
    if b.instructions == a.instructions:
        return on.time(paths, timeline=timeline), ()
    first = on.time(cut(caps, 4))
    slopes = [(y.cycles - x.cycles) / max(1, y.instructions - x.instructions) for x, y in ((first, a), (a, b))]
    residual = abs(slopes[0] / slopes[1] - 1) if slopes[1] else 0.0
    run = beyond(a, b, (total - b.instructions) / (b.instructions - a.instructions))
    return run, (f"at most {caps[0]} equal iterations of a loop timed in a row, the others in proportion (residual {residual:.1%})",)
