"""How much of a launch is timed: which CTAs are recorded, and how two short runs of an SM give the long one.

Time grows in proportion to instructions once an SM is busy. So an SM is timed with two sizes, and what a further instruction cost
between them is what every instruction beyond them costs. Loops go first: at most `cap` iterations of a run of equal ones, twice with
different caps. Then CTAs: half of the sampled ones, and all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpusim.devices.simt.result import LineCost, SmRun
from gpusim.launch.simt.loads import Load
from gpusim.trace.simt import CtaPath, Touch, WarpPath

#: warp instructions of one launch that are simulated in detail
BUDGET = 120_000
#: waves of an SM whose CTAs are recorded, where these fit the budget; and where nothing is known about their length
WAVES, WAVES_UNKNOWN = 6, 3
LEAST_CTAS = 24
#: a launch that needs little more than the sample is not sampled
SLACK = 1.5
#: a copy of a CTA's path gets sectors and a CTA number of its own, so far away
APART = 1 << 44


def recorded(load: Load, ctas_per_sm: int, length: float | None, exact: bool) -> tuple[int, ...]:
    """CTAs of the load whose paths are kept: all, or some spread evenly over them. length: warp instructions of a CTA, if known.

    Whole waves, for paths of part of a wave tell little; two waves at least, whatever it costs, for the first one starts cold. `load.keep` is among them.
    """
    number = len(load.ctas)
    most = max(ctas_per_sm * (WAVES if length else WAVES_UNKNOWN), LEAST_CTAS)
    if length:
        most = max(2 * ctas_per_sm, min(most, int(BUDGET / length) // ctas_per_sm * ctas_per_sm))
    if exact or number <= most * (SLACK if most > 2 * ctas_per_sm else 1.0):
        return load.ctas
    kept = [load.ctas[i] for i in waves(number, most, ctas_per_sm)]
    return tuple(sorted(set(kept) | set(load.keep)))


def waves(number: int, most: int, ctas_per_sm: int) -> list[int]:
    """About `most` of `number` places, as waves of places next to each other that are spread evenly: CTAs that are side by side touch what such CTAs do."""
    count = max(1, most // ctas_per_sm)
    every = -(-number // ctas_per_sm)
    if count >= every:
        return list(range(number))
    whole = number // ctas_per_sm
    return [w * whole // count * ctas_per_sm + i for w in range(count) for i in range(ctas_per_sm)]


def copies(paths: Sequence[CtaPath], number: int) -> list[CtaPath]:
    """`number` paths: those given, then copies of them that touch other sectors."""
    out = list(paths)
    while len(out) < number:
        turn, which = divmod(len(out), len(paths))
        out.append(_moved(paths[which], turn))
    return out[:number]


def _moved(path: CtaPath, turn: int) -> CtaPath:
    shift = turn * APART

    def move(touch: Touch) -> Touch:
        return replace(touch, sectors=tuple(s + shift for s in touch.sectors)) if touch.sectors else touch

    warps = [WarpPath(w.blocks, w.masks, [tuple(move(t) for t in touches) for touches in w.touches]) for w in path.warps]
    return CtaPath(path.cta + shift, warps)


def beyond(a: SmRun, b: SmRun, steps: float) -> SmRun:
    """b and `steps` times what b has more than a. Sums never fall below those of b."""
    return _joined(a, b, lambda x, y: max(0.0, y + max(0.0, y - x) * steps))


def behind(a: SmRun, b: SmRun) -> SmRun:
    """a, and b when a has ended. Single CTAs are those of a."""
    return replace(_joined(a, b, lambda x, y: x + y), ctas=a.ctas, timeline=a.timeline)


def _joined(a: SmRun, b: SmRun, of: Callable[[float, float], float]) -> SmRun:
    """Every sum of the two runs, `of` both; single CTAs are those of b."""

    def table(x: dict[str, float], y: dict[str, float]) -> dict[str, float]:
        return {key: of(x.get(key, 0.0), y.get(key, 0.0)) for key in {**y, **x}}

    stalls = table(a.stalls, b.stalls)
    none = LineCost()
    return replace(
        b,
        cycles=of(a.cycles, b.cycles),
        active=of(a.active, b.active),
        instructions=round(of(a.instructions, b.instructions)),
        stalls=stalls,
        warp_cycles=sum(stalls.values()),
        lines={line: _line(a.lines.get(line, none), b.lines.get(line, none), of) for line in {**b.lines, **a.lines}},
        busy=table(a.busy, b.busy),
        wavefronts=of(a.wavefronts, b.wavefronts),
        l1_hits=round(of(a.l1_hits, b.l1_hits)),
        l1_misses=round(of(a.l1_misses, b.l1_misses)),
        l2_sectors=round(of(a.l2_sectors, b.l2_sectors)),
        l2_received=of(a.l2_received, b.l2_received),
        dram_sectors=round(of(a.dram_sectors, b.dram_sectors)),
    )


def times(run: SmRun, factor: float) -> SmRun:
    """`factor` times the run: beyond nothing, so to say."""
    nothing = SmRun(cycles=0.0, ctas=(), instructions=0, stalls={}, warp_cycles=0.0, lines={}, busy={})
    return beyond(nothing, run, factor - 1.0)


def _line(a: LineCost, b: LineCost, of: Callable[[float, float], float]) -> LineCost:
    stalls = {reason: of(a.stalls.get(reason, 0.0), b.stalls.get(reason, 0.0)) for reason in {**b.stalls, **a.stalls}}
    return LineCost(round(of(a.issues, b.issues)), round(of(a.lanes, b.lanes)), sum(stalls.values()), stalls)
