"""The masks made visible: which lanes of a warp are active over time, on which source line, and where they meet again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.errors import GpusimError
from gpusim.report.simt_lines import LANES, text_of
from gpusim.report.simt_trace import timeline
from gpusim.trace.profile import Pass, Profile, Track
from gpusim.trace.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: warps drawn unless the caller names some
SHOWN = 4
WIDTH, WARP_HEIGHT, FOOT = 11.0, 1.45, 0.55
FONT = 7.5
#: inches: a label is written where its stretch is at least so wide; a line of the legend is so high; reconvergence marks keep this distance
LABEL_ROOM, LEGEND_ROW, MARK_ROOM = 0.24, 0.145, 0.06
LABEL_BOX = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.8}
#: of the blocks that took longest; the others share the next one
COLOURS = (
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#edc948", "#76b7b2", "#ff9da7", "#9c755f", "#86bcb6", "#d37295", "#a0cbe8",
)  # fmt: skip
REST, IDLE = "#bab0ac", "#f3f1ee"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Passes in a row through the same block with the same lanes: [start, end) cycles. `meets`: lanes that were apart are together again from here on."""

    start: float
    end: float
    block: int
    mask: int
    meets: bool


def stretches(track: Track, profile: Profile) -> tuple[Stretch, ...]:
    """The passes of a warp, neighbours of the same block and lanes merged."""
    out: list[Stretch] = []
    for p in track.passes:
        last = out[-1] if out else None
        if last is not None and last.block == p.block and last.mask == p.mask:
            out[-1] = Stretch(last.start, p.end, p.block, p.mask, last.meets)
        else:
            out.append(Stretch(p.start, p.end, p.block, p.mask, last is not None and meets(last.mask, p, profile)))
    return tuple(out)


def meets(before: int, after: Pass, profile: Profile) -> bool:
    """Whether lanes that were apart run together again: ways join in this block, and it has lanes that did not run just before."""
    return profile.blocks[after.block].joins and after.mask & ~before != 0


def plot_divergence(
    run: Run, path: str | Path | None = None, *, warps: Sequence[tuple[int, int]] | None = None, cycles: tuple[float, float] | None = None
) -> Figure:
    """One panel for each warp: 32 lanes high, time in cycles, a colour for each code block, with its source lines. A mark on top: lanes meet again.

    warps: (CTA, warp in the CTA) pairs among those timed; None: the first few. cycles: draw only this window. The figure is written to `path`
    if one is given. GpusimError if the run kept no timeline or has no such warp.
    """
    from matplotlib.figure import Figure

    profile = timeline(run)
    tracks = chosen(profile, warps)
    drawn = [(track, _within(stretches(track, profile), cycles)) for track in tracks]
    colours = palette(s for _, parts in drawn for s in parts)
    legend = LEGEND_ROW * (len(colours) + 3)
    height = WARP_HEIGHT * len(tracks) + FOOT + legend + 0.5
    figure = Figure(figsize=(WIDTH, height))
    panels = figure.subplots(len(tracks), 1, sharex=True, squeeze=False)[:, 0]
    figure.subplots_adjust(left=0.075, right=0.985, top=1 - 0.5 / height, bottom=(FOOT + legend) / height, hspace=0.28)
    ends = [t for _, parts in drawn for s in parts for t in (s.start, s.end)]
    for axes, (track, parts) in zip(panels, drawn, strict=True):
        _draw(axes, profile, track, parts, colours, cycles or (min(ends), max(ends)))
    panels[-1].set_xlabel("cycles of the SM", fontsize=FONT + 1)
    _legend(figure, profile, colours)
    figure.suptitle(f"{run.kernel} on {run.gpu}: active lanes", fontsize=FONT + 2, y=1 - 0.06 / height, va="top")
    if path is not None:
        figure.savefig(path, dpi=140)
    return figure


def chosen(profile: Profile, warps: Sequence[tuple[int, int]] | None) -> tuple[Track, ...]:
    """The tracks of `warps`, in that order."""
    if warps is None:
        return profile.tracks[:SHOWN]
    known = {(t.cta, t.warp): t for t in profile.tracks}
    missing = [w for w in warps if tuple(w) not in known]
    if missing or not warps:
        some = ", ".join(str(w) for w in list(known)[:6])
        raise GpusimError(f"warps = {list(warps)}: {missing or 'none'} not among the timed ones.", hint=f"Give (CTA, warp) pairs, such as {some}.")
    return tuple(known[cta, warp] for cta, warp in warps)


def palette(parts: Iterable[Stretch]) -> dict[int, str]:
    """Block -> colour; the blocks that took longest get their own."""
    spent: dict[int, float] = {}
    for s in parts:
        spent[s.block] = spent.get(s.block, 0.0) + s.end - s.start
    ordered = sorted(spent, key=lambda block: -spent[block])
    known = {block: COLOURS[i] if i < len(COLOURS) else REST for i, block in enumerate(ordered)}
    return dict(sorted(known.items()))


def _within(parts: Sequence[Stretch], cycles: tuple[float, float] | None) -> list[Stretch]:
    if cycles is None:
        return list(parts)
    low, high = cycles
    return [s for s in parts if s.end > low and s.start < high]


def _draw(axes: Axes, profile: Profile, track: Track, parts: Sequence[Stretch], colours: dict[int, str], limits: tuple[float, float]) -> None:
    from matplotlib.collections import PolyCollection

    boxes, faces = [], []
    for s in parts:
        for low, high in runs(s.mask):
            boxes.append([(s.start, low), (s.end, low), (s.end, high), (s.start, high)])
            faces.append(colours[s.block])
    if parts:
        axes.axvspan(parts[0].start, parts[-1].end, color=IDLE, linewidth=0, zorder=0)
    axes.add_collection(PolyCollection(boxes, facecolors=faces, edgecolors="white", linewidths=0.25, zorder=1))
    axes.set_xlim(*limits)
    axes.set_ylim(LANES, 0)
    axes.set_yticks([0, 8, 16, 24, 32])
    axes.set_ylabel("lane", fontsize=FONT)
    axes.tick_params(labelsize=FONT, length=2)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.set_title(f"CTA {track.cta}, warp {track.warp} (SM {track.sm}, sub-core {track.subcore})", fontsize=FONT, loc="left", pad=7)
    per_inch = (limits[1] - limits[0]) / (WIDTH * 0.91)
    _labels(axes, profile, parts, limits, per_inch)
    _marks(axes, parts, per_inch)


def runs(mask: int) -> list[tuple[int, int]]:
    """[first, last + 1) of each group of neighbouring lanes in the mask."""
    out: list[tuple[int, int]] = []
    lane = 0
    while lane < LANES:
        if mask >> lane & 1:
            first = lane
            while lane < LANES and mask >> lane & 1:
                lane += 1
            out.append((first, lane))
        lane += 1
    return out


def span(profile: Profile, block: int) -> str:
    """The source lines of a block: "12", "12-14"."""
    place = profile.blocks[block]
    lines = place.lines or (place.line,)
    return f"{lines[0]}" if len(lines) == 1 else f"{lines[0]}-{lines[-1]}"


def _labels(axes: Axes, profile: Profile, parts: Sequence[Stretch], limits: tuple[float, float], per_inch: float) -> None:
    for s in parts:
        low, high = max(s.start, limits[0]), min(s.end, limits[1])
        if (high - low) / per_inch >= LABEL_ROOM:
            first, last = max(runs(s.mask), key=lambda r: r[1] - r[0], default=(0, LANES))
            text = span(profile, s.block)
            if (high - low) / per_inch < LABEL_ROOM * len(text) / 2:
                text = text.split("-")[0]
            axes.text((low + high) / 2, (first + last) / 2, text, fontsize=FONT - 0.5, ha="center", va="center", color="black", zorder=3, bbox=LABEL_BOX)


def _marks(axes: Axes, parts: Sequence[Stretch], per_inch: float) -> None:
    last = float("-inf")
    for s in parts:
        if s.meets and (s.start - last) / per_inch >= MARK_ROOM:
            last = s.start
            axes.plot([s.start], [-1.6], marker="v", markersize=4, color="black", clip_on=False, zorder=4)
            axes.axvline(s.start, color="black", linewidth=0.5, linestyle=":", zorder=2)


def _entry(profile: Profile, block: int) -> str:
    place = profile.blocks[block]
    texts = [text_of(profile, line) for line in (place.lines or (place.line,))]
    return f"line {span(profile, block):9} {'  |  '.join(t for t in texts if t)}"[:120]


def _legend(figure: Figure, profile: Profile, colours: dict[int, str]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Patch | Line2D] = [Patch(color=colour, label=_entry(profile, block)) for block, colour in colours.items()]
    handles.append(Patch(color=IDLE, label="lanes of the warp that wait or have ended"))
    handles.append(Line2D([], [], marker="v", color="black", linestyle=":", linewidth=0.5, markersize=4, label="lanes that were apart run together again"))
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.07, 0.0),
        fontsize=FONT,
        frameon=False,
        handlelength=1.2,
        labelspacing=0.25,
        prop={"family": "monospace", "size": FONT},
    )
