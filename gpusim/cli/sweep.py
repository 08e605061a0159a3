"""`gpusim sweep KERNEL`: simulate a grid of points; what is finished stays finished."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.cli.files import check_picture, check_writable, write_text
from gpusim.cli.kernels import Kernel, KernelGroup, options, with_options
from gpusim.cli.options import L2, Clock, Data, Exact, Launch
from gpusim.kernels import KERNELS

if TYPE_CHECKING:
    from gpusim.sweeps.axes import Grid
    from gpusim.sweeps.points import Row

HELP = """Simulate a kernel at many sizes or settings.

An AXIS is one value, values separated by commas, a range start:stop:step of integers (the stop itself belongs to it when a step
hits it: 64:256:64 is 64, 128, 192, 256), or the name of another axis, which it then follows (--n m)."""

Csv = Annotated[str | None, typer.Option("--csv", metavar="FILE", help="Write one line a point; - is stdout.")]
Plot = Annotated[str | None, typer.Option("--plot", metavar="FILE", help="Draw TFLOP/s and time over the first axis with several numbers (.png, .svg, .pdf).")]
CACHE_HELP = "Keep finished points here. [default: the --csv or --plot file + .points.jsonl]"
CacheFile = Annotated[str | None, typer.Option("--cache", metavar="FILE", help=CACHE_HELP, show_default=False)]


def build() -> typer.Typer:
    """The group of kernels."""
    group = typer.Typer(cls=KernelGroup, no_args_is_help=True, rich_markup_mode=None, help=HELP)
    for name, kernel in KERNELS.items():
        group.command(name, help=HELP)(with_options(_command(kernel), options(kernel, as_text=True)))
    return group


def _command(kernel: Kernel) -> Any:
    def sweep(
        given: dict[str, str],
        *,
        gpu: Annotated[str, typer.Option(help="Names from `gpusim devices` or paths of YAML files, separated by commas.")] = "h100",
        l2: L2 = "cold",
        launch: Launch = "out",
        clock: Clock = None,
        data: Data = "random",
        exact: Exact = False,
        csv: Csv = None,
        plot: Plot = None,
        cache: CacheFile = None,
        jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes.")] = 1,
    ) -> int:
        from gpusim.options import Options
        from gpusim.sweeps.axes import from_text
        from gpusim.sweeps.execute import Interrupted, execute
        from gpusim.sweeps.points import make_points
        from gpusim.sweeps.table import plotted_axis

        grid = from_text(kernel, gpu, given)
        cache = cache or next((f"{path}.points.jsonl" for path in (csv, plot) if path not in (None, "-")), None)
        if plot is not None:
            plotted_axis(grid)
        check_picture(plot, "--plot")
        check_writable(csv, "--csv")
        check_writable(cache, "--cache")
        points = make_points(kernel, grid, Options(l2, launch, clock, exact, data=data))
        try:
            with _progress() as progress:
                rows = execute(points, cache=cache, jobs=jobs, progress=progress)
        except Interrupted as stop:
            return _interrupted(stop.rows, csv, cache)
        _deliver(rows, grid, csv, plot)
        return 0

    return sweep


def _deliver(rows: list[Row], grid: Grid, csv: str | None, plot: str | None) -> None:
    from gpusim.sweeps.table import draw

    _write(rows, csv)
    if plot is not None:
        draw(rows, grid, plot)
    failed = [row for row in rows if "error" in row]
    if failed:
        print(f"{len(failed)} of {len(rows)} points cannot run; the column error says why. The first: {failed[0]['error']}", file=sys.stderr)
    for path in (csv, plot):
        if path not in (None, "-"):
            print(f"wrote {path}", file=sys.stderr)
    if csv is None and plot is None:
        print(_table(rows, grid))


def _interrupted(rows: list[Row], csv: str | None, cache: str | None) -> int:
    _write(rows, csv)
    where = f" in {cache}; the same command goes on from there" if cache else "; with --csv, --plot or --cache a sweep can go on later"
    print(f"gpusim: interrupted, kept {len(rows) if cache else 0} points{where}.", file=sys.stderr)
    return 130


def _write(rows: list[Row], csv: str | None) -> None:
    from gpusim.sweeps.table import csv_text

    if csv == "-":
        sys.stdout.write(csv_text(rows))
    elif csv is not None and rows:
        write_text(csv, csv_text(rows))


def _table(rows: list[Row], grid: Grid) -> str:
    """The varying axes and the main results, as aligned text."""
    names = ["gpu", *grid.varying, "ctas", "waves", "tail_ctas", "time_us", "tflops", "bottleneck"]
    cells = [names] + [[_cell(row.get(name, row.get("error") if name == "bottleneck" else "")) for name in names] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells)


def _cell(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


@contextmanager
def _progress() -> Iterator[Callable[[int, int, int], None]]:
    """A bar on stderr, and a line that says how many points were there already."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(TextColumn("sweep"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task("sweep", total=None)
        told: list[int] = []

        def tell(done: int, taken: int, in_all: int) -> None:
            if taken and not told:
                told.append(taken)
                console.print(f"{taken} of {in_all} points were finished before", highlight=False)
            bar.update(task, completed=done, total=in_all)

        yield tell
