"""One sentence of advice: the first row whose condition holds. The last row always does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpusim.report import simt_advice as simt
from gpusim.report import tpu_advice as tpu
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


#: for kernels of threads
THREAD_ROWS: tuple[Row, ...] = (
    Row(
        lambda r: r.run.occupancy.spilled_registers > 0,
        "{r.run.occupancy.spilled_registers} registers a thread spill to local memory: allow more registers, or keep fewer values at a time.",
    ),
    Row(
        simt.scattered,
        "The {kind} of {buffer} at line {line} ({text}) moves {sectors} sectors an access where {least} would do: let neighbouring threads use neighbouring "
        "elements, or bring the data through shared memory.",
    ),
    Row(
        simt.conflicting,
        "{bank_buffer} at line {bank_line} ({bank_text}) takes {passes} passes of shared memory an access: pad its rows by one element, or change which thread "
        "uses which element, so that the lanes fall into different banks.",
    ),
    Row(
        simt.crowded,
        "Up to {crowd} lanes of a warp meet at one address in the atomic at line {crowd_line} ({crowd_text}), and are served one after the other: combine "
        "values within the warp or in shared memory first.",
    ),
    Row(
        simt.divergent,
        "Only {lanes} of {all_lanes} lanes are active in the mean; most are lost at line {branch_line} ({branch_text}), where {branch_lanes} are: let the "
        "threads of a warp take the same way, by sorting the work or by giving each way to whole warps.",
    ),
    Row(
        _limited_by("wave tail"),
        "The last of {r.waves} waves has {tail} for {r.run.slots} slots, and {idle} of all slot time is empty: "
        "choose a grid that fills whole waves ({full} CTAs instead of {r.ctas}), or let fewer CTAs do more in a loop over the grid.",
    ),
    Row(
        _limited_by("small grid"),
        "{free} of {r.run.slots} slots are empty, for there are only {ctas}: more, smaller blocks would put more warps to work.",
    ),
    Row(
        simt.few_warps,
        "Latency sets the time (mostly {reason}, {wait} of the warps' life), and an SM holds only {warps} of {most_warps} warps, limited by {r.limiter}: "
        "with less of that, more warps would hide it.",
    ),
    Row(
        _limited_by("cta dispatch"),
        "Starting {ctas} is the limit, {busy} of the time: let each thread do more, in a loop over the grid.",
    ),
    Row(
        _limited_by("dram", "l2", "sm fill", "sm store"),
        "Moving data is the limit ({r.bottleneck}), {busy} of the time: only fewer bytes would help: smaller types, or data used again "
        "from shared memory or registers.",
    ),
    Row(
        _limited_by("shared"),
        "Shared memory is the limit, {busy} of the time: keep more in registers, or use wider accesses.",
    ),
    Row(
        _limited_by("issue", "lsu", "alu", "fma", "xu"),
        "Instructions are the limit ({r.bottleneck}), {busy} of the time: only fewer of them, or cheaper ones, would help; see source_view().",
    ),
    Row(
        _waits_for("long_scoreboard"),
        "No resource is busy; warps wait for memory {wait} of their life: let each thread have several loads in flight, or more warps.",
    ),
    Row(
        _waits_for("barrier"),
        "No resource is busy; warps wait for each other at barriers {wait} of their life: fewer barriers, or more and smaller blocks per SM.",
    ),
    Row(
        _limited_by("latency"),
        "No resource is busy; latency sets the time (mostly {reason}, {wait} of the warps' life): more independent work per thread or more warps "
        "would hide it.",
    ),
    Row(lambda r: True, "{r.bottleneck} is the limit, {busy} of the time."),
)


#: kind of device -> what advises where there are no warps
OTHERS: dict[str, Callable[[Report], str]] = {"tpu": tpu.advise}


def _threads(r: Report) -> bool:
    return r.run.profile is not None


def main_wait(report: Report) -> str:
    """The largest reason for which warps did not issue; "none" if they never waited."""
    return next((reason for reason in report.stalls if reason != "selected"), "none")


def advise(report: Report) -> str:
    """The sentence of the first row that holds."""
    if (other := OTHERS.get(report.spec.KIND)) is not None:
        return other(report)
    rows = THREAD_ROWS if _threads(report) else ROWS
    row = next(row for row in rows if row.holds(report))
    more = simt.numbers(report) if _threads(report) else {}
    return row.say.format(r=report, **_numbers(report), **more)


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
