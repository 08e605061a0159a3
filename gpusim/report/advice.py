"""One sentence of advice: the first row whose condition holds. The last row always does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.report.formulas import slot_fill, useful_share
from gpusim.report.units import percent, plural

if TYPE_CHECKING:
    from gpusim.report.report import Report

#: more padding than this is worth a sentence
PADDING = 0.15


@dataclass(frozen=True, slots=True)
class Row:
    """`say` is filled with the report as `r` and the numbers of `_numbers`."""

    holds: Callable[[Report], bool]
    say: str


def _limited_by(*names: str) -> Callable[[Report], bool]:
    return lambda r: r.bottleneck.lower().startswith(names)


def _waits_for(reason: str) -> Callable[[Report], bool]:
    return lambda r: r.bottleneck == "latency" and main_wait(r) == reason


ROWS: tuple[Row, ...] = (
    Row(lambda r: bool(r.run.notes), "First of all: {r.run.notes[0]}"),
    Row(
        _limited_by("wave tail"),
        "The last of {r.waves} waves has {tail} for {r.run.slots} slots, and {idle} of all slot time is empty: "
        "choose a tile or a size whose CTAs fill whole waves ({full} instead of {r.ctas}).",
    ),
    Row(
        _limited_by("small grid"),
        "{free} of {r.run.slots} slots are empty, for there are only {ctas}: smaller tiles, or splitting K, would put more SMs to work.",
    ),
    Row(
        lambda r: r.run.occupancy.spilled_registers > 0,
        "{r.run.occupancy.spilled_registers} registers a thread spill to local memory: use more warps or a smaller tile.",
    ),
    Row(
        lambda r: (useful_share(r.run) or 1.0) < 1 - PADDING,
        "Only {useful} of the tensor work is useful, the rest pads the edge tiles: choose a size that is a multiple of the tile, or a smaller tile.",
    ),
    Row(
        _limited_by("tensor"),
        "The tensor cores are the limit, {busy} of the time: without less work or a faster operand format no more than the other {rest} can be won.",
    ),
    Row(
        _limited_by("dram"),
        "DRAM is the limit, {busy} of the time: larger tiles, or another group_m, read the operands fewer times.",
    ),
    Row(
        _limited_by("l2", "fabric", "gpc", "sm fill"),
        "The way from L2 to the SMs is the limit ({r.bottleneck}), {busy} of the time: larger tiles read the operands fewer times.",
    ),
    Row(
        _limited_by("shared"),
        "Shared memory is the limit, {busy} of the time: a tile nearer to a square, or more work per warp, reads each operand fewer times.",
    ),
    Row(
        _limited_by("issue", "lsu", "alu", "fma"),
        "Instruction issue is the limit ({r.bottleneck}), {busy} of the time: aligned leading dimensions and larger tiles need fewer instructions.",
    ),
    Row(
        _waits_for("long_scoreboard"),
        "No resource is busy; warps wait for memory {wait} of their life: more stages or more CTAs per SM (now {r.ctas_per_sm}) would hide that latency.",
    ),
    Row(
        _waits_for("barrier"),
        "No resource is busy; warps wait for each other at barriers {wait} of their life: more CTAs per SM (now {r.ctas_per_sm}) would fill the gaps.",
    ),
    Row(
        _limited_by("latency"),
        "No resource is busy; latency sets the time (mostly {reason}, {wait} of the warps' life): more work in flight would hide it.",
    ),
    Row(lambda r: True, "{r.bottleneck} is the limit, {busy} of the time."),
)


def main_wait(report: Report) -> str:
    """The largest reason for which warps did not issue; "none" if they never waited."""
    return next((reason for reason in report.stalls if reason != "selected"), "none")


def advise(report: Report) -> str:
    """The sentence of the first row that holds."""
    row = next(row for row in ROWS if row.holds(report))
    return row.say.format(r=report, **_numbers(report))


def _numbers(r: Report) -> dict[str, int | str]:
    reason = main_wait(r)
    busy = r.bound_shares.get(r.bottleneck, 0.0)
    return {
        "idle": percent(1 - slot_fill(r.run)),
        "full": max(1, r.waves - 1) * r.run.slots,
        "tail": plural(r.tail_ctas, "CTA"),
        "ctas": plural(r.ctas, "CTA"),
        "free": r.run.slots - r.ctas,
        "useful": percent(useful_share(r.run) or 1.0),
        "busy": percent(busy),
        "rest": percent(1 - busy),
        "reason": reason,
        "wait": percent(r.stalls.get(reason, 0.0)),
    }
