"""The time of a whole SM from runs that fit the budget: loops shortened, CTAs sampled, the rest in proportion to instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev

from gpusim.devices.simt.result import SmRun
from gpusim.launch.simt.counting import path_instructions
from gpusim.launch.simt.loads import Load
from gpusim.launch.simt.loops import Caps, Nodes, Shape, parse, returns, shape, shortened
from gpusim.launch.simt.sample import BUDGET, behind, beyond, copies, times, waves
from gpusim.launch.simt.timing import Bench
from gpusim.lower.simt.code import Code
from gpusim.trace.simt import CtaPath

#: iterations kept of a run of equal ones, in the long and in the short run: of outer loops, and behind them of inner ones. The short run keeps the first
#: ones, the long one also some of the middle: what these cost is what all others do.
#: The first row from `FIRST_ROW` on whose long run fits is taken; those before it only where the time per instruction still changes.
CAPS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((256,), (128,)),
    ((128,), (64,)),
    ((64,), (32,)),
    ((32,), (16,)),
    ((16,), (8,)),
    ((8,), (4,)),
    ((4,), (2,)),
    ((4, 16), (2, 16)),
    ((3, 8), (2, 8)),
    ((2, 8), (1, 8)),
)
FIRST_ROW = 2
#: a wave that holds so many budgets of instructions costs as much as any other, whatever overlaps at its ends
LONG = 1
#: a time per instruction that changes by more than this asks for longer loops, twice as long each time
CHANGING, RETRIES = 0.05, 2
#: waves beyond which it is all the same that the last one is not full
FEW = 8
#: errors and residuals below this are not worth a word
SMALL = 0.005


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one SM does with all CTAs of its load. said: what was left out (empty if nothing)."""

    run: SmRun
    said: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.said


@dataclass(slots=True)
class Paths:
    """Recorded paths, their sizes in warp instructions, and their loops once somebody asks."""

    paths: Sequence[CtaPath]
    sizes: list[int]
    loops: Shape
    parsed: dict[int, list[Nodes]] = field(default_factory=dict)

    def cut(self, which: Sequence[int], caps: Caps) -> list[CtaPath]:
        """The paths with these places, their loops shortened."""
        return [shortened(self.paths[i], self._nodes(i), self.loops, caps) for i in which]

    def lines(self) -> int:
        """Lines that the first CTA touches in one loop and comes back to in another."""
        return returns(self.paths[0], self._nodes(0))

    def _nodes(self, i: int) -> list[Nodes]:
        if i not in self.parsed:
            self.parsed[i] = [parse(warp, self.loops) for warp in self.paths[i].warps]
        return self.parsed[i]


def estimate(on: Bench, load: Load, paths: Sequence[CtaPath], mean: float, *, exact: bool, timeline: bool) -> Estimate:
    """paths: those of the load's CTAs that were recorded, in order. mean: warp instructions of a CTA, over the whole launch.

    Where some are left out, an SM takes at least as long as the CTAs that must be kept.
    """
    made = _estimate(on, load, paths, load.mean or mean, exact=exact, timeline=timeline)
    kept = [p for p in paths if p.cta in load.keep]
    if made.whole or not kept or len(paths) == len(load.ctas):
        return made
    alone, said = _loops(on, Paths(kept, path_instructions(on.ready.code, kept), shape(on.ready.code)), list(range(len(kept))), len(kept), BUDGET, False)
    if alone.cycles <= made.run.cycles:
        return made
    return Estimate(replace(made.run, cycles=alone.cycles), (*made.said, *said, "the CTA with the longest warp decides"))


def _estimate(on: Bench, load: Load, paths: Sequence[CtaPath], mean: float, *, exact: bool, timeline: bool) -> Estimate:
    number, slots = len(load.ctas), on.ready.held.ctas_per_sm
    held = Paths(paths, path_instructions(on.ready.code, paths), shape(on.ready.code))
    everything = list(range(len(paths)))
    if exact or (len(paths) == number and sum(held.sizes) <= BUDGET):
        return Estimate(on.time(paths, timeline=timeline))
    if len(paths) == number and number <= slots:
        return Estimate(*_loops(on, held, everything, number, BUDGET, timeline))
    if sum(held.sizes[:slots]) >= LONG * BUDGET:
        return _long(on, held, number, mean, timeline)
    return _sampled(on, held, number, mean, timeline)


def _long(on: Bench, held: Paths, number: int, mean: float, timeline: bool) -> Estimate:
    """The first wave of CTAs, and one from the middle behind it: what that adds is what every further wave takes. The first finds more in DRAM, and has
    an end in which CTAs are alone; where CTAs go one after the other, because older ones issue first, further waves fill it. A last wave that is not
    full comes behind all others: shortened loops would hide it behind the ends of CTAs, which are not shortened."""
    slots = on.ready.held.ctas_per_sm
    full, rest = divmod(number, slots)
    if number > FEW * slots:
        rest = 0
    ctas = list(range(min(full * slots, 2 * slots, len(held.paths))))
    size = mean * len(ctas) / sum(held.sizes[i] for i in ctas)
    run, said = _loops(on, held, ctas, min(full, 2) * slots, BUDGET, timeline)
    if full > 1:
        one, _ = _loops(on, held, ctas[:slots], slots, BUDGET / 2, False)
        if run.cycles - one.cycles < (run.instructions - one.instructions) / on.ready.machine.subcores:
            # no wave issues faster than the schedulers: these loops were so short that the second wave mostly filled waits of the first
            run, said = _loops(on, held, ctas, min(full, 2) * slots, BUDGET, timeline, longer=RETRIES)
            one, _ = _loops(on, held, ctas[:slots], slots, BUDGET / 2, False, longer=RETRIES)
        run = beyond(one, run, (number - rest) / slots - 2)
        said = (*said, f"two waves of an SM timed, {number} CTAs in proportion to their instructions")
    if rest:
        last, more = _loops(on, held, ctas[:rest], rest, BUDGET, False)
        run, said = behind(run, last), (*said, *more)
    return Estimate(times(run, size), tuple(dict.fromkeys(said)))


def _sampled(on: Bench, held: Paths, number: int, mean: float, timeline: bool) -> Estimate:
    """Some waves of CTAs, and about half as many; all other CTAs cost what made the difference, per instruction."""
    slots = on.ready.held.ctas_per_sm
    rounds = max(1, len(held.paths) // slots)
    while rounds > 2 and sum(held.sizes) * rounds * slots / len(held.paths) > BUDGET * 2 // 3:
        rounds -= 1
    sample = spread(len(held.paths), rounds * slots, slots)
    size = max(len(sample), min(number, 2 * slots))
    b, said = _loops(on, held, sample, size, BUDGET * 2 // 3, timeline)
    if size == number:
        return Estimate(b, said)
    small = spread(len(held.paths), (max(2, rounds // 2) if rounds > 2 else 1) * slots, slots)
    a, _ = _loops(on, held, small, len(small), BUDGET // 3, False)
    steps = (number * mean - b.instructions) / (b.instructions - a.instructions) if b.instructions > a.instructions else 0.0
    error = stdev(held.sizes) / fmean(held.sizes) / len(held.sizes) ** 0.5 if len(held.sizes) > 1 else 0.0
    told = f"{size} of {number} CTAs of an SM timed, the others in proportion to their instructions"
    if error > SMALL:
        told += f" (standard error of a CTA's mean length {error:.1%})"
    return Estimate(beyond(a, b, max(0.0, steps)), (*said, told))


def spread(number: int, most: int, slots: int) -> list[int]:
    """`most` of `number` places, as whole waves at equal distances; all if there are not so many."""
    return waves(number, most, slots) if number > most else list(range(number))


def _loops(on: Bench, held: Paths, which: Sequence[int], number: int, budget: float, timeline: bool, longer: int = 0) -> tuple[SmRun, tuple[str, ...]]:
    """The time of `number` CTAs: the paths `which`, and copies of them. Loops are shortened where they hold more than `budget` instructions, less so
    where their time per instruction still changes, and `longer` rows of CAPS less in any case."""
    code = on.ready.code
    whole = [held.paths[i] for i in which]
    total = sum(held.sizes[i] for i in which) * number / len(whole)
    if total <= budget:
        return on.time(copies(whole, number), timeline=timeline), ()
    fits = next((i for i, caps in enumerate(CAPS) if i >= FIRST_ROW and _held(code, held.cut(which, _caps(caps, 1.0)), number) <= budget), len(CAPS) - 1)
    longest = max(0, fits - RETRIES)
    for row in range(longest if _outgrows(on, held) else max(longest, fits - longer), longest - 1, -1):
        run, changes = _shortened(on, held, which, number, CAPS[row], total, timeline)
        if changes is None or changes <= CHANGING:
            break
    said = f" (residual {changes:.1%})" if changes is not None else ""
    return run, (f"at most {CAPS[row][0][0]} equal iterations of a loop timed in a row, the others in proportion{said}",)


def _outgrows(on: Bench, held: Paths) -> bool:
    """Whether the CTAs of an SM come back to more lines than its L1 holds. With loops made short all would be there."""
    return held.lines() * on.ready.machine.line * on.ready.held.ctas_per_sm > on.l1_bytes


def _caps(row: tuple[tuple[int, ...], tuple[int, ...]], share: float) -> Caps:
    """What the short run of a row of CAPS keeps, and this share of what the long one keeps beyond it."""
    return [(short, int((long - short) * share)) for long, short in zip(*row, strict=True)]


def _held(code: Code, paths: Sequence[CtaPath], number: int) -> float:
    """Warp instructions of `number` CTAs like these."""
    return sum(path_instructions(code, paths)) * number / len(paths)


def _shortened(
    on: Bench, held: Paths, which: Sequence[int], number: int, row: tuple[tuple[int, ...], tuple[int, ...]], total: float, timeline: bool
) -> tuple[SmRun, float | None]:
    """The run, and by how much the time per instruction still changed in it: from a run that is as long as half of both, None where that would tell
    nothing."""
    b = on.time(copies(held.cut(which, _caps(row, 1.0)), number), timeline=timeline)
    if b.instructions >= total:
        return b, None
    a = on.time(copies(held.cut(which, _caps(row, 0.0)), number))
    if b.instructions <= a.instructions:
        return times(b, total / b.instructions), None
    run = beyond(a, b, (total - b.instructions) / (b.instructions - a.instructions))
    if row[0][0] - row[1][0] < 2 or a.cycles >= b.cycles:
        return run, None
    half = on.time(copies(held.cut(which, _caps(row, 0.5)), number))
    if not a.instructions < half.instructions < b.instructions:
        return run, None
    before = (half.cycles - a.cycles) / (half.instructions - a.instructions)
    return run, abs(before / ((b.cycles - a.cycles) / (b.instructions - a.instructions)) - 1)
