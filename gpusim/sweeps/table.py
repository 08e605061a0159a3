"""Rows of a sweep as a CSV file, a DataFrame and a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.errors import GpusimError
from gpusim.sweeps.axes import Grid
from gpusim.sweeps.points import Row

if TYPE_CHECKING:
    import pandas as pd

    from gpusim.report.plots import Series


def columns(rows: Sequence[Row]) -> list[str]:
    """The columns of all rows, in the order of first appearance, "error" last."""
    names = dict.fromkeys(name for row in rows for name in row if name != "error")
    return [*names, *(["error"] if any("error" in row for row in rows) else [])]


def csv_text(rows: Sequence[Row]) -> str:
    """A header and one line a row; what a row does not know is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns(rows), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a DataFrame."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=columns(rows))


def plotted_axis(grid: Grid) -> str:
    """The axis that a plot has at the bottom: the first with several numbers. GpusimError if there is none."""
    for name in grid.varying:
        if all(isinstance(value, int | float) for value in grid.values[name]):
            return name
    raise GpusimError("there is nothing to plot: no axis has several numbers.", where="sweep", hint="Give a range, for example --m 1536:2304:16.")


def draw(rows: Sequence[Row], grid: Grid, path: str | Path) -> None:
    """The saw-tooth of the rows that ran: one curve for each combination of the other axes."""
    from gpusim.report.plots import saw_tooth

    x = plotted_axis(grid)
    with_x = [x, *(name for name, leader in grid.follows.items() if leader == x)]
    names = (["gpu"] if len(grid.gpus) > 1 else []) + [name for name in grid.varying if name != x]
    ran = [row for row in rows if "error" not in row]
    fixed = {name: str(ran[0][name]) for name in ("gpu", "kernel", "tile", "dtype") if name in ran[0] and name not in names}
    title = " ".join([fixed.pop("kernel", ""), *fixed.values()]).strip()
    saw_tooth(_series(ran, x, names), " = ".join(with_x), title, path)


def _series(rows: Sequence[Row], x: str, names: list[str]) -> list[Series]:
    from gpusim.report.plots import Point, Series

    groups: dict[str, list[Any]] = {}
    for row in rows:
        name = " ".join(f"{row[n]}" if isinstance(row[n], str) else f"{n} {row[n]}" for n in names)
        groups.setdefault(name, []).append(Point(row[x], row["tflops"], row["time_us"], row["ctas"], row["waves"], row["tail_ctas"]))
    return [Series(name, tuple(sorted(points, key=lambda p: p.x))) for name, points in groups.items()]
