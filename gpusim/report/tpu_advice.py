"""One sentence of advice for a launch on a TPU: the first row whose condition holds. The last row always does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpusim.report.formulas import useful_share
from gpusim.report.tpu import WORDS
from gpusim.report.units import percent
from gpusim.spec.tpu import TpuSpec

if TYPE_CHECKING:
    from gpusim.report.report import Report

#: shares that are worth a sentence
PADDING, STEPS, WAITING = 0.15, 0.4, 0.2


def _part(*reasons: str) -> Callable[[Report], float]:
    return lambda r: sum(r.stalls.get(reason, 0.0) for reason in reasons)


_steps, _weights, _copies = _part("fill_drain", "step"), _part("weights"), _part("copy_in", "copy_out")


def _useful(r: Report) -> float:
    return useful_share(r.run) or 1.0


#: (condition, sentence); a sentence is filled with the numbers of `_numbers`
ROWS: tuple[tuple[Callable[[Report], bool], str], ...] = (
    (lambda r: r.run.ctas < r.run.slots, "There are {blocks} blocks for {cores} cores: smaller blocks would give all cores work."),
    (
        lambda r: _weights(r) > WAITING,
        "Weights take longer to move in than rows to go through, {weights} of the time: more rows (a larger batch) cost next to nothing.",
    ),
    (
        lambda r: _useful(r) < 1 - PADDING,
        "Only {useful} of what the arrays multiply is useful, the rest pads blocks and squares of weights: make sizes multiples of {dim}, or choose "
        "blocks that divide them.",
    ),
    (lambda r: _steps(r) > STEPS, "Grid steps, and filling and draining the arrays, take {steps} of the time: larger blocks need fewer steps."),
    (lambda r: r.bottleneck == "DRAM", "Memory is the limit, {busy} of the time: larger blocks, or more rows for the same weights, need fewer bytes."),
    (lambda r: r.bottleneck == "MXU", "The arrays are the limit, {busy} of the time: only less work or a narrower format would help."),
    (
        lambda r: _copies(r) > WAITING,
        "Cores wait for copies {copies} of the time, where nothing hides them: before the first step and behind the last one. Smaller blocks make both "
        "shorter.",
    ),
    (
        lambda r: True,
        "No unit is busy all the time. Cores spend most of it {first}, then {second}, one after the other: more independent work in a step would overlap.",
    ),
)


def advise(r: Report) -> str:
    """The sentence of the first row that holds."""
    return next(say for holds, say in ROWS if holds(r)).format(**_numbers(r))


def _numbers(r: Report) -> dict[str, int | str]:
    assert isinstance(r.spec, TpuSpec)
    spent = [f"{WORDS[reason]} ({percent(part)})" for reason, part in r.stalls.items()] + ["doing nothing"] * 2
    return {
        "blocks": r.run.ctas,
        "cores": r.run.slots,
        "dim": r.spec.mxu.dim,
        "useful": percent(_useful(r)),
        "steps": percent(_steps(r)),
        "weights": percent(_weights(r)),
        "copies": percent(_copies(r)),
        "busy": percent(r.bound_shares.get(r.bottleneck, 0.0)),
        "first": spent[0],
        "second": spent[1],
    }
