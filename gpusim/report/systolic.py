"""Pictures of a systolic array over time, as text and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.parts.systolic_frames import IDLE, Frame
from gpusim.report.units import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 110
PASSES = "123456789"
WORDS = {"load": "first weights move in", "fill": "filling", "full": "every cell multiplies", "gap": "waiting for weights", "drain": "draining"}


def text(frames: Sequence[Frame]) -> str:
    """All cycles side by side: a digit is the pass that a cell multiplies for, a dot a cell that does nothing; then what the time went for."""
    blocks = [_block(frame) for frame in frames]
    wide = max(len(line) for block in blocks for line in block)
    together = max(1, (WIDTH + 2) // (wide + 2))
    lines: list[str] = []
    for first in range(0, len(blocks), together):
        part = blocks[first : first + together]
        lines += ["  ".join(f"{block[i]:{wide}}" for block in part).rstrip() for i in range(len(part[0]))] + [""]
    return "\n".join([*lines, *_summary(frames)])


def _block(frame: Frame) -> list[str]:
    rows = ["".join("." if cell == IDLE else PASSES[cell % len(PASSES)] for cell in row) for row in frame.cells]
    weights = "" if frame.loading == IDLE else f"w{PASSES[frame.loading % len(PASSES)]} {frame.moved}/{len(rows)}"
    return [f"cycle {frame.cycle}", *rows, weights]


def _summary(frames: Sequence[Frame]) -> list[str]:
    spans = [(phase, sum(1 for _ in group)) for phase, group in groupby(frames, key=lambda f: f.phase)]
    busy = sum(frame.busy for frame in frames) / len(frames)
    words = ", ".join(f"{WORDS[phase]} {cycles}" for phase, cycles in spans)
    return [f"{len(frames)} cycles: {words}", f"{percent(busy)} of all cells and cycles multiply"]


def plot(frames: Sequence[Frame], path: str | Path | None = None, shown: int = 18) -> Figure:
    """At most `shown` cycles as small pictures of the array, and below them the share of cells that multiply over all cycles. path: where to save it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

    colours = ListedColormap(["#e6e6e6", "#1b6ca8", "#d9822b", "#3a923a", "#8c5aa8"])
    step = max(1, -(-len(frames) // shown))
    picked = list(frames)[::step]
    columns = min(9, len(picked))
    rows = -(-len(picked) // columns)
    figure = Figure(figsize=(1.3 * columns, 1.5 * rows + 2.2), layout="constrained")
    grid = figure.add_gridspec(rows + 1, columns, height_ratios=[1.0] * rows + [1.3])
    for at, frame in enumerate(picked):
        axes = figure.add_subplot(grid[at // columns, at % columns])
        axes.imshow([[0 if cell == IDLE else 1 + cell % 4 for cell in row] for row in frame.cells], cmap=colours, vmin=0, vmax=4)
        axes.set_title(f"cycle {frame.cycle}", fontsize=8)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_xlabel("" if frame.loading == IDLE else f"weights {frame.loading + 1}: {frame.moved}/{len(frame.cells)}", fontsize=7)
    _over_time(figure.add_subplot(grid[rows, :]), frames)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def _over_time(axes: Any, frames: Sequence[Frame]) -> None:
    axes.step([f.cycle for f in frames], [100 * f.busy for f in frames], where="post", color="#1b6ca8")
    axes.set_xlabel("cycle")
    axes.set_ylabel("cells that multiply (%)")
    axes.set_ylim(0, 120)
    at = 0
    for phase, group in groupby(frames, key=lambda f: f.phase):
        cycles = sum(1 for _ in group)
        axes.axvspan(at, at + cycles, alpha=0.12, color={"full": "#3a923a", "gap": "#b03030"}.get(phase, "#888888"))
        axes.text(at + cycles / 2, 108, phase, ha="center", fontsize=8, rotation=0 if cycles > 3 else 90)
        at += cycles
