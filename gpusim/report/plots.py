"""The saw-tooth: rate and time over a size, with every cliff labelled. Matplotlib is imported here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: with more cliffs than this in a figure, labels stand upright
FLAT_LABELS = 5
FONT = 7.5
#: inches along the axis that one label takes, and the height of the band that holds the labels: flat, upright
ROOM, BAND = (1.25, 0.15), (0.55, 2.2)
#: inches of the two panels
WIDTH, RATE_HEIGHT, TIME_HEIGHT = 9.0, 3.2, 2.0
MAX_WIDTH = 300.0


@dataclass(frozen=True, slots=True)
class Point:
    """One simulated size: x, what is drawn, and what a label says."""

    x: float
    tflops: float
    time_us: float
    ctas: int
    waves: int
    tail_ctas: int

    @property
    def label(self) -> str:
        return f"{self.x:.10g}: {self.ctas} tiles, {self.waves} waves, tail {self.tail_ctas}"


@dataclass(frozen=True, slots=True)
class Series:
    """One curve, points in ascending x."""

    name: str
    points: tuple[Point, ...]


def cliffs(series: Series) -> list[Point]:
    """The points that need more waves than the point before them."""
    return [b for a, b in zip(series.points, series.points[1:], strict=False) if b.waves > a.waves]


def spread(wanted: Sequence[float], room: float, low: float, high: float) -> list[float]:
    """Positions as near as possible to the `wanted` ones (ascending) that keep `room` between neighbours and lie in [low, high].

    Where there is not enough space for all, `room` shrinks until there is.
    """
    count = len(wanted)
    if count > 1:
        room = min(room, (high - low) / (count - 1))
    # less its own i * room, the positions need only ascend: pool neighbours that do not, and give each pool its mean
    pools: list[tuple[float, int]] = []
    for i, x in enumerate(wanted):
        pools.append((x - i * room, 1))
        while len(pools) > 1 and pools[-2][0] >= pools[-1][0]:
            (b, n), (a, m) = pools.pop(), pools.pop()
            pools.append(((a * m + b * n) / (m + n), m + n))
    level = [min(max(x, low), high - (count - 1) * room) for x, n in pools for _ in range(n)]
    return [x + i * room for i, x in enumerate(level)]


def saw_tooth(series: Sequence[Series], x_name: str, title: str, path: str | Path) -> None:
    """Draw `series` and save the picture; the suffix of `path` is the format."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    marks = sorted(((p, f"C{i % 10}") for i, s in enumerate(series) for p in cliffs(s)), key=lambda mark: mark[0].x)
    upright = len(marks) > FLAT_LABELS
    heights = (BAND[upright] if marks else 0.05, RATE_HEIGHT, TIME_HEIGHT)
    # the axes take about 85 % of the width
    width = min(max(WIDTH, len(marks) * ROOM[upright] / 0.85), MAX_WIDTH)
    figure = Figure(figsize=(width, sum(heights) + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    band, rate, time = figure.subplots(3, 1, sharex=True, height_ratios=heights)
    band.axis("off")
    _curves(rate, time, series)
    time.set_xlabel(x_name)
    figure.suptitle(title, fontsize=10)
    _label(figure, (band, rate, time), marks, upright)
    figure.savefig(path, dpi=130)


def _curves(rate: Axes, time: Axes, series: Sequence[Series]) -> None:
    longest = max((p.time_us for s in series for p in s.points), default=0.0)
    unit, scale = ("ms", 1e-3) if longest > 5000 else ("us", 1.0)
    for i, s in enumerate(series):
        x = [p.x for p in s.points]
        for axes, y in ((rate, [p.tflops for p in s.points]), (time, [p.time_us * scale for p in s.points])):
            axes.plot(x, y, label=s.name, color=f"C{i % 10}", marker=".", markersize=4, linewidth=1.2)
    for axes, name in ((rate, "TFLOP/s"), (time, f"time, {unit}")):
        axes.set_ylabel(name)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", linewidth=0.3)
    if len(series) > 1:
        rate.legend(fontsize=FONT, loc="lower right")


def _label(figure: Figure, panels: tuple[Axes, Axes, Axes], marks: list[tuple[Point, str]], upright: bool) -> None:
    """A dotted line through both panels at each cliff; its label stands in the band above, moved aside where labels would overlap."""
    band, rate, time = panels
    band.set_ylim(0, 1)
    figure.draw_without_rendering()
    low, high = rate.get_xlim()
    rate.set_xlim(low, high)
    room = ROOM[upright] / (rate.get_window_extent().width / figure.dpi) * (high - low)
    places = spread([p.x for p, _ in marks], room, low + room / 2, high - room / 2)
    foot = 0.18
    for (p, color), x in zip(marks, places, strict=True):
        for axes in (rate, time):
            axes.axvline(p.x, color=color, linewidth=0.6, linestyle=":")
        band.plot([p.x, x], [0, foot], color=color, linewidth=0.6, clip_on=False)
        text = p.label if upright else p.label.replace(": ", ":\n", 1).replace(", ", ",\n", 1)
        band.text(x, foot + 0.02, text, fontsize=FONT, color=color, rotation=90 if upright else 0, ha="center", va="bottom")
