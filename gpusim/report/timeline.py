"""The timeline of a program of tiles as a picture: what each SM or core did when, and the copies that ran beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.errors import GpusimError
from gpusim.trace.run import Run, Span

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: what a span is of -> its colour. Copies have lanes of their own, as they overlap the work
COLOURS = {
    "prologue": "#d9822b", "step": "#1b6ca8", "epilogue": "#3a923a",
    "copy_in": "#d9822b", "compute": "#1b6ca8", "copy_out": "#3a923a",
}  # fmt: skip
COPIES = ("copy_in", "copy_out")
#: lanes of a picture, and spans of a lane, at most
LANES, SPANS = 24, 48

Lane = tuple[str, list[Span]]


def plot_timeline(run: Run, path: str | Path | None = None, *, lanes: int = LANES, cycles: tuple[float, float] | None = None) -> Figure:
    """A lane for each CTA slot of an SM, or for copies in, work and copies out of a core; the first `lanes` of them. cycles: from and until when; None
    shows so much that a lane has about 48 spans. path: where to save it. GpusimError if the run kept no timeline."""
    if run.profile is not None:
        raise GpusimError(f"{run.kernel} is timed as threads: its timeline is one of warps.", hint="Use trace() or plot_divergence().")
    if not run.spans:
        raise GpusimError(f"the run of {run.kernel} kept no timeline.", hint="Run it with timeline=True.")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = lanes_of(run.spans)[:lanes]
    begin, end = cycles or (0.0, _until(shown))
    per_us = run.protocol.clock_mhz
    figure = Figure(figsize=(11, 1.2 + 0.28 * len(shown)), layout="constrained")
    axes = figure.add_subplot()
    for row, (_, spans) in enumerate(shown):
        inside = [s for s in spans if s.end > begin and s.start < end]
        bars = [(s.start / per_us, (s.end - s.start) / per_us) for s in inside]
        axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=[COLOURS.get(s.reason, "#888888") for s in inside], edgecolor="white", linewidth=0.4)
    axes.set_yticks(range(len(shown)), [name for name, _ in shown])
    axes.invert_yaxis()
    axes.set_xlim(begin / per_us, end / per_us)
    axes.set_xlabel("us")
    axes.set_title(f"{run.kernel} on {run.gpu}", loc="left")
    found = [reason for reason in COLOURS if any(s.reason == reason for _, spans in shown for s in spans)]
    axes.legend(
        handles=[Patch(color=COLOURS[reason], label=reason.replace("_", " ")) for reason in found], loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8
    )
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def lanes_of(spans: Sequence[Span]) -> list[Lane]:
    """Lanes in which no two spans overlap: of an SM or core as many as it needs, copies apart."""
    lanes: dict[tuple[int, int, int], list[Span]] = {}
    place: dict[tuple[int, int, int], int] = {}
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        kind = COPIES.index(span.reason) * 2 if span.reason in COPIES else 1
        whose = (span.sm, kind, span.cta)
        slot = place[whose] if whose in place else next(i for i in range(len(spans)) if _free(lanes.get((span.sm, kind, i)), span))
        place[whose] = slot
        lanes.setdefault((span.sm, kind, slot), []).append(span)
    return [(_name(key, lanes[key][0]), lanes[key]) for key in sorted(lanes)]


def _free(lane: list[Span] | None, span: Span) -> bool:
    return not lane or lane[-1].end <= span.start


def _name(key: tuple[int, int, int], first: Span) -> str:
    sm, _, slot = key
    if first.reason in (*COPIES, "compute"):
        return f"core {sm} {first.reason.replace('_', ' ')}" + (f" {slot + 1}" if first.reason in COPIES else "")
    return f"SM {sm} slot {slot + 1}"


def _until(lanes: Sequence[Lane]) -> float:
    return max(spans[min(len(spans), SPANS) - 1].end for _, spans in lanes)
