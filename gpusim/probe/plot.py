"""Pictures of probes: for each curve of a group the simulated values as lines, the measured ones as markers over them; and bank conflicts as
a table. Matplotlib is imported here and nowhere else in this package."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.errors import GpusimError
from gpusim.probe.compare import HASHED, Compared
from gpusim.probe.plan import Curve
from gpusim.probe.registry import group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Compared]
#: with more lines than this the legend stands beside the picture
LEGEND_INSIDE = 6
MOST_LINES = 24
WIDTH, HEIGHT, BESIDE, DPI = 7.5, 4.6, 2.8, 110


def draw(groups: Mapping[str, Rows], folder: Path, gpu: str) -> list[Path]:
    """Write the pictures of all groups; returns their paths. GpusimError if the folder cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GpusimError(f"cannot be made ({error.strerror or error}).", where=f"--plot {folder}") from None
    paths: list[Path] = []
    for name, rows in groups.items():
        for curve in group(name).curves:
            paths += _curve(curve, rows, folder / f"{name}-{_slug(curve.title)}.png", gpu)
        for record in (r for r in rows if r.record.name in HASHED and isinstance(r.simulated, list)):
            paths.append(_distribution(record, folder / f"{name}-{_slug(record.record.name)}.png", gpu))
        conflicts = [r for r in rows if r.record.name == "bank_conflict_load" and r.record.params.get("kind") == "throughput"]
        if conflicts:
            paths.append(_conflicts(conflicts, folder / f"{name}-bank-conflicts.png", gpu))
    return paths


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _figure(width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure as Made

    figure = Made(figsize=(width, height), dpi=DPI, layout="constrained")
    return figure, figure.add_subplot()


def _curve(curve: Curve, rows: Rows, path: Path, gpu: str) -> list[Path]:
    lines = _lines(curve, rows)
    if not lines:
        return []
    many = len(lines) > LEGEND_INSIDE
    figure, axes = _figure(WIDTH + (BESIDE if many else 0))
    for number, (label, points) in enumerate(lines[:MOST_LINES]):
        _line(axes, points, label, number)
    measured = any(m is not None for _, points in lines for _, _, m in points)
    _dress(axes, curve, f"{curve.title}\n{gpu}: " + ("lines simulated, circles and other marks measured" if measured else "simulated"), lines)
    if len(lines) > MOST_LINES:
        axes.annotate(f"{len(lines) - MOST_LINES} more lines are not drawn", (0.01, 0.01), xycoords="axes fraction", fontsize=7)
    if len(lines) > 1 or lines[0][0]:
        if many:
            axes.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0))
        else:
            axes.legend(fontsize=8, frameon=False)
    figure.savefig(path)
    return [path]


#: x, simulated, measured
_Point = tuple[float, float | None, float | None]


def _lines(curve: Curve, rows: Rows) -> list[tuple[str, list[_Point]]]:
    """(label, points by x) of each combination of the curve's series."""
    found: dict[tuple[Any, ...], list[_Point]] = {}
    for row in _points(rows, curve.name):
        params = row.record.params
        if row.record.name != curve.name or curve.x not in params or any(params.get(key) != value for key, value in curve.where):
            continue
        simulated = None if row.simulated is None or isinstance(row.simulated, list) else float(row.simulated)
        key = tuple(params.get(name) for name in curve.series)
        found.setdefault(key, []).append((float(params[curve.x]), simulated, row.record.value))
    return [(_label(curve.series, key), sorted(points, key=lambda p: p[0])) for key, points in found.items()]


def _points(rows: Rows, name: str) -> list[Compared]:
    """Rows, those of lists taken apart into the points that were simulated."""
    return [point for row in rows if row.record.name == name for point in (row.points or (row,))]


def _label(series: Sequence[str], key: Sequence[Any]) -> str:
    told = [(name, value) for name, value in zip(series, key, strict=True) if value is not None]
    return ", ".join(str(value) if isinstance(value, str) else f"{name.replace('_', ' ')} {_number(value)}" for name, value in told)


def _number(value: Any) -> str:
    """Powers of two as K, M, G."""
    if not isinstance(value, int | float):
        return str(value)
    for suffix, size in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if value >= size and value % size < 64:
            return f"{value / size:.4g}{suffix}"
    return f"{value:.6g}"


def _line(axes: Axes, points: Sequence[_Point], label: str, number: int) -> None:
    color, mark = f"C{number % 10}", "os^Dv<>pPX"[number // 10 % 10] if number >= 10 else "o"
    ours = [(x, s) for x, s, _ in points if s is not None]
    theirs = [(x, m) for x, _, m in points if m is not None]
    dashes, alone = "--" if number >= 10 else "-", "" if theirs else "."
    axes.plot([x for x, _ in ours], [s for _, s in ours], color=color, linewidth=1.3, label=label or None, linestyle=dashes, marker=alone)
    axes.plot([x for x, _ in theirs], [m for _, m in theirs], color=color, linestyle="none", marker=mark, markersize=4, markerfacecolor="none")


def _dress(axes: Axes, curve: Curve, title: str, lines: Sequence[tuple[str, Sequence[_Point]]]) -> None:
    xs = sorted({x for _, points in lines for x, _, _ in points})
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(curve.x_label)
    axes.set_ylabel(curve.y_label)
    axes.grid(True, which="major", alpha=0.3)
    if curve.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    if curve.log_x and xs and xs[0] > 0:
        axes.set_xscale("log", base=2)
        ticks = [2.0**n for n in range(64) if xs[0] <= 2.0**n <= xs[-1]]
        step = -(-len(ticks) // 12) or 1
        axes.set_xticks(ticks[::step], [_number(t) for t in ticks[::step]])


def _distribution(row: Compared, path: Path, gpu: str) -> Path:
    """Sorted values: how far a share of them lies from the rest, whoever they belong to."""
    assert isinstance(row.simulated, list)
    figure, axes = _figure()
    for values, label, style in ((row.simulated, "simulated", "-"), (row.record.values, "measured", "--")):
        if values:
            axes.plot([100 * (i + 0.5) / len(values) for i in range(len(values))], sorted(values), style, label=label)
    axes.set_title(f"{row.record.name} ({gpu})", fontsize=10)
    axes.set_xlabel("share of the values, %")
    axes.set_ylabel(row.record.unit or "cycles")
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path)
    return path


def _conflicts(rows: Rows, path: Path, gpu: str) -> Path:
    """Passes of a warp's load by stride and width, with the measured ones in brackets where they differ."""
    widths = sorted({r.record.params["access_bytes"] for r in rows})
    strides = sorted({r.record.params["stride_words"] for r in rows})
    at = {(r.record.params["access_bytes"], r.record.params["stride_words"]): r for r in rows}
    cells = [[_cell(at.get((w, s))) for w in widths] for s in strides]
    figure, axes = _figure(5.2, 0.6 + 0.21 * len(strides))
    axes.axis("off")
    axes.set_title(f"Passes of a warp's load from shared memory ({gpu})\nsimulated, in brackets measured where it differs by 2 %", fontsize=9)
    table = axes.table(
        cellText=[text for row in cells for text in [[text for text, _ in row]]],
        cellColours=[[color for _, color in row] for row in cells],
        rowLabels=[f"stride {s} words" for s in strides],
        colLabels=[f"{w} bytes a lane" for w in widths],
        loc="center",
        cellLoc="center",
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    figure.savefig(path)
    return path


def _cell(row: Compared | None) -> tuple[str, str]:
    """(text, colour): the more passes the darker."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    if row is None or not isinstance(row.simulated, float | int):
        return "", "white"
    measured = row.record.value
    text = f"{row.simulated:.3g}" + (f" ({measured:.3g})" if measured is not None and abs(row.simulated / measured - 1) > 0.02 else "")
    return text, to_hex(colormaps["OrRd"](min(1.0, (row.simulated.__ceil__().bit_length() - 1) / 7)))
