"""The source view: every line of the kernel beside what it costs, as plain text."""

from __future__ import annotations

from collections.abc import Callable

from gpusim.report.simt_lines import LineView, lines, profile_of
from gpusim.report.units import count, percent
from gpusim.trace.run import Run

WIDEST, NARROWEST = 78, 24
#: a stall share below this is not printed
LEAST = 0.0005


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _waits(v: LineView) -> bool:
    return v.stall_share is not None and v.stall_share >= LEAST


#: heading, text of a line
COLUMNS: tuple[tuple[str, Callable[[LineView], str]], ...] = (
    ("issues", lambda v: count(v.issues) if v.issues else ""),
    ("share", lambda v: percent(v.issue_share) if v.issues else ""),
    ("lanes", lambda v: _ratio(v.lanes)),
    ("stalled", lambda v: percent(v.stall_share or 0.0) if _waits(v) else ""),
    ("mostly", lambda v: v.reason if _waits(v) else ""),
    ("sectors/req", lambda v: _ratio(v.sectors_per_request)),
    ("conflicts/req", lambda v: _ratio(v.conflicts_per_request)),
)
LEFT = ("mostly",)
#: instructions that no line of the source asks for
NO_LINE = "(end of the kernel)"

LEGEND = (
    "issues: warp instructions of the line, and their share; lanes: mean active threads of 32; stalled: share of the warps' life spent waiting there",
    "sectors/req: 32-byte sectors per access of a warp (4 is full use for 4-byte elements); conflicts/req: extra passes of shared memory",
)


def source_view(run: Run) -> str:
    """A table: line number, source text, and the columns of `COLUMNS`."""
    views = lines(run)
    profile = profile_of(run)
    wide = min(WIDEST, max(NARROWEST, *(len(v.text.rstrip()) for v in views))) if views else NARROWEST
    rows = [("line", f"{'source of ' + run.kernel:{wide}}", *(name for name, _ in COLUMNS))]
    rows += [(str(v.line) if v.line else "", f"{_cut(v.text.rstrip() if v.line else NO_LINE, wide):{wide}}", *(show(v) for _, show in COLUMNS)) for v in views]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    names = ("", "", *(name for name, _ in COLUMNS))
    body = ["  ".join(_placed(cell, w, name) for cell, w, name in zip(row, widths, names, strict=True)).rstrip() for row in rows]
    where = f"{profile.file}: " if profile.file else ""
    return "\n".join([f"{where}{run.kernel} on {run.gpu}, {count(run.cycles)} cycles", *body, "", *LEGEND])


def _placed(cell: str, width: int, name: str) -> str:
    return f"{cell:{width}}" if name in LEFT else f"{cell:>{width}}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
